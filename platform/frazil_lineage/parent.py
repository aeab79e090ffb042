"""The run that a piece of work is part of."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Parent:
    """A run of Dagster; by default this process, as one run.

    Args:
        run_id: A UUID.
        job: The name of the job that runs.
    """

    run_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    job: str = "frazil"
