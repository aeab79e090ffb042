"""Where Spark is."""

from __future__ import annotations

from pydantic import Field

from frazil.settings.system import SystemSettings


class SparkSettings(SystemSettings):
    """`FRAZIL_SPARK__...`."""

    remote: str = Field("sc://127.0.0.1:15002", description="Spark Connect, or local[*].")
    upkeep_remote: str | None = Field(
        None, description="Spark of upkeep's own; default: landings', where its jobs take what is left over."
    )
    parallelism: int = Field(2, ge=1, description="Cores that one landing may keep busy.")
