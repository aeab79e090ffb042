"""Texts that a query makes of bytes, and that are none: most engines could not read a table that held them.

Spark takes any bytes for text (CAST), and Iceberg's strings are UTF-8: https://iceberg.apache.org/spec/#primitive-types
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil.derive.queries.query import ERROR_COLUMN
from frazil.quoting import literal, quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType


def with_texts_checked(rows: DataFrame) -> DataFrame:
    """The same rows; a job fails at a text that is not UTF-8, unless the query calls its row bad."""
    fields = rows.schema.fields
    odd = {f.name: sql for f in fields if (sql := _is_odd(f.dataType, quoted(f.name)))}
    if not odd:
        return rows
    sound = f"{quoted(ERROR_COLUMN)} IS NULL AND " if ERROR_COLUMN in rows.columns else ""
    odd.pop(ERROR_COLUMN, None)
    return rows.selectExpr(*(_checked(f.name, odd.get(f.name), sound) for f in fields))


def _checked(name: str, odd: str | None, sound: str) -> str:
    if odd is None:
        return quoted(name)
    why = literal(f"column {name} holds text that is not UTF-8")
    return f"IF(coalesce({sound}({odd}), false), raise_error({why}), {quoted(name)}) AS {quoted(name)}"


def _is_odd(kind: DataType, x: str, depth: int = 0) -> str:
    """Whether a text in a value is none, as SQL; empty where the type has no texts."""
    from pyspark.sql import types as t

    item = f"t{depth}"
    match kind:
        case t.StringType():
            return f"NOT is_valid_utf8({x})"
        case t.StructType():
            parts = [_is_odd(f.dataType, f"{x}.{quoted(f.name)}", depth) for f in kind.fields]
        case t.ArrayType():
            parts = [_in_list(_is_odd(kind.elementType, item, depth + 1), x, item)]
        case t.MapType():
            parts = [
                _in_list(_is_odd(kind.keyType, item, depth + 1), f"map_keys({x})", item),
                _in_list(_is_odd(kind.valueType, item, depth + 1), f"map_values({x})", item),
            ]
        case _:
            return ""
    return " OR ".join(f"coalesce({part}, false)" for part in parts if part)


def _in_list(odd: str, x: str, item: str) -> str:
    return f"exists({x}, {item} -> {odd})" if odd else ""
