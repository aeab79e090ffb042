"""What the manifests of one table say about work that may be due."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from frazil.spec.table import AnyTable
from frazil.tables.files import LiveFile, live_files
from frazil.upkeep.facts import Facts, History
from frazil.upkeep.gain import Gain, gain_of
from frazil.upkeep.packing import Bin, Rule
from frazil.upkeep.plan import plan_bins
from frazil.upkeep.row_age import row_age

if TYPE_CHECKING:
    from pyiceberg.schema import Schema
    from pyiceberg.table import Table

__all__ = ["Found", "look_into"]


@dataclass(frozen=True, slots=True)
class Found:
    """What a look into the manifests found.

    Args:
        at: When somebody looked, in seconds since the epoch.
        facts: The facts of the head that was looked at.
        files: Data files.
        small_files: Those below the size that they should have.
        waiting: Bytes of small files that wait for a compaction; what the last one left does not wait.
        gain: What a compaction is good for, over all partitions.
        manifests: How many there are.
        small_manifests: Those that would better be put together.
        oldest: Timestamp of the oldest record, in seconds since the epoch, where it is known.
        copies: Bytes that only older snapshots hold.
        most_copies: How many of them there may be.
        thrifty: Small files are left alone, for there would be more.
    """

    at: float
    facts: Facts
    files: int
    small_files: int
    waiting: int
    gain: Gain
    manifests: int
    small_manifests: int
    oldest: float | None
    copies: int = 0
    most_copies: int = 0
    thrifty: bool = False


def look_into(table: Table, facts: Facts, history: History, spec: AnyTable, now: float) -> Found:
    """Reads the manifests of the table's head."""
    age = row_age(spec)
    column = _field_id(table.schema(), age.column) if age else None
    live = live_files(table, table.current_snapshot(), column)
    rule = Rule.of(spec.upkeep, int(spec.write.target_file_size), sorts=bool(spec.sort_by))
    plan = plan_bins(live.data, table.spec().spec_id, rule, history.copies)
    return Found(
        at=now,
        facts=facts,
        files=len(live.data),
        small_files=sum(f.bytes < rule.small for f in live.data),
        waiting=sum(_waiting(b, rule, history.compacted_to) for bins in plan.bins.values() for b in bins),
        gain=sum((gain_of(bins, rule) for bins in plan.bins.values()), Gain()),
        manifests=live.manifests,
        small_manifests=live.small_manifests,
        oldest=_oldest(live.data),
        copies=plan.copies,
        most_copies=plan.allowed,
        thrifty=plan.thrifty,
    )


def _waiting(bin_: Bin, rule: Rule, compacted_to: int) -> int:
    """Small bytes of a bin.

    The one small file that a compaction leaves per partition does not count: with a hundred
    partitions those alone would ask for the next compaction at once, and for ever.
    """
    new = [f for f in bin_.files if f.sequence > compacted_to]
    unfinished = len(bin_.files) - len(new) > bin_.into
    return sum(f.bytes for f in (bin_.files if unfinished else new) if f.bytes < rule.small)


def _field_id(schema: Schema, name: str) -> int | None:
    return next((field.field_id for field in schema.fields if field.name == name), None)


def _oldest(files: Sequence[LiveFile]) -> float | None:
    """Iceberg writes bounds of timestamps as microseconds, eight bytes, little endian."""
    bounds = [int.from_bytes(f.lower, "little", signed=True) / 1e6 for f in files if f.lower]
    return min(bounds, default=None)
