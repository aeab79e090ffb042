"""Iceberg's types as Snowflake shows them (docs.snowflake.com, "Data types for Iceberg tables")."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyiceberg.types import IcebergType

__all__ = ["snowflake_type"]

_SHOWN = {
    "boolean": "BOOLEAN", "int": "NUMBER(10,0)", "long": "NUMBER(19,0)", "float": "FLOAT",
    "double": "FLOAT", "date": "DATE", "time": "TIME(6)", "timestamp": "TIMESTAMP_NTZ(6)",
    "timestamptz": "TIMESTAMP_LTZ(6)", "timestamp_ns": "TIMESTAMP_NTZ(9)",
    "timestamptz_ns": "TIMESTAMP_LTZ(9)", "string": "VARCHAR", "binary": "BINARY",
    "uuid": "BINARY(16)", "variant": "VARIANT",
}  # fmt: skip


def snowflake_type(kind: IcebergType) -> str:
    """The type of a column of an Iceberg table in Snowflake."""
    from pyiceberg import types as t

    match kind:
        case t.StructType():
            fields = ", ".join(f"{f.name} {snowflake_type(f.field_type)}" for f in kind.fields)
            return f"OBJECT({fields})"
        case t.ListType():
            return f"ARRAY({snowflake_type(kind.element_type)})"
        case t.MapType():
            return f"MAP({snowflake_type(kind.key_type)}, {snowflake_type(kind.value_type)})"
        case t.DecimalType():
            return f"NUMBER({kind.precision},{kind.scale})"
        case t.FixedType():
            return f"BINARY({len(kind)})"
        case _:
            return _SHOWN.get(str(kind), str(kind).upper())
