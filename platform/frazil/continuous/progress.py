"""What a runner tells, a line each: to people, to scripts, or to the log."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from frazil.errors import FrazilError, PartDownError

Event = Literal[
    "running", "landed", "overtaken", "derived", "failed", "recovered", "waits", "shares", "stopping"
]


@dataclass(frozen=True, slots=True)
class Progress:
    """One line; `table` is empty where it is of none, `facts` are for scripts."""

    event: Event
    table: str
    text: str
    facts: Mapping[str, Any] = field(default_factory=dict)


Say = Callable[[Progress], None]
"""Is called by several threads."""


def failure(table: str, error: FrazilError) -> Progress:
    """A failure that is tried again; of a system that does not answer one table stands for all."""
    facts = {"error": type(error).__name__, **error.document}
    whose = f"{table}, and all that needs the same" if type(error) is PartDownError else table
    return Progress("failed", table, f"{whose if table else 'Kafka or the catalog'}: {error}", facts)


def recovery(table: str) -> Progress:
    """It works again, after a failure that was told."""
    return Progress("recovered", table, f"{table or 'Kafka and the catalog'}: works again.")
