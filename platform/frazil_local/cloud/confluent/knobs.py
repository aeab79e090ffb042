"""How slow the stand-in is. Its faults are those of all stand-ins (`frazil_local.cloud.faults`)."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from frazil_local.cloud import faults


class Delays(BaseModel):
    """What `more` of the knobs says; times are in seconds."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    provision: float = Field(0.5, description="From the first phase of an object to its last.")
    key_sync: float = Field(0.3, description="Until a new API key works.")
    rbac_sync: float = Field(0.3, description="Until a role binding takes effect.")
    topic_sync: float = Field(0.3, description="Until Tableflow sees a new topic.")
    role_sync: float = Field(0.0, description="Until Tableflow may take the role of a new integration.")
    flink_sync: float = Field(0.0, description="Until a region of Flink knows a key: 400, 401, 404.")
    prove_again: float = Field(5.0, description="Until what runs by a customer's role is proved again.")
    materialize: float = Field(3.0, description="Between two looks of Tableflow at its topics.")
    retry_after: int = Field(0, description="What a 429 says in Retry-After.")
    fail_next: list[str] = Field([], description="Kinds of which the next object ends in the phase FAILED.")
    max_keys: int = Field(1000, description="API keys of the organization; one more is 402.")
    page: int = Field(10, description="Objects on a page, where nobody asks for more.")
    trades: int = Field(
        2000, description="Records that a Datagen connector produces, where there is a broker."
    )
    rate: float = Field(1000.0, description="And how many of them in a second.")


class Knobs(faults.Knobs):
    """The knobs of all stand-ins, and the delays of this one."""

    @property
    def delays(self) -> Delays:
        """As they are now."""
        return Delays.model_validate(self.more)

    def turn(self, **knobs: Any) -> None:
        """Sets some of the delays, and leaves the others."""
        self.more = {**self.more, **knobs}

    def fails(self, kind: str) -> bool:
        """Whether this one object fails; told once for each mention in `fail_next`."""
        left = list(self.delays.fail_next)
        if kind not in left:
            return False
        left.remove(kind)
        self.turn(fail_next=left)
        return True
