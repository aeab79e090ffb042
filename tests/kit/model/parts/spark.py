"""What Spark says of rows and records that it read."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException

from frazil.landing.write import Written
from frazil.tables.commits.stage import StagedFiles
from kit.model.parts.topic import Record, tally_of

if TYPE_CHECKING:
    from pyiceberg.table import Table

    from kit.model.world import World

__all__ = ["Rows", "found_at", "is_within", "written"]

_SPAN = re.compile(r"= (\d+) AND \S+ >= (\d+) AND \S+ < (\d+)")


class Rows(list[list[Any]]):
    """Rows of so many, of which some are left out."""

    def __init__(self, rows: Iterable[list[Any]], of: int | None = None) -> None:
        super().__init__(rows)
        self.of = len(self) if of is None else of

    def count(self, *_: Any) -> int:
        """As a frame counts."""
        return len(self)

    def selectExpr(self, _: str, goes: str) -> Rows:
        """What a replay asks for: all rows but those of some spans."""
        assert goes.startswith("coalesce(")
        return Rows((row for row in self if not is_within(row, goes)), len(self))


def is_within(row: Sequence[Any], sql: str) -> bool:
    """Whether a row is of the spans that an SQL expression names."""
    _, partition, offset = row
    spans = [tuple(map(int, each)) for each in _SPAN.findall(sql)]
    return any(partition == p and start <= offset < to for p, start, to in spans)


def written(landing: str, records: list[Record], files: StagedFiles) -> Written:
    bad = tuple(r.at[1:] for r in records if r.bad)
    mark = tally_of([r.at[1:] for r in records]).mark
    return Written(landing, len(records), len(bad), 0, 10 * len(records), (1,), None, bad, mark, files)


def found_at(
    world: World, table: Table, snapshot_id: int | None, paths: Collection[str] | None = None
) -> list[tuple[str, list[Any]]]:
    """The rows of a snapshot, or of some of its files, as Spark finds them, each with its file."""
    world.stage.step()
    try:
        return world.store.live(table, snapshot_id, paths)
    except FileNotFoundError as e:
        raise PySparkException(f"iceberg.exceptions.NotFoundException: {e}") from e
