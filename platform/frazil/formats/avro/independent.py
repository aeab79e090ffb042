"""The columns of an Avro record by fastavro: what a table must hold, said by a decoder that lands nothing.

fastavro reads the bytes by the writer's schema without logical types; what they become is said here
once more, in the words of Avro's specification.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Context, Decimal
from typing import Any

from frazil.formats.avro.schemas.exact import BOOLEAN
from frazil.formats.avro.schemas.pairs import real, takers, written
from frazil.formats.bare import Bare, Unknown
from frazil.formats.batches.zoned import ZONED
from frazil.formats.logical import List, Map, Primitive, Struct, Type

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROS = {"millis": 1000, "micros": 1}
_EXACT = Context(prec=10_000)


def columns_of_record(writer: Any, reader: Any, columns: Struct, value: dict[str, Any]) -> Bare:
    """The columns that a record becomes.

    Args:
        writer: The tree that it was read with.
        reader: The one that it is resolved to.
        columns: The table's.
        value: As `fastavro.schemaless_reader` gives it, with the names of named types.
    """
    values_by_name = {}
    for (field, source), column in zip(written(reader, writer), columns, strict=True):
        if source is not None:
            values_by_name[column.name] = _value(
                source["type"], field["type"], column.type, value[source["name"]]
            )
        elif field.get("default") is None:
            values_by_name[column.name] = None
        else:
            values_by_name[column.name] = Unknown("a default")
    return values_by_name


def _value(writer: Any, reader: Any, wanted: Type, value: Any) -> Any:
    if value is None:
        return None
    ones, others = real(writer), real(reader)
    place, inner = _branch(writer, ones, value)
    if place is None:
        return Unknown("a branch of a union that its value does not tell")
    taker = takers(ones, others)[place]
    if len(others) == 1:
        return _plain(ones[place], taker, wanted, inner)
    assert isinstance(wanted, Struct)
    chosen = next(n for n, other in enumerate(others) if other is taker)
    return {
        own.name: _plain(ones[place], taker, own.type, inner) if n == chosen else None
        for n, own in enumerate(wanted)
    }


def _branch(writer: Any, ones: list[Any], value: Any) -> tuple[int | None, Any]:
    """The branch of a union that a value is of, and the value without its name."""
    if not isinstance(writer, list):
        return 0, value
    if isinstance(value, tuple):
        named = [n for n, one in enumerate(ones) if one["type"] in ("record", "enum", "fixed")]
        fitting = [n for n in named if _is_called(ones[n], value[0])] if len(named) > 1 else named
        return (fitting[0], value[1]) if len(fitting) == 1 else (None, None)
    fitting = [n for n, one in enumerate(ones) if isinstance(value, _PYTHON.get(one["type"], ()))]
    return (fitting[0], value) if len(fitting) == 1 else (None, None)


_PYTHON: dict[str, type | tuple[type, ...]] = {
    "boolean": bool, "int": int, "long": int, "float": float, "double": float, "string": str, "bytes": bytes,
    "enum": str, "fixed": bytes, "record": dict, "array": list, "map": dict,
}  # fmt: skip


def _is_called(node: dict[str, Any], name: str) -> bool:
    """Names without a namespace are written with one of Frazil's own; twins get an underscore."""
    own: str = node["name"]
    return name == own or (name.startswith("frazil") and name.rpartition(".")[2].rstrip("_") == own)


def _plain(one: dict[str, Any], other: dict[str, Any], wanted: Type, value: Any) -> Any:
    """A value that is no union, in its column's type."""
    if "json" in one:
        return Unknown("a text in the place of what no column holds")
    if isinstance(value, tuple):
        value = value[1]
    match wanted:
        case Struct() if one["type"] == "record":
            return columns_of_record(one, other, wanted, value)
        case List():
            return [_value(one["items"], other["items"], wanted.element, v) for v in value]
        case Map() if one["type"] == "map":
            return [(k, _value(one["values"], other["values"], wanted.value, v)) for k, v in value.items()]
        case Map():
            return [_entry(one["items"], other["items"], wanted, v) for v in value]
        case _:
            return _scalar(one, other, wanted, value)


def _entry(one: Any, other: Any, wanted: Map, value: dict[str, Any]) -> tuple[Any, Any]:
    types = [{f["name"]: f["type"] for f in node["fields"]} for node in (one, other)]
    key, item = (
        _value(types[0][part], types[1][part], kind, value[part])
        for part, kind in (("key", wanted.key), ("value", wanted.value))
    )
    return key, item


def _scalar(one: dict[str, Any], other: dict[str, Any], wanted: Type, value: Any) -> Any:
    logical = str(one.get("logicalType", ""))
    if one == BOOLEAN:
        return value == b"\1"
    if logical == "decimal":
        return Decimal(int.from_bytes(value, "big", signed=True)).scaleb(-one["scale"], _EXACT)
    if one["type"] == "enum" and value not in other.get("symbols", [value]):
        return other.get("default")
    if logical == ZONED:
        return (datetime.fromisoformat(value) - _EPOCH) // timedelta(microseconds=1)
    if isinstance(value, int) and wanted != Primitive("string"):
        return _number(logical, wanted, value)
    if isinstance(value, bytes) and wanted == Primitive("string"):
        return value.decode()
    return value.encode() if isinstance(value, str) and wanted == Primitive("binary") else value


def _number(logical: str, wanted: Type, value: int) -> int:
    family, _, unit = logical.rpartition("-")
    counted = family in ("time", "timestamp", "local-timestamp")
    if not counted or wanted not in (Primitive("long"), Primitive("timestamp"), Primitive("timestamptz")):
        return value
    return value // 1000 if unit == "nanos" else value * _MICROS[unit]
