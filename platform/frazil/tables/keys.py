"""Which of some records a table holds already: the plain truth about what was landed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from functools import reduce
from typing import TYPE_CHECKING

from frazil.exact import values_of
from frazil.quoting import quoted
from frazil.tables.spark.faults import files_there

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

    Raises:
        CommitConflictError: The snapshot expired meanwhile.
    """
    from pyiceberg.expressions import AlwaysTrue

    rows = where or AlwaysTrue()
    present: set[Key] = set()
    with files_there(table):
        for partition, offsets in _by_partition(keys).items():
            offsets_held = _offsets_in(table, partition, offsets, names, rows)
            present |= {(partition, offset) for offset in offsets_held}
    return present


def within(spans: Mapping[int, tuple[int, int]], names: tuple[str, str] = NAMES) -> BooleanExpression:
    """For Iceberg: the rows whose partition and offset lie in one of some spans, [from, to) by partition."""
    from pyiceberg.expressions import AlwaysFalse, And, EqualTo, GreaterThanOrEqual, LessThan, Or

    none: BooleanExpression = AlwaysFalse()
    each = (
        And(
            EqualTo(term=names[0], value=partition),
            GreaterThanOrEqual(term=names[1], value=start),
            LessThan(term=names[1], value=to),
        )
        for partition, (start, to) in spans.items()
    )
    return reduce(Or, each, none)


def within_sql(spans: Mapping[int, tuple[int, int]], names: tuple[str, str] = NAMES) -> str:
    """The same for Spark."""
    partition, offset = map(quoted, names)
    each = (f"({partition} = {p} AND {offset} >= {a} AND {offset} < {b})" for p, (a, b) in spans.items())
    return f"({' OR '.join(each) or 'false'})"


def _by_partition(keys: Iterable[Key]) -> dict[int, list[int]]:
    groups = defaultdict(list)
    for partition, offset in keys:
        groups[partition].append(offset)
    return groups


def _offsets_in(
    table: Table,
    partition: int,
    offsets: list[int],
    names: tuple[str, str],
    rows: BooleanExpression,
) -> Iterable[int]:
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyiceberg.expressions import And, EqualTo

    wanted = pa.array(offsets, pa.int64())
    among = And(rows, EqualTo(term=names[0], value=partition), _among(names[1], offsets))
    for batch in table.scan(among, selected_fields=names).to_arrow_batch_reader():
        column = batch.column(names[1])
        yield from values_of(column.filter(pc.is_in(column, value_set=wanted)))


def _among(column: str, offsets: list[int]) -> BooleanExpression:
    from pyiceberg.expressions import And, GreaterThanOrEqual, In, LessThanOrEqual

    if len(offsets) <= _FEW:
        return In(term=column, literals=set(offsets))
    low, high = min(offsets), max(offsets)
    return And(GreaterThanOrEqual(term=column, value=low), LessThanOrEqual(term=column, value=high))
