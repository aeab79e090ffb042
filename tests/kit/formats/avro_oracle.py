"""What an independent decoder says of Avro's bytes: fastavro, and that an int has 32 bits.

fastavro is looser than a landing in some things (any byte but 0 is true, a negative number of a symbol
counts from the end, a decimal that is too wide is rounded): such records must be dead letters.
"""

from __future__ import annotations

import io
from datetime import time
from decimal import Decimal
from typing import Any

import fastavro

__all__ = ["SCHEMA", "decode", "encode"]

_TIME = {"type": "int", "logicalType": "time-millis"}
_DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
_WIDE = {"type": "fixed", "name": "Wide", "size": 16, "logicalType": "decimal", "precision": 30, "scale": 5}
_LEG = {
    "type": "record",
    "name": "Leg",
    "fields": [{"name": "km", "type": "int"}, {"name": "to", "type": ["null", "string"]}],
}
_ENTRY = {
    "type": "record",
    "name": "Entry",
    "fields": [{"name": "key", "type": "string"}, {"name": "value", "type": "boolean"}],
}
_FIELDS: dict[str, Any] = {
    "n": "long",
    "note": "string",
    "seen": "boolean",
    "maybe": ["null", "int"],
    "colour": {"type": "enum", "name": "Colour", "symbols": ["RED", "GREEN", "BLUE"]},
    "mark": {"type": "fixed", "name": "Mark", "size": 4},
    "blob": "bytes",
    "price": _DECIMAL,
    "wide": _WIDE,
    "at": _TIME,
    "tags": {"type": "array", "items": "string"},
    "counts": {"type": "map", "values": "long"},
    "flags": {"type": "array", "items": _ENTRY, "logicalType": "map"},
    "any": ["null", "int", "string", _LEG],
    "legs": {"type": "array", "items": "Leg"},
}
SCHEMA = {
    "type": "record",
    "name": "Journey",
    "fields": [{"name": name, "type": kind} for name, kind in _FIELDS.items()],
}
"""A record with something of everything; no floating numbers, since NaN equals nothing."""

_PARSED = fastavro.parse_schema(dict(SCHEMA))
_INT = 2**31


def encode(n: int, schema_id: int) -> bytes:
    """Record number n in the Confluent wire format."""
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, _PARSED, _value(n))
    return b"\0" + schema_id.to_bytes(4, "big") + stream.getvalue()


def decode(payload: bytes) -> dict[str, Any] | None:
    """The row's value columns as `to_pylist` gives them, maps as dicts; None where the bytes are bad.

    Args:
        payload: What follows the wire format's header.
    """
    stream = io.BytesIO(payload)
    try:
        value = fastavro.schemaless_reader(stream, _PARSED, None, return_record_name=True)
        row = _row(value)
    except Exception:  # noqa: BLE001 - damaged bytes make it raise anything
        return None
    return row if stream.tell() == len(payload) else None


def _value(n: int) -> dict[str, Any]:
    leg = {"km": n % 300, "to": None if n % 2 else f"město {n}"}
    return {
        "n": n * 7919,
        "note": f"číslo {n} 🚋",
        "seen": n % 2 == 0,
        "maybe": None if n % 3 else n,
        "colour": ("RED", "GREEN", "BLUE")[n % 3],
        "mark": (n * 65537 % 2**32).to_bytes(4, "big"),
        "blob": bytes(range(n % 20)),
        "price": Decimal(n * 37 % 10**9).scaleb(-2),
        "wide": Decimal(n * 10**18 + n).scaleb(-5),
        "at": time(n % 24, n % 60, 7, n % 1000 * 1000),
        "tags": [f"tag{k}" for k in range(n % 4)],
        "counts": {f"k{k}": k * n for k in range(n % 3)},
        "flags": [{"key": f"f{k}", "value": k % 2 == 1} for k in range(n % 3)],
        "any": (None, n % 1000, f"text {n}", {**leg, "-type": "Leg"})[n % 4],
        "legs": [leg] * (n % 3),
    }


def _row(value: dict[str, Any]) -> dict[str, Any]:
    clock = value["at"]
    micros = ((clock.hour * 60 + clock.minute) * 60 + clock.second) * 1_000_000 + clock.microsecond
    return {
        **value,
        "maybe": _int(value["maybe"]),
        "at": micros,
        "flags": {entry["key"]: entry["value"] for entry in value["flags"]},
        "any": _branches(value["any"]),
        "legs": [_leg(leg) for leg in value["legs"]],
    }


def _branches(value: Any) -> dict[str, Any] | None:
    if value is None:
        return None
    number = _int(value) if isinstance(value, int) else None
    text = value if isinstance(value, str) else None
    return {"int": number, "string": text, "Leg": _leg(value[1]) if isinstance(value, tuple) else None}


def _leg(leg: dict[str, Any]) -> dict[str, Any]:
    return {**leg, "km": _int(leg["km"])}


def _int(value: int | None) -> int | None:
    if value is not None and not -_INT <= value < _INT:
        raise ValueError("more than 32 bits")
    return value
