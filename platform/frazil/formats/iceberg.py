"""Logical schema to and from Iceberg's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

from frazil.formats.logical import Decimal, Field, Fixed, List, Map, Primitive, Struct, Type, with_fields

if TYPE_CHECKING:
    from pyiceberg.schema import Schema
    from pyiceberg.types import IcebergType, NestedField

__all__ = ["as_stored", "from_iceberg", "iceberg_type", "to_iceberg"]


def to_iceberg(fields: Iterable[Field]) -> Schema:
    """A new table's schema, with fresh field ids in order."""
    from pyiceberg.schema import Schema

    return Schema(*_nested(tuple(fields), count(1)))


def iceberg_type(kind: Type, ids: Iterator[int]) -> IcebergType:
    """Iceberg's type; nested fields take their ids from `ids`."""
    from pyiceberg import types as t

    match kind:
        case Struct():
            return t.StructType(*_nested(kind.fields, ids))
        case List():
            return t.ListType(next(ids), iceberg_type(kind.element, ids), not kind.element_optional)
        case Map():
            key, value = _nested(kind.fields, ids)
            return t.MapType(
                key.field_id, key.field_type, value.field_id, value.field_type, not kind.value_optional
            )
        case Decimal():
            return t.DecimalType(kind.precision, kind.scale)
        case Fixed():
            return t.BinaryType()  # a wrong length in a fixed column would fail the whole job
        case Primitive():
            return _primitives()[kind.kind]


def from_iceberg(schema: Schema) -> Struct:
    """The logical schema of an existing table."""
    return Struct(_fields(schema.fields))


def as_stored(fields: Iterable[Field]) -> tuple[Field, ...]:
    """Fields with the types that a table gives back: it holds a fixed as binary."""
    return tuple(replace(f, type=_stored(f.type)) for f in fields)


def _stored(kind: Type) -> Type:
    return Primitive("binary") if isinstance(kind, Fixed) else with_fields(kind, as_stored(kind.fields))


def _nested(fields: tuple[Field, ...], ids: Iterator[int]) -> list[NestedField]:
    """Ids of one level come before those of the next."""
    from pyiceberg.types import NestedField

    own = [next(ids) for _ in fields]
    return [
        NestedField(i, f.name, iceberg_type(f.type, ids), required=not f.optional, doc=f.doc or None)
        for i, f in zip(own, fields, strict=True)
    ]


def _fields(fields: Iterable[NestedField]) -> tuple[Field, ...]:
    return tuple(Field(f.name, _logical(f.field_type), not f.required, f.doc or "") for f in fields)


def _logical(kind: IcebergType) -> Type:
    from pyiceberg import types as t

    match kind:
        case t.StructType():
            return Struct(_fields(kind.fields))
        case t.ListType():
            return List(_logical(kind.element_type), not kind.element_required)
        case t.MapType():
            return Map(_logical(kind.key_type), _logical(kind.value_type), not kind.value_required)
        case t.DecimalType():
            return Decimal(kind.precision, kind.scale)
        case t.FixedType():
            return Fixed(len(kind))
        case _:
            return Primitive({v: k for k, v in _primitives().items()}[kind])  # type: ignore[arg-type]


def _primitives() -> dict[str, IcebergType]:
    from pyiceberg import types as t

    return {
        "boolean": t.BooleanType(), "int": t.IntegerType(), "long": t.LongType(),
        "float": t.FloatType(), "double": t.DoubleType(), "string": t.StringType(),
        "binary": t.BinaryType(), "date": t.DateType(), "timestamp": t.TimestampType(),
        "timestamptz": t.TimestamptzType(), "uuid": t.UUIDType(),
    }  # fmt: skip
