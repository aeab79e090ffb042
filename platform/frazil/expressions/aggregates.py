"""Aggregates over rows that several tasks have: what each counts, and what they say together.

Of `count(distinct ...)` a task hands on each value that it met; of a long text 16 bytes that only equal ones
share (BLAKE2, RFC 7693).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from frazil.exact import values_of
from frazil.expressions.arrow import Rows
from frazil.expressions.tree import Aggregate, aggregate_name

LONGEST = 40
"""Bytes of a text that is handed on as it is: a UUID has 36."""


def partial(aggregates: Sequence[Aggregate], rows: Rows) -> pa.RecordBatch:
    """What some rows say: one row, of which `combined` makes one of several."""
    columns = {name: value for n, each in enumerate(aggregates) for name, value in _states(n, each, rows)}
    return pa.RecordBatch.from_pydict(columns)


def combined(parts: Iterable[pa.RecordBatch | pa.Table]) -> pa.RecordBatch:
    """What several say together: again one row."""
    tables = [part if isinstance(part, pa.Table) else pa.Table.from_batches([part]) for part in parts]
    whole = pa.concat_tables(tables)
    return pa.RecordBatch.from_pydict({name: _merged(name, whole[name]) for name in whole.column_names})


def finished(aggregates: Sequence[Aggregate], state: pa.RecordBatch) -> dict[str, pa.Array]:
    """The value of each aggregate, by `aggregate_name`."""
    return {aggregate_name(n): _value(n, each, state) for n, each in enumerate(aggregates)}


def _states(number: int, of: Aggregate, rows: Rows) -> Iterable[tuple[str, pa.Array]]:
    own = aggregate_name(number)
    if of.of is None:
        yield f"{own} count", pa.array([rows.count], pa.int64())
        return
    values = rows.flags(of.of) if of.name == "count_if" else rows.array(of.of)
    match of.name:
        case "count":
            yield f"{own} count", pa.array([len(values) - values.null_count], pa.int64())
        case "count_if":
            yield f"{own} count", pa.array([values.true_count], pa.int64())
        case "count_distinct":
            yield f"{own} met", _one_list(_marks(pc.unique(values.drop_null())))
        case "sum" | "avg":
            exact = pa.types.is_integer(values.type) or pa.types.is_decimal(values.type)
            wide = values.cast(pa.decimal256(76, getattr(values.type, "scale", 0))) if exact else values
            yield f"{own} sum", pa.array([pc.sum(wide)])
            yield f"{own} count", pa.array([len(values) - values.null_count], pa.int64())
        case "min" | "max":
            yield f"{own} {of.name}", pa.array([pc.min_max(values)[of.name]], values.type)


def _marks(values: pa.Array) -> pa.Array:
    """What tells different values apart."""
    is_ = pa.types
    if is_.is_boolean(values.type) or is_.is_integer(values.type) or is_.is_timestamp(values.type):
        return values.cast(pa.int64(), safe=False)
    if is_.is_date32(values.type):
        return values.cast(pa.int32()).cast(pa.int64())
    in_bytes = is_.is_string(values.type) or is_.is_binary(values.type)
    texts = (values if in_bytes else values.cast(pa.string())).cast(pa.binary())
    marked = pc.binary_join_element_wise(b"=", texts, b"")
    is_long = pc.greater(pc.binary_length(texts), LONGEST)
    if not is_long.true_count:
        return marked
    long = values_of(texts.filter(is_long))
    hashed = [b"#" + blake2b(value, digest_size=16).digest() for value in long]
    return pc.replace_with_mask(marked, is_long, pa.array(hashed, pa.binary()))


def _one_list(values: pa.Array) -> pa.ListArray:
    return pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), values)


def _merged(name: str, column: pa.ChunkedArray) -> pa.Array:
    how = name.rpartition(" ")[2]
    if how == "met":
        return _one_list(pc.unique(pa.concat_arrays([chunk.flatten() for chunk in column.chunks])))
    if how in ("min", "max"):
        return pa.array([pc.min_max(column)[how]], column.type)
    total = pc.sum(column)
    return pa.array([total], total.type)


def _value(number: int, of: Aggregate, state: pa.RecordBatch) -> pa.Array:
    own = aggregate_name(number)
    if of.name == "count_distinct":
        return pc.list_value_length(state[f"{own} met"]).cast(pa.int64())
    if of.name in ("min", "max"):
        return state[f"{own} {of.name}"]
    count = state[f"{own} count"]
    if of.name not in ("sum", "avg"):
        return count
    total = pc.if_else(pc.equal(count, 0), pa.scalar(None, state[f"{own} sum"].type), state[f"{own} sum"])
    if of.name == "sum":
        return total
    share: Any = pc.divide(total.cast(pa.float64()), count.cast(pa.float64()))
    return share
