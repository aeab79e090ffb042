"""Who Frazil is at AWS, and where S3 and Glue are."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from frazil.settings.secret import Secret
from frazil.settings.system import SystemSettings, Url


def _region() -> str:
    return os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"


class AwsSettings(SystemSettings):
    """`FRAZIL_AWS__...`: one identity for S3, Glue, secrets, and catalogs that want signatures."""

    region: str = Field(
        default_factory=_region, description="Of buckets, Glue and SigV4; default: AWS_REGION, or us-east-1."
    )
    endpoint: Url | None = Field(
        None,
        description="Only for an AWS that is not AWS: the address of all services but an own S3 or Glue.",
    )
    profile: str | None = Field(None, description="A profile of AWS' own files; default: AWS' chain.")
    access_key: Secret | None = Field(None, description="Instead of a profile.")
    secret_key: Secret | None = Field(None, description="Of that access key.")
    session_token: Secret | None = Field(None, description="Of an access key that ends.")
    role_arn: str | None = Field(None, description="A role that this identity takes on.")
    external_id: Secret | None = Field(None, description="What the role's trust asks for.")
    session_name: str = Field("frazil", description="Names Frazil in CloudTrail, beside a role.")
    web_identity_token_file: Path | None = Field(
        None, description="A token that takes on the role, in place of an identity of AWS."
    )

    secrets_by: Literal["role", "identity"] = Field(
        "role", description="Who reads secrets in Secrets Manager, where there is a role."
    )

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        self.ask_for(["access_key", "secret_key"], "a key", self.access_key or self.secret_key)
        self.ask_for(["access_key"], "session_token", self.session_token)
        self.ask_for(["role_arn"], "external_id", self.external_id)
        self.ask_for(["role_arn"], "web_identity_token_file", self.web_identity_token_file)
        if self.profile and self.access_key:
            raise ValueError("say either profile or access_key: they are two identities")
        return self

    @property
    def of_secrets(self) -> AwsSettings:
        """Whoever reads secrets."""
        without = {"role_arn": None, "external_id": None, "web_identity_token_file": None}
        return self.model_copy(update=without) if self.secrets_by == "identity" else self


class S3Settings(SystemSettings):
    """`FRAZIL_S3__...`."""

    endpoint: Url | None = Field(None, description="Only for S3 that is not AWS.")
    kms_key: str | None = Field(
        None, description="KMS key of the files that Spark writes; Frazil's own get the bucket's default."
    )


class GlueSettings(SystemSettings):
    """`FRAZIL_GLUE__...`: the catalog that owns the tables, or one that shows them."""

    endpoint: Url | None = Field(None, description="Only for a Glue that is not AWS.")
    catalog_id: str | None = Field(None, description="Account of the catalog; default: the identity's own.")
    warehouse: str = Field("s3://lake/warehouse", description="Bucket and prefix of Glue-owned tables.")
    database: str | None = Field(None, description="Glue database; default: the namespace.")
