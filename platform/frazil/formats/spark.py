"""Logical types in Spark's words, and how formats reach into Spark; imports little, for its workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from inspect import signature
from typing import TYPE_CHECKING, Any

from frazil.formats.logical import Decimal, Fixed, List, Map, Primitive, Struct, Type
from frazil.quoting import quoted

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column

__all__ = ["arrow_function", "arrow_type", "first_of", "spark_type"]

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
    """Spark's Arrow type; nothing in it is required."""
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


def arrow_function(work: Callable[[Any], Any], returns: str, *, batches: bool = False) -> Any:
    """A function of one column, by PySpark.

    PySpark asks for annotations and warns where it is told the kind in another way; those of our own
    modules are texts, which it can't resolve where pyarrow is imported inside functions.

    Args:
        work: Takes an array and gives one; or an iterator of both.
        returns: The type of the result, in Spark's words.
        batches: Whether it takes an iterator.
    """
    import pyarrow as pa
    from pyspark.sql.pandas.functions import arrow_udf

    kind: Any = Iterator[pa.Array] if batches else pa.Array
    work.__annotations__ = {**dict.fromkeys(signature(work).parameters, kind), "return": kind}
    make: Any = arrow_udf  # its own types know the discouraged way only
    return make(work, returns)


def first_of(branches: Sequence[tuple[Column, Column]]) -> Column:
    """The value of the first branch whose condition holds."""
    from pyspark.sql import functions as F

    first, *rest = branches
    return reduce(lambda c, b: c.when(*b), rest, F.when(*first))
