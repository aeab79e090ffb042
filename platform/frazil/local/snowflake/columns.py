"""How Snowflake shows Iceberg's columns, as duckdb expressions.

Lists, structs and maps become VARIANT (fakesnow keeps it as JSON), with bytes inside of them in
hexadecimal; a FLOAT has eight bytes; the rest stays as duckdb reads it.
"""

from __future__ import annotations

from typing import Any

from frazil.quoting import double_quoted

__all__ = ["shown_column"]

_NESTED = ("list", "struct", "map")
_CASTS = {"float": "DOUBLE", "uuid": "VARCHAR", "timestamp_ns": "TIMESTAMP"}


def shown_column(name: str, kind: Any) -> str:
    """One column of a view, under its own name.

    Args:
        name: The column.
        kind: Its `DuckDBPyType`.
    """
    column = double_quoted(name)
    if kind.id in _NESTED:
        return f"to_json({_inside(column, kind)}) AS {column}"
    cast = _CASTS.get(kind.id)
    return f"CAST({column} AS {cast}) AS {column}" if cast else column


def _inside(expression: str, kind: Any, depth: int = 0) -> str:
    if kind.id == "blob":
        return f"hex({expression})"
    if "BLOB" not in str(kind):
        return expression
    item = f"x{depth}"
    children = dict(kind.children)
    if kind.id == "list":
        return f"list_transform({expression}, lambda {item}: {_inside(item, children['child'], depth + 1)})"
    if kind.id == "struct":
        return _struct(expression, children, depth)
    entry = _struct(item, children, depth + 1)
    return f"map_from_entries(list_transform(map_entries({expression}), lambda {item}: {entry}))"


def _struct(expression: str, children: dict[str, Any], depth: int) -> str:
    fields = ", ".join(
        f"{double_quoted(name)} := {_inside(f'{expression}.{double_quoted(name)}', kind, depth + 1)}"
        for name, kind in children.items()
    )
    packed = f"struct_pack({fields})"
    return f"CASE WHEN {expression} IS NULL THEN NULL ELSE {packed} END"
