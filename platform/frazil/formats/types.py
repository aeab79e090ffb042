"""Logical types in the words of Iceberg, Spark and Arrow. Imports little, for Spark's workers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from inspect import signature
from itertools import count
from typing import TYPE_CHECKING, Any

from frazil.formats.logical import (
    Decimal,
    Field,
    Fixed,
    List,
    Map,
    Primitive,
    Struct,
    Type,
    stored,
    with_fields,
)
from frazil.quoting import quoted

if TYPE_CHECKING:
    import pyarrow as pa
    from pyiceberg.schema import Schema
    from pyiceberg.types import IcebergType, NestedField

_WORDS = {
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
            return str(kind)
        case Fixed():
            return "binary"
        case Primitive():
            return _WORDS[kind.kind]


def arrow_type(kind: Type) -> pa.DataType:
    """The Arrow type that Spark uses; nothing in it is required."""
    import pyarrow as pa

    match kind:
        case Struct():
            return pa.struct([pa.field(f.name, arrow_type(f.type)) for f in kind])
        case List():
            return pa.list_(arrow_type(kind.element))
        case Map():
            return pa.map_(arrow_type(kind.key), arrow_type(kind.value))
        case Decimal():
            return pa.decimal128(kind.precision, kind.scale)
        case Fixed():
            return pa.binary()
        case Primitive():
            return _arrow_primitives()[kind.kind]


def _arrow_primitives() -> dict[str, pa.DataType]:
    import pyarrow as pa

    return {
        "boolean": pa.bool_(), "int": pa.int32(), "long": pa.int64(), "float": pa.float32(),
        "double": pa.float64(), "string": pa.string(), "uuid": pa.string(), "binary": pa.binary(),
        "date": pa.date32(), "timestamp": pa.timestamp("us"), "timestamptz": pa.timestamp("us", tz="UTC"),
    }  # fmt: skip


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
            return t.BinaryType()
        case Primitive():
            return t.PrimitiveType.model_validate(kind.kind)


def from_iceberg(schema: Schema) -> Struct:
    """The logical schema of an existing table."""
    return Struct(_fields(schema.fields))


def as_stored(fields: Iterable[Field]) -> tuple[Field, ...]:
    """Fields with the types that a table gives back: it holds a fixed as binary."""
    return tuple(replace(f, type=_stored(f.type)) for f in fields)


def _stored(kind: Type) -> Type:
    return with_fields(stored(kind), as_stored(kind.fields))


def _nested(fields: tuple[Field, ...], ids: Iterator[int]) -> list[NestedField]:
    """Iceberg's fields; ids of one level come before those of the next."""
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
            return Primitive(str(kind))  # type: ignore[arg-type]


def arrow_function(work: Callable[[Any], Any], returns: str, *, batches: bool = False) -> Any:
    """A function of one column, of arrays or, if `batches`, of iterators of arrays; `returns` is Spark's DDL.

    PySpark asks for annotations and warns where it is told the kind in another way; those of our own
    modules are texts, which it can't resolve where pyarrow is imported inside functions.
    """
    import pyarrow as pa
    from pyspark.sql.pandas.functions import arrow_udf

    kind: Any = Iterator[pa.Array] if batches else pa.Array
    work.__annotations__ = {**dict.fromkeys(signature(work).parameters, kind), "return": kind}
    make: Any = arrow_udf  # its own types know the discouraged way only
    return make(work, returns)
