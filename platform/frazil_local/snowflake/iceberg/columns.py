"""Columns of Iceberg tables, as Snowflake lists them and as duckdb reads them.

Lists, structs and maps become VARIANT (fakesnow keeps it as JSON), with bytes inside of them in hexadecimal.
A FLOAT has eight bytes; the rest stays as duckdb reads it.
"""

from __future__ import annotations

from typing import Any

from pyiceberg.table import StaticTable
from pyiceberg.types import DecimalType, FixedType, IcebergType, ListType, MapType, StructType

from frazil.quoting import double_quoted
from frazil_local.snowflake.answers import Row
from frazil_local.snowflake.engine import text

# https://docs.snowflake.com/en/user-guide/tables-iceberg-data-types
_TYPES = {
    "boolean": "BOOLEAN", "int": "NUMBER(10,0)", "long": "NUMBER(19,0)", "float": "FLOAT", "double": "FLOAT",
    "date": "DATE", "time": "TIME(6)", "timestamp": "TIMESTAMP_NTZ(6)", "timestamptz": "TIMESTAMP_LTZ(6)",
    "timestamp_ns": "TIMESTAMP_NTZ(9)", "timestamptz_ns": "TIMESTAMP_LTZ(9)",
    "string": "VARCHAR(16777216)", "binary": "BINARY(8388608)", "uuid": "BINARY(16)",
}  # fmt: skip
_PLAIN = (None, "N", "N", None, None)  # no default, no key, no check, no expression

_NESTED = ("list", "struct", "map")
_CASTS = {"float": "DOUBLE", "uuid": "VARCHAR", "timestamp_ns": "TIMESTAMP"}


def described_columns(table: StaticTable) -> list[Row]:
    """The columns as DESCRIBE lists them."""
    return [
        (c.name, _type(c.field_type), "COLUMN", "N" if c.required else "Y", *_PLAIN, c.doc, None, None)
        for c in table.schema().fields
    ]


def select_of(cursor: Any, location: str) -> str:
    """The query that reads the table as of a metadata file."""
    scan = f"iceberg_scan({text(location)})"
    relation = cursor.sql(f"SELECT * FROM {scan}")
    columns = zip(relation.columns, relation.types, strict=True)
    return f"SELECT {', '.join(_shown(*column) for column in columns)} FROM {scan}"


def _type(kind: IcebergType) -> str:
    match kind:
        case DecimalType():
            return f"NUMBER({kind.precision},{kind.scale})"
        case FixedType():
            return f"BINARY({len(kind)})"
        case ListType():
            return f"ARRAY({_type(kind.element_type)})"
        case MapType():
            return f"MAP({_type(kind.key_type)}, {_type(kind.value_type)})"
        case StructType():
            return f"OBJECT({', '.join(f'{f.name} {_type(f.field_type)}' for f in kind.fields)})"
    return _TYPES.get(str(kind), "VARIANT")


def _shown(name: str, kind: Any) -> str:
    """One column of a view, under its own name; its kind is a `DuckDBPyType`."""
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
