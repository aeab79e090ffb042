"""What a redrive hands to Spark, and what it commits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from frazil.errors import OvertakenError
from frazil.landing.dead_letters import DeadLetter
from frazil.landing.landed import Landed
from frazil.landing.ledger import Ledger, read_ledger
from frazil.spec.names import TableName
from frazil.tables.keys import NAMES, Key, keys_in

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["Redriven", "letters_frame"]

_COLUMNS = (
    "raw_key binary, raw_value binary, topic string, partition int, offset bigint, timestamp timestamp, "
    "timestampType int, headers array<struct<key: string, value: binary>>, leader_epoch int"
)
"""As `read_slices` gives them."""


@dataclass(frozen=True)
class Redriven(Landed):
    """A redrive that is written and audited, but not visible.

    Args:
        head: The snapshot of `main` that held none of the records.
        keys: The records.
        names: The table's columns of partition and offset.
        expired: Rows that had expired at that snapshot.
    """

    head: int = 0
    keys: frozenset[Key] = frozenset()
    names: tuple[str, str] = NAMES
    expired: int = 0

    resumes: ClassVar[bool] = False
    rivals: ClassVar[str] = ""

    def upon(self, name: TableName, table: Table) -> Ledger:
        """See `Staged.upon`. The position may move in between, and stays where it is then."""
        before = read_ledger(table.metadata)
        if before is None or self._passed(before) or self._held(table):
            raise OvertakenError(
                f"Another redrive, or a row expiry, of {name} was quicker; this one was dropped.",
                where=f"{len(self.keys)} dead letters",
                meaning="Every record is in the table at most once; nothing of this redrive is visible.",
                todo="Nothing. Redrive again if dead letters are left.",
            )
        idle = {p: (at, at) for p, at in before.position.items()}
        entry = replace(self.ledger, spans=idle, start=before.start, max_timestamp=before.max_timestamp)
        return entry.following(before)

    def _passed(self, before: Ledger) -> bool:
        """Whether the position went back, or rows expired, which may have been of these records."""
        return before.total_expired != self.expired or not all(before.covers(*key) for key in self.keys)

    def _held(self, table: Table) -> bool:
        head = table.current_snapshot()
        looked_at = head is not None and head.snapshot_id == self.head
        return not looked_at and bool(keys_in(table, self.keys, self.names))


def letters_frame(spark: SparkSession, letters: Sequence[DeadLetter]) -> DataFrame:
    """Dead letters as `read_slices` would have read them; one task, one file."""
    rows = [
        (
            r.raw_key, r.raw_value, r.topic, r.partition, r.offset, r.timestamp, r.timestamp_type,
            None if r.headers is None else list(r.headers.items()), r.leader_epoch,
        )
        for r in letters
    ]  # fmt: skip
    return spark.createDataFrame(rows, _COLUMNS).coalesce(1)
