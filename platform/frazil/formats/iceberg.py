"""Logical schema to and from Iceberg's, and to Spark's DDL."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count
from typing import TYPE_CHECKING

from frazil.formats.logical import Decimal, Field, Fixed, List, Map, Primitive, Struct, Type
from frazil.quoting import quoted

if TYPE_CHECKING:
    from pyiceberg.schema import Schema
    from pyiceberg.types import IcebergType

__all__ = ["from_iceberg", "iceberg_type", "spark_type", "to_iceberg"]


def to_iceberg(fields: Iterable[Field]) -> Schema:
    """A new table's schema, with fresh field ids in order."""
    from pyiceberg.schema import Schema
    from pyiceberg.types import NestedField

    fields, ids = list(fields), count(1)
    top = [next(ids) for _ in fields]
    return Schema(
        *(
            NestedField(i, f.name, iceberg_type(f.type, ids), required=not f.optional, doc=f.doc or None)
            for i, f in zip(top, fields, strict=True)
        )
    )


def iceberg_type(kind: Type, ids: Iterator[int]) -> IcebergType:
    """Iceberg's type; nested fields take their ids from `ids`."""
    from pyiceberg import types as t

    match kind:
        case Struct():
            top = [next(ids) for _ in kind.fields]
            return t.StructType(
                *(
                    t.NestedField(
                        i,
                        f.name,
                        iceberg_type(f.type, ids),
                        required=not f.optional,
                        doc=f.doc or None,
                    )
                    for i, f in zip(top, kind, strict=True)
                )
            )
        case List():
            return t.ListType(next(ids), iceberg_type(kind.element, ids), not kind.element_optional)
        case Map():
            key, value = next(ids), next(ids)
            return t.MapType(
                key, iceberg_type(kind.key, ids), value, iceberg_type(kind.value, ids),
                not kind.value_optional,
            )  # fmt: skip
        case Decimal():
            return t.DecimalType(kind.precision, kind.scale)
        case Fixed():
            return t.BinaryType()  # a wrong length in a fixed column would fail the whole job
        case Primitive():
            return _primitives()[kind.kind]


def _primitives() -> dict[str, IcebergType]:
    from pyiceberg import types as t

    return {
        "boolean": t.BooleanType(), "int": t.IntegerType(), "long": t.LongType(),
        "float": t.FloatType(), "double": t.DoubleType(), "string": t.StringType(),
        "binary": t.BinaryType(), "date": t.DateType(), "timestamp": t.TimestampType(),
        "timestamptz": t.TimestamptzType(), "uuid": t.UUIDType(),
    }  # fmt: skip


def from_iceberg(schema: Schema) -> Struct:
    """The logical schema of an existing table."""
    return _from_type(schema.as_struct())  # type: ignore[return-value]


def _from_type(kind: IcebergType) -> Type:
    from pyiceberg import types as t

    match kind:
        case t.StructType():
            return Struct(
                tuple(
                    Field(f.name, _from_type(f.field_type), not f.required, f.doc or "") for f in kind.fields
                )
            )
        case t.ListType():
            return List(_from_type(kind.element_type), not kind.element_required)
        case t.MapType():
            return Map(_from_type(kind.key_type), _from_type(kind.value_type), not kind.value_required)
        case t.DecimalType():
            return Decimal(kind.precision, kind.scale)
        case t.FixedType():
            return Fixed(len(kind))
        case _:
            return Primitive({v: k for k, v in _primitives().items()}[kind])  # type: ignore[arg-type]


_SPARK = {
    "boolean": "boolean", "int": "int", "long": "bigint", "float": "float", "double": "double",
    "string": "string", "binary": "binary", "date": "date", "timestamp": "timestamp_ntz",
    "timestamptz": "timestamp", "uuid": "string",
}  # fmt: skip


def spark_type(kind: Type) -> str:
    """The type in Spark's DDL."""
    match kind:
        case Struct():
            return f"struct<{','.join(f'{quoted(f.name)}:{spark_type(f.type)}' for f in kind)}>"
        case List():
            return f"array<{spark_type(kind.element)}>"
        case Map():
            return f"map<{spark_type(kind.key)},{spark_type(kind.value)}>"
        case Decimal():
            return f"decimal({kind.precision},{kind.scale})"
        case Fixed():
            return "binary"
        case Primitive():
            return _SPARK[kind.kind]
