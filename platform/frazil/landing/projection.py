"""Decoded values in the order that a table's columns have: by name, at every depth.

Spark's CAST between structs goes by position and ignores names: after a schema put a field in the
middle, values would land in their neighbours' columns.
"""

from __future__ import annotations

from frazil.formats.logical import List, Map, Struct, Type, alike
from frazil.formats.types import spark_type
from frazil.quoting import literal, quoted

__all__ = ["laid_out"]


def laid_out(source: str, have: Type, want: Type, depth: int = 0) -> str:
    """A SQL expression that gives the values of `source` in another type.

    Args:
        source: A SQL expression.
        have: Its type.
        want: The table's: fields that the source lacks are null, those it lacks itself are left out.
        depth: How many lambdas are around it.
    """
    if alike(have, want, lambda *_: True):
        return f"CAST({source} AS {spark_type(want)})"
    item = f"x{depth}"
    match have, want:
        case Struct(), Struct():
            parts = ", ".join(
                f"{literal(f.name)}, {_part(source, have, f.name, f.type, depth)}" for f in want
            )
            return f"CASE WHEN {source} IS NOT NULL THEN named_struct({parts}) END"
        case List(), List():
            return f"transform({source}, {item} -> {laid_out(item, have.element, want.element, depth + 1)})"
        case Map(), Map():
            value = laid_out(item, have.value, want.value, depth + 1)
            return f"transform_values({source}, (k{depth}, {item}) -> {value})"
    return f"CAST({source} AS {spark_type(want)})"


def _part(source: str, have: Struct, name: str, want: Type, depth: int) -> str:
    field = have.get(name)
    if field is None:
        return f"CAST(NULL AS {spark_type(want)})"
    return laid_out(f"{source}.{quoted(name)}", field.type, want, depth)
