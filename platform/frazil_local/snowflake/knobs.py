"""What Snowflake may do otherwise. Faults are those of all stand-ins (`frazil_local.cloud.faults`)."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from frazil_local.cloud import faults


class Ways(BaseModel):
    """What `more` of the knobs says."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    refreshes: bool = Field(True, description="Whether tables that should refresh themselves do.")
    specific_kinds: bool = Field(
        False, description="Whether SHOW GRANTS calls volumes and integrations as from bundle 2026_06."
    )


class Knobs(faults.Knobs):
    """The knobs of all stand-ins, and the ways of this one."""

    @property
    def ways(self) -> Ways:
        """As they are now."""
        return Ways.model_validate(self.more)
