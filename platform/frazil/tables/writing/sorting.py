"""Rows in the order of a spec, in the memory of one task; as Spark sorts them.

Imports PyArrow only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from frazil.tables.writing.conversion import table_name

if TYPE_CHECKING:
    from pyiceberg.schema import Schema

    from frazil.spec.table import SortTerm

_MOST = 256 * 2**20
"""Bytes of rows that are sorted at once: they are held twice."""

_AT_ONCE = 16 * 2**20
"""Bytes of rows that are handed on at once."""

_KINDS = frozenset({"boolean", "int", "long", "date", "timestamp", "timestamptz", "string", "binary"})
"""Types that PyArrow sorts as Spark does; it has another place for what is no number."""


@dataclass(frozen=True, slots=True)
class SortKey:
    """A column that rows are sorted by."""

    column: str  # as the table calls it
    ascending: bool
    nulls_first: bool


def sort_keys(schema: Schema, terms: Iterable[SortTerm]) -> tuple[SortKey, ...] | None:
    """A sort order's columns; None where only Spark can sort by it."""
    kinds = {field.name: str(field.field_type) for field in schema.fields}
    keys = []
    for term in terms:
        kind = kinds.get(term.columns[0], "")
        if term.zorder or not (kind in _KINDS or kind.startswith("decimal")):
            return None
        keys.append(SortKey(term.columns[0], term.ascending, term.nulls_first))
    return tuple(keys)


def in_order(parts: Iterable[pa.Table], keys: Sequence[SortKey]) -> Iterator[pa.Table]:
    """All rows of some tables in order; rows that are alike stay as they come.

    Raises:
        ValueError: They are too large to be held.
    """
    rows = pa.concat_tables(_bounded(parts)).combine_chunks()
    yield from _cut(rows, _order(rows, keys))


def sorted_rows(rows: pa.Table, keys: Sequence[SortKey]) -> pa.Table:
    """Rows that a task holds anyway, in order."""
    whole = rows.combine_chunks()
    return whole.take(_order(whole, keys)) if keys else rows


def _order(rows: pa.Table, keys: Sequence[SortKey]) -> pa.Array:
    """The places of rows in order."""
    order = pa.array(np.arange(len(rows)))
    for key in reversed(keys):
        column = _column(rows, key.column).take(order)
        way, nulls = "ascending" if key.ascending else "descending", "start" if key.nulls_first else "end"
        order = order.take(pc.array_sort_indices(column, order=way, null_placement=f"at_{nulls}"))
    return order


def _bounded(parts: Iterable[pa.Table]) -> Iterator[pa.Table]:
    size = 0
    for part in parts:
        if (size := size + part.nbytes) > _MOST:
            raise ValueError(f"more than {_MOST} bytes of rows to be sorted at once")
        yield part


def _column(rows: pa.Table, name: str) -> pa.Array:
    (place,) = (place for place, own in enumerate(rows.schema) if table_name(own) == name)
    return rows.column(place).combine_chunks()


def _cut(rows: pa.Table, order: pa.Array) -> Iterator[pa.Table]:
    """The rows in that order, some at a time."""
    some = max(1, len(rows) * _AT_ONCE // max(1, rows.nbytes))
    for start in range(0, len(rows), some):
        yield rows.take(order.slice(start, some))
