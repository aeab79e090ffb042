"""Which of some records a table holds already: the plain truth about what was landed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyiceberg.expressions import BooleanExpression
    from pyiceberg.table import Table

Key = tuple[int, int]
"""Partition and offset."""

NAMES = ("partition", "offset")
"""The columns that hold them in a dead-letter table."""

_FEW = 200  # values of an IN by which PyIceberg still leaves out files (its IN_PREDICATE_LIMIT)


def keys_in(
    table: Table,
    keys: Collection[Key],
    names: tuple[str, str] = NAMES,
    where: BooleanExpression | None = None,
) -> set[Key]:
    """The keys that the table's head holds, of those given; reads two columns of the files in question.

    `names` are the columns of partition and offset; only rows `where` that is true are looked at.
    """
    from pyiceberg.expressions import AlwaysTrue

    rows = where or AlwaysTrue()
    found: set[Key] = set()
    for partition, offsets in _by_partition(keys).items():
        found |= {(partition, offset) for offset in _offsets_in(table, partition, offsets, names, rows)}
    return found


def _by_partition(keys: Iterable[Key]) -> dict[int, list[int]]:
    groups = defaultdict(list)
    for partition, offset in keys:
        groups[partition].append(offset)
    return groups


def _offsets_in(
    table: Table, partition: int, offsets: list[int], names: tuple[str, str], rows: BooleanExpression
) -> Iterable[int]:
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyiceberg.expressions import And, EqualTo

    wanted = pa.array(offsets, pa.int64())
    among = And(rows, EqualTo(term=names[0], value=partition), _among(names[1], offsets))
    for batch in table.scan(among, selected_fields=names).to_arrow_batch_reader():
        column = batch.column(names[1])
        yield from column.filter(pc.is_in(column, value_set=wanted)).to_pylist()


def _among(column: str, offsets: list[int]) -> BooleanExpression:
    from pyiceberg.expressions import And, GreaterThanOrEqual, In, LessThanOrEqual

    if len(offsets) <= _FEW:
        return In(term=column, literals=set(offsets))
    low, high = min(offsets), max(offsets)
    return And(GreaterThanOrEqual(term=column, value=low), LessThanOrEqual(term=column, value=high))
