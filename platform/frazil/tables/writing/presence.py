"""How many values columns hold, counted in Arrow and told by files: of both nothing may be lost in between.

A value is a leaf that is not null, at whatever depth. Files are asked by the names of their top-level columns
only, and their numbers come from Parquet's own statistics; manifests are asked by field ids. Nothing here
matches fields within columns by name, so a field that was lost where they were matched is seen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from frazil.tables.writing.footers import leaves_of

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyiceberg.manifest import DataFile
    from pyiceberg.schema import Schema


def values_in(column: pa.Array | pa.ChunkedArray) -> int:
    """The values of a column."""
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        return sum(map(values_in, column.chunks))
    kind = column.type
    if pa.types.is_struct(kind):
        return sum(map(values_in, column.flatten()))
    if pa.types.is_map(kind):
        return values_in(entries_of(column))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return values_in(column.flatten())
    return len(column) - int(column.null_count)


def entries_of(column: pa.MapArray) -> pa.StructArray:
    """Keys and values of all maps of a column."""
    import pyarrow as pa

    entries, buffers = column.values, column.buffers()[:2]
    kind = pa.list_(entries.type)
    lists = pa.Array.from_buffers(kind, len(column), buffers, offset=column.offset, children=[entries])
    return lists.flatten()


def count_values(counted: dict[str, int], columns: Mapping[str, pa.Array | pa.ChunkedArray]) -> None:
    """Adds the values of some columns to what was counted of them before."""
    for name, column in columns.items():
        counted[name] = counted.get(name, 0) + values_in(column)


def total_of(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """What tasks counted, by column."""
    return dict(sum(map(Counter, counts), Counter[str]()))


def values_in_files(footers: Iterable[pq.FileMetaData]) -> dict[str, int]:
    """The values of each top-level column of some files, without those of which any file does not tell it."""
    counts, silent = Counter[str](), set[str]()
    for footer in footers:
        groups = [footer.row_group(number) for number in range(footer.num_row_groups)]
        for place in range(footer.num_columns):
            name = footer.schema.column(place).path.partition(".")[0]  # no name in files has a dot
            for group in groups:
                chunk = group.column(place)
                statistics = chunk.statistics if chunk.is_stats_set else None
                if statistics is None or not statistics.has_null_count:
                    silent.add(name)
                else:
                    counts[name] += chunk.num_values - statistics.null_count
    return {name: number for name, number in counts.items() if name not in silent}


_MOST = 5
"""Columns that an error names."""


def differing(
    seen: Mapping[str, int],
    stored_counts: Mapping[str, int],
    where: str = "in the files",
    done: str = "decoded",
) -> str:
    """Which columns hold other numbers of values than were seen, for people; empty where none does."""
    differences = [
        f"column {name} has {stored_counts[name]} values {where}, and {number} were {done}"
        for name, number in seen.items()
        if stored_counts.get(name, number) != number
    ]
    return "; ".join(differences[:_MOST])


@dataclass(frozen=True, slots=True)
class ValueCounts:
    """How many values files hold by their manifests, by what the table calls its columns now."""

    values: Mapping[str, int]
    silent: frozenset[str]  # of these a file does not tell all: it may lack a field that came later

    @property
    def whole(self) -> dict[str, int]:
        """Those of which every file tells."""
        return {name: number for name, number in self.values.items() if name not in self.silent}

    def of(self, names: Collection[str]) -> ValueCounts:
        """Of some columns only."""
        return ValueCounts({name: self.values[name] for name in names}, self.silent)


def values_in_manifests(files: Iterable[DataFile], schema: Schema) -> ValueCounts:
    """The values of each top-level column of some files, by the field ids of their manifests."""
    leaves = {leaf: own.name for own in schema.fields for leaf in leaves_of(own)}
    sums, silent = dict.fromkeys(leaves.values(), 0), set[str]()
    for file in files:
        counts, nulls = file.value_counts or {}, file.null_value_counts or {}
        for leaf, name in leaves.items():
            if leaf in counts and leaf in nulls:
                sums[name] += counts[leaf] - nulls[leaf]
            else:
                silent.add(name)
    return ValueCounts(sums, frozenset(silent))


@dataclass(frozen=True, slots=True)
class Moves:
    """What became of values of old files, besides that they are in new ones.

    Args:
        gone: Of rows that went, by column; of a column that is not named none went.
        added: Of rows that came.
        unknown: Columns of which nobody counted them.
        fewer: Other rows went, too, and nobody counted their values.
        more: Other rows came.
    """

    gone: Mapping[str, int] = field(default_factory=dict)
    added: Mapping[str, int] = field(default_factory=dict)
    unknown: frozenset[str] = frozenset()
    fewer: bool = False
    more: bool = False

    def wanted(self, name: str, old: int) -> int:
        """The values that new files must hold."""
        return old - self.gone.get(name, 0) + self.added.get(name, 0)

    def words(self, name: str) -> str:
        """What went and came, for people."""
        gone, added = self.gone.get(name, 0), self.added.get(name, 0)
        return f", of which {gone} went; {added} came" if gone or added else ""


def wrong_columns(old: ValueCounts, new: ValueCounts, moves: Moves) -> list[str]:
    """Which columns hold other numbers of values in new files than they must.

    Where an old file does not tell of a column, the new ones hold as many at least.
    """
    wrong = []
    for name, number in new.whole.items():
        wanted = moves.wanted(name, old.values.get(name, 0))
        few, many = number < wanted and not moves.fewer, number > wanted and not moves.more
        if name not in moves.unknown and (few or (many and name in old.whole)):
            wrong.append(name)
    return wrong


def moved_wrongly(old: ValueCounts, new: ValueCounts, moves: Moves) -> str:
    """The same for people; empty where there is none."""
    return "; ".join(
        f"column {name} has {new.values[name]} values in the new files, and {old.values.get(name, 0)} in the "
        f"old ones{moves.words(name)}"
        for name in wrong_columns(old, new, moves)[:_MOST]
    )
