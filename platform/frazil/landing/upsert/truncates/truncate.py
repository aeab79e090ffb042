"""What is known of a truncate: a record that says that the source emptied its table. Imports nothing much."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Truncate:
    """One record that says so; times in microseconds."""

    partition: int
    offset: int
    timestamp: int
    source_time: int | None
    lsn: int | None

    @property
    def time(self) -> int:
        """When the source did it, as far as it is told."""
        return self.timestamp if self.source_time is None else self.source_time


def read_truncates(texts: Iterable[str]) -> tuple[Truncate, ...]:
    """The truncates, by offset; each is told as a list of its fields, in JSON."""
    return tuple(sorted((Truncate(*json.loads(text)) for text in texts), key=lambda t: t.offset))


def last_truncates(truncates: Iterable[Truncate]) -> tuple[Truncate, ...]:
    """The last one of each partition; what is older than another one is older than it, too."""
    return tuple({t.partition: t for t in truncates}.values())
