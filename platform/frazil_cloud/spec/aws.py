"""What a user says of a deployment's bucket, roles, secrets and parameters."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from frazil.spec.values import Part

RETENTION_DAYS = (1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1827, 3653)
"""Days that CloudWatch keeps logs: an enumeration (PutRetentionPolicy)."""


class AwsPart(Part):
    """Bucket, roles, secrets and parameters."""

    bucket: str = Field(
        min_length=3, max_length=63, pattern=r"^[a-z0-9][a-z0-9-]+[a-z0-9]$",
        description="The bucket's name, which must be unique in the world. Snowflake takes no dots.",
    )  # fmt: skip
    folder: str = Field(
        "warehouse", pattern=r"^[A-Za-z0-9_-]+$", description="The folder of Frazil's own tables."
    )
    writer_role: str = Field("", description="Name of the writer's role. Default: `<prefix>_s3_glue_role`.")
    reader_role: str = Field(
        "", description="Name of Snowflake's role. Default: `<prefix>_snowflake_s3_glue_role`."
    )
    auto_offset_reset: Literal["earliest", "latest"] = Field(
        "latest", description="Where consumers that read the parameters start."
    )
    log_retention_days: int = Field(7, description="Days that logs are kept, one of CloudWatch's numbers.")

    @model_validator(mode="after")
    def _enumerated(self) -> Self:
        if self.log_retention_days not in RETENTION_DAYS:
            raise ValueError(f"log_retention_days is one of {', '.join(map(str, RETENTION_DAYS))}")
        return self
