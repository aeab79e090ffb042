"""The columns of a query of Spark's, as a table would have them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil.errors import SpecError
from frazil.formats.logical import Decimal, Field, List, Map, Primitive, Struct, Type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType

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
        meaning="Nothing was written.",
        todo="CAST it in the query.",
    )
