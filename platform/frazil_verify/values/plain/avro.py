"""Avro's values without parts as canonical ones; what is no value of its type makes a bad record.

Source: docs/types.md, "What a value may be". fastavro takes some of these on trust, as Java does.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from frazil_verify.table.canonical import number
from frazil_verify.values.bad import BadRecordError, NotComparedError
from frazil_verify.values.plain.decimals import fitted, unscaled, written
from frazil_verify.values.plain.iso import zoned_moment

Convert = Callable[[Any], Any]
_DAY = {"time-millis": 86_400_000, "time-micros": 86_400_000_000}
_MOMENT_BITS = 63
ZONED = "debezium-zoned"
"""As if Avro had a logical type for a moment with its zone that is written as text."""


class MisfitError(NotComparedError):
    """No value of the writer's type fits the column: all records of this version are bad."""


def plain(node: Any, kind: str, want: Any) -> Convert:
    """What turns a value into the wanted type; None is wanted where only the value itself is judged.

    Raises:
        NotComparedError: This verifier does not know how.
        MisfitError: No value of the one type is one of the other.
    """
    logical = str(node.get("logicalType")) if isinstance(node, dict) else ""
    judged = partial(_symbol, node["symbols"]) if kind == "enum" else _judged(kind, logical)
    if want is None or kind == "null":
        return nothing if judged is None else lambda value: nothing(judged(value))
    convert = _converted(node, kind, logical, want)
    if judged is None or convert is itself:
        return judged or convert
    return lambda value: convert(judged(value))


def as_read(node: Any, kind: str, default: Any) -> Any:
    """A default as fastavro reads values of its type here."""
    if kind == "enum":
        return node["symbols"].index(default)
    if kind == "boolean":
        return b"\1" if default else b"\0"
    return float(default) if kind in ("float", "double") else default


def _judged(kind: str, logical: str) -> Convert | None:
    """What refuses a value that is none of its type; nothing where all are."""
    if kind == "boolean":
        return _boolean
    if kind == _OF_TIMES.get(logical):
        return lambda value: _within(value, 0, _DAY[logical])
    return _int if kind == "int" else None


def _converted(node: Any, kind: str, logical: str, want: Any) -> Convert:
    if not isinstance(want, str):
        raise NotComparedError(f"Avro's {logical or kind} as {want}")
    if logical == "decimal" and kind in ("bytes", "fixed") and want != "binary":
        return _decimal(node.get("scale", 0), want)
    scale = _MICROS.get((kind, logical), 1)
    if want in _TAKES.get(kind, ()) or want in _MOMENTS.get((kind, logical), ()):
        return (
            number if kind in ("float", "double") else (lambda v: _long(v * scale)) if scale > 1 else itself
        )
    if (kind, logical, want) == ("string", ZONED, "timestamptz"):
        return zoned_moment
    if (kind, want) in _LOSSY:
        return lambda value: _exactly(value, want)
    if want == "string" and kind in ("int", "long") and not logical:
        return str
    if kind in _NO_NUMBERS and want in _NUMBERS:
        raise MisfitError(f"Avro's {logical or kind} as {want}")
    raise NotComparedError(f"Avro's {logical or kind} as {want}")


def _decimal(scale: int, want: str) -> Convert:
    if want == "string":
        return lambda value: written(unscaled(value), scale)
    if not want.startswith("decimal("):
        raise NotComparedError(f"a decimal as {want}")
    return lambda value: fitted(unscaled(value), scale, want)


def _symbol(symbols: Sequence[str], number: int) -> str:
    if not 0 <= number < len(symbols):
        raise BadRecordError("no symbol of its enum")
    return symbols[number]


def _boolean(value: bytes) -> bool:
    if value == b"\1":
        return True
    if value == b"\0":
        return False
    raise BadRecordError("a byte that is no boolean")


def _int(value: int) -> int:
    if -2_147_483_648 <= value <= 2_147_483_647:
        return value
    raise BadRecordError("a number of more than 32 bits")


def _within(value: int, least: int, most: int) -> int:
    if not least <= value <= most:
        raise BadRecordError("a number out of the range of its type")
    return value


def _long(value: int) -> int:
    return _within(value, -(2**_MOMENT_BITS), 2**_MOMENT_BITS - 1)


def _exactly(value: int, want: str) -> float:
    form = "f" if want == "float" else "d"
    (near,) = struct.unpack(form, struct.pack(form, value))
    if int(near) != value:
        raise BadRecordError(f"a number that no {want} holds")
    return float(near)


def itself(value: Any) -> Any:
    """The value, for it is canonical as it was read."""
    return value


def nothing(_: Any) -> None:
    """Null, whatever was read."""
    return


_OF_TIMES = {"time-millis": "int", "time-micros": "long"}
_TAKES = {
    "boolean": ("boolean",),
    "int": ("int", "long"),
    "long": ("long",),
    "float": ("float", "double"),
    "double": ("double",),
    "string": ("string",),
    "enum": ("string",),
    "bytes": ("binary",),
    "fixed": ("binary",),
}
_LOSSY = {("int", "float"), ("int", "double"), ("long", "float"), ("long", "double")}
_NO_NUMBERS = ("boolean", "string")
_NUMBERS = ("int", "long", "float", "double")
_MOMENTS = {
    ("int", "date"): ("date",),
    ("long", "timestamp-millis"): ("timestamptz",),
    ("long", "timestamp-micros"): ("timestamptz",),
    ("long", "local-timestamp-millis"): ("timestamp",),
    ("long", "local-timestamp-micros"): ("timestamp",),
}
_MICROS: Mapping[tuple[str, str], int] = {
    ("int", "time-millis"): 1000,
    ("long", "timestamp-millis"): 1000,
    ("long", "local-timestamp-millis"): 1000,
}
