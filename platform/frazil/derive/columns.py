"""Columns in Spark's words, and Spark's columns as the logical schema has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from frazil.errors import SpecError
from frazil.formats.logical import Decimal, Field, List, Map, Primitive, Struct, Type
from frazil.formats.types import from_iceberg, spark_type
from frazil.quoting import quoted

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType

__all__ = ["cast", "fields_of", "types_in", "types_of"]

_PRIMITIVES = {
    "boolean": "boolean", "tinyint": "int", "smallint": "int", "int": "int", "bigint": "long",
    "float": "float", "double": "double", "string": "string", "binary": "binary", "date": "date",
    "timestamp_ntz": "timestamp", "timestamp": "timestamptz",
}  # fmt: skip


def fields_of(rows: DataFrame) -> tuple[Field, ...]:
    """The columns of some rows, all optional: what is missing in one input is null.

    Raises:
        SpecError: A column has a type that no table has.
    """
    return tuple(Field(f.name, _type(f.dataType, f.name), optional=True) for f in rows.schema.fields)


def types_of(table: Table) -> dict[str, str]:
    """The columns of a table in their order, with Spark's types."""
    return {field.name: spark_type(field.type) for field in from_iceberg(table.schema())}


def types_in(rows: DataFrame) -> dict[str, str]:
    """The same of rows that Spark knows; raises as `fields_of` does."""
    return {field.name: spark_type(field.type) for field in fields_of(rows)}


def cast(rows: DataFrame, types: Mapping[str, str]) -> DataFrame:
    """The same rows with the columns of a table, in its order and its types; null where one is missing."""
    there = set(rows.columns)
    return rows.selectExpr(
        *(
            f"CAST({quoted(name) if name in there else 'NULL'} AS {kind}) AS {quoted(name)}"
            for name, kind in types.items()
        )
    )


def _type(kind: DataType, at: str) -> Type:
    from pyspark.sql import types as t

    match kind:
        case t.StructType():
            fields = (Field(f.name, _type(f.dataType, f"{at}.{f.name}"), optional=True) for f in kind.fields)
            return Struct(tuple(fields))
        case t.ArrayType():
            return List(_type(kind.elementType, f"{at}[]"), element_optional=True)
        case t.MapType():
            return Map(_type(kind.keyType, at), _type(kind.valueType, f"{at}{{}}"), value_optional=True)
        case t.DecimalType():
            return Decimal(kind.precision, kind.scale)
    if word := _PRIMITIVES.get(kind.simpleString()):
        return Primitive(word)  # type: ignore[arg-type]
    raise SpecError(
        f"Column {at} is of type {kind.simpleString()}, which no table has.",
        meaning="Nothing was derived.",
        todo="CAST it in the query.",
    )
