"""The files of each partition by size, and what a compaction would leave of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from frazil.tables.folders import folder_of
from frazil.tables.metadata.files import LiveFile
from frazil.upkeep.compaction.bins import Bin, Gain, Rule, gain_of
from frazil.upkeep.compaction.plan import Partition, Plan, group_files
from frazil.upkeep.work import MB

if TYPE_CHECKING:
    from pyiceberg.table import Table

_EDGES = (1, 8, 32, 128, 512)
_LABELS = (
    f"< {_EDGES[0]} MiB",
    *(f"{low}-{high} MiB" for low, high in pairwise(_EDGES)),
    f">= {_EDGES[-1]} MiB",
)


@dataclass(frozen=True, slots=True)
class SizeClass:
    """Files of about one size, such as `8-32 MiB`, and their bytes."""

    label: str
    files: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class PartitionCensus:
    """The files of one partition."""

    partition: str  # as a path, such as `ts_day=2026-01-01`; empty where the table has no partitions
    spec_id: int
    values: tuple[Any, ...]
    sizes: tuple[SizeClass, ...]
    files: int
    bytes: int
    records: int
    small_files: int
    small_bytes: int
    deleted_rows: int  # rows that deletes by position take away
    delete_files: int  # delete files that a reader must open for one of its files, at most
    gain: Gain

    @property
    def ideal(self) -> int:
        """Files that a compaction would leave."""
        return self.files - self.gain.files + self.gain.into


def partitions_of(
    table: Table, files: Iterable[LiveFile], rule: Rule, plan: Plan
) -> tuple[PartitionCensus, ...]:
    """The census of each partition, the one with the most small bytes first."""
    groups = group_files(files, table.spec().spec_id)
    censuses = (_partition(table, key, group, rule, plan.bins[key]) for key, group in groups.items())
    return tuple(sorted(censuses, key=lambda p: (-p.small_bytes, p.partition)))


def by_size(sizes: Iterable[int]) -> tuple[SizeClass, ...]:
    """Sizes in bytes counted by class, every class in order, empty ones too."""
    files, bytes_of = [0] * len(_LABELS), [0] * len(_LABELS)
    for size in sizes:
        place = sum(size >= edge * MB for edge in _EDGES)
        files[place] += 1
        bytes_of[place] += size
    return tuple(map(SizeClass, _LABELS, files, bytes_of))


def _partition(
    table: Table, key: Partition, files: Sequence[LiveFile], rule: Rule, bins: Sequence[Bin]
) -> PartitionCensus:
    small = [f.bytes for f in files if f.bytes < rule.small]
    return PartitionCensus(
        partition="(older layout)" if key is None else _path(table, key),
        spec_id=files[0].spec_id,
        values=key or (),
        sizes=by_size(f.bytes for f in files),
        files=len(files),
        bytes=sum(f.bytes for f in files),
        records=sum(f.records for f in files),
        small_files=len(small),
        small_bytes=sum(small),
        deleted_rows=sum(f.deleted for f in files),
        delete_files=max(f.deletes for f in files),
        gain=gain_of(bins, rule),
    )


def _path(table: Table, values: tuple[Any, ...]) -> str:
    from pyiceberg.typedef import Record

    return folder_of(table.spec(), table.schema(), Record(*values))
