"""What a table's files hold of each partition of a topic: first and last offset, and rows.

A file of one partition tells it by the bounds of its columns. Of a file of several, such as a compaction may
write, these columns are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain
from typing import TYPE_CHECKING

from frazil.exact import value_of, values_of
from frazil.kafka.tally import Tally
from frazil.tables.metadata.manifests import HeadReader
from frazil.tables.reading.rows import batches_in

if TYPE_CHECKING:
    import pyarrow as pa
    from pyiceberg.manifest import DataFile
    from pyiceberg.schema import Schema
    from pyiceberg.table import Table

Names = tuple[str, str, str]
"""The columns of partition, offset and leader epoch."""


@dataclass(frozen=True, slots=True)
class Extent:
    """What is there of one partition."""

    first: int
    last: int
    rows: int
    epoch: int = -1  # the newest leader epoch; -1 where the rows do not say

    @property
    def offsets(self) -> int:
        """How many offsets lie between the first and the last one, both included."""
        return self.last + 1 - self.first

    def __add__(self, other: Extent) -> Extent:
        return Extent(
            min(self.first, other.first),
            max(self.last, other.last),
            self.rows + other.rows,
            max(self.epoch, other.epoch),
        )


@dataclass(frozen=True, slots=True)
class Holdings:
    """What the head of a table holds."""

    extents: Mapping[int, Extent]
    deletes: bool = False  # whether delete files take rows away, which are counted here all the same


def holdings(table: Table, names: Names) -> Holdings:
    """What the head holds of each partition."""
    columns = table.schema().select(*names)
    head = HeadReader([f.field_id for f in columns.fields]).read(table)
    if head is None:
        return Holdings({})
    files = [entry.data_file for entry in head.entries.values()]
    by_path = {file.file_path: _by_bounds(file, columns, names) for file in files}
    mixed = [file for file in files if by_path[file.file_path] is None]
    known = (pair for pair in by_path.values() if pair)
    read = chain.from_iterable(_by_rows(batch, names) for batch in batches_in(table, columns, mixed))
    return Holdings(_summed(chain(known, read)), deletes=bool(head.deleting))


def tallies(table: Table, names: Names) -> dict[int, Tally]:
    """The records of the head by partition: reads two columns of every file, a batch at a time."""
    columns = table.schema().select(*names[:2])
    head = HeadReader().read(table)
    files = [entry.data_file for entry in head.entries.values()] if head else []
    by_partition: dict[int, Tally] = {}
    for batch in batches_in(table, columns, files):
        for partition, of in _parts(batch, names):
            offsets = of.column(names[1]).to_numpy(zero_copy_only=False)
            by_partition[partition] = by_partition.get(partition, Tally()) + Tally.of(partition, offsets)
    return by_partition


def _summed(pairs: Iterable[tuple[int, Extent]]) -> dict[int, Extent]:
    by_partition: dict[int, list[Extent]] = {}
    for partition, extent in pairs:
        by_partition.setdefault(partition, []).append(extent)
    return {p: reduce(Extent.__add__, each) for p, each in sorted(by_partition.items())}


def _by_bounds(file: DataFile, columns: Schema, names: Names) -> tuple[int, Extent] | None:
    """Partition and extent of a file by its statistics; None where these do not tell."""
    (low, high), (first, last), (_, epoch) = (bounds_of(file, columns, name) for name in names)
    if low is None or low != high or first is None or last is None:
        return None
    return low, Extent(first, last, file.record_count, -1 if epoch is None else epoch)


def bounds_of(file: DataFile, columns: Schema, name: str) -> tuple[int | None, int | None]:
    """The least and the greatest value of a column of whole numbers; None where the file does not tell."""
    from pyiceberg.conversions import from_bytes
    from pyiceberg.types import PrimitiveType

    field = columns.find_field(name)
    kind = field.field_type
    assert isinstance(kind, PrimitiveType)
    raw = [(bounds or {}).get(field.field_id) for bounds in (file.lower_bounds, file.upper_bounds)]
    nulls = (file.null_value_counts or {}).get(field.field_id, 0)
    low, high = (None if text is None or nulls else int(from_bytes(kind, text)) for text in raw)
    return low, high


def _by_rows(batch: pa.RecordBatch, names: Names) -> Iterator[tuple[int, Extent]]:
    import pyarrow.compute as pc

    for partition, of in _parts(batch, names):
        span, newest = value_of(pc.min_max(of.column(names[1]))), value_of(pc.max(of.column(names[2])))
        extent = Extent(span["min"], span["max"], of.num_rows)
        yield partition, replace(extent, epoch=-1 if newest is None else newest)


def _parts(batch: pa.RecordBatch, names: Names) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows of each partition; none of those that name no partition or offset."""
    import pyarrow.compute as pc

    placed = batch.filter(pc.and_(pc.is_valid(batch.column(names[0])), pc.is_valid(batch.column(names[1]))))
    partition = placed.column(names[0])
    for value in values_of(pc.unique(partition)):
        yield value, placed.filter(pc.equal(partition, value))
