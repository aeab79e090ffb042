"""What is counted of work on tables, and how counts are added up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

GIB = 2**30
"""S3 and Confluent Cloud bill it as their GB."""

MONTH = 730 * 3600.0
"""Seconds of a month, as AWS' own calculators have it."""

Unit = Literal[
    "records", "bytes_in", "bytes_written", "bytes_replaced", "metadata_bytes", "files", "commits", "writes",
    "reads", "publications", "glue_calls", "statements", "refreshes", "warehouse_seconds",
    "task_seconds", "live_bytes", "history_bytes", "byte_seconds", "topic_seconds", "seconds",
]  # fmt: skip
"""`metadata_bytes`: of manifests and their lists. `writes`: objects put into the store. `reads`: requests for
an object, its size or a part. `statements`: that Frazil sent to Snowflake, and `refreshes` among them.
`warehouse_seconds`: for which Frazil waited for statements that need one. `task_seconds`: CPU of tasks, in
Python. `byte_seconds`: bytes that were stored, each for how long. `topic_seconds`: topics that were landed,
each for the whole time."""

Units = Mapping[Unit, float]
"""Counts by unit. One that is missing is not known, and no zero."""

Grouping = Literal["table", "layer", "work", "tag"]
"""By what lines are put together."""

UNTAGGED = "(no tag)"


OF_COMMIT = 1
"""Objects that a catalog puts for a commit: a metadata file."""


@dataclass(frozen=True, slots=True)
class Period:
    """The time that is looked at, in seconds since the epoch."""

    since: float
    now: float

    @property
    def seconds(self) -> float:
        """How long it is."""
        return self.now - self.since

    def holds(self, moment: float) -> bool:
        """Whether something happened in it."""
        return self.since <= moment <= self.now

    def share_of(self, begin: float, end: float) -> float:
        """Seconds of a span of time that are in it."""
        return max(0.0, min(end, self.now) - max(begin, self.since))


@dataclass(frozen=True, slots=True)
class Line:
    """What one kind of work on one layer of one table took; `tags` are the table's, as `name=value`."""

    table: str
    layer: str  # `iceberg`, or the word of a target
    work: str
    units: Units
    tags: tuple[str, ...] = ()


def objects_put(files: int, commits: int) -> int:
    """Objects that commits put: the files, a list of manifests and a metadata file; with files a manifest."""
    return files + commits * (1 + OF_COMMIT + (files > 0))


def total_of(lines: Iterable[Line]) -> Units:
    """The sum of all units that any line knows."""
    total: dict[Unit, float] = {}
    for line in lines:
        for unit, count in line.units.items():
            total[unit] = total.get(unit, 0) + count
    return total


_KEYS: Mapping[Grouping, Callable[[Line], tuple[str, ...]]] = {
    "table": lambda line: (line.table,),
    "layer": lambda line: (line.layer,),
    "work": lambda line: (line.work,),
    "tag": lambda line: line.tags or (UNTAGGED,),
}


def grouped(lines: Iterable[Line], by: Grouping) -> dict[str, list[Line]]:
    """Lines by one of their names, in the order in which these come; by tag, with each of its tags."""
    groups: dict[str, list[Line]] = {}
    for line in lines:
        for name in _KEYS[by](line):
            groups.setdefault(name, []).append(line)
    return groups
