"""What an independent decoder says of JSON's bytes: Python's parser, jsonschema-rs, and what columns hold.

No required field may be null: where one is missing, a landing that checks types alone reads null.
"""

from __future__ import annotations

import base64
import json
from decimal import Decimal
from typing import Any

import jsonschema_rs

__all__ = ["KIND", "SCHEMA", "STRICTER", "decode", "encode"]

KIND = "JSON"
STRICTER = {
    "number_form": "integers with a fraction or an exponent, 1.0 and 1e2, are refused",
    "repeated_key": "Python takes the last value of a key that stands twice in a map",
}
"""Reason codes of records that Frazil refuses and this decoder reads, and why."""

_CONNECT = "org.apache.kafka.connect.data."
_INTEGER, _TEXT, _NULL = ({"type": t} for t in ("integer", "string", "null"))
_LEG = {
    "title": "Leg",
    "type": "object",
    "properties": {"km": {**_INTEGER, "connect.type": "int32"}, "to": {"oneOf": [_NULL, _TEXT]}},
    "required": ["km"],
}
_ENTRY = {"type": "object", "properties": {"key": _TEXT, "value": _INTEGER}, "required": ["key", "value"]}
_FIELDS: dict[str, Any] = {
    "n": _INTEGER,
    "small": {**_INTEGER, "connect.type": "int16"},
    "note": _TEXT,
    "seen": {"type": "boolean"},
    "maybe": {"oneOf": [_NULL, _INTEGER]},
    "score": {"type": "number"},
    "colour": {"enum": ["RED", "GREEN", "BLUE"]},
    "blob": {"type": "string", "connect.type": "bytes"},
    "price": {
        "type": "number",
        "connect.type": "bytes",
        "title": f"{_CONNECT}Decimal",
        "connect.parameters": {"scale": "2", "connect.decimal.precision": "9"},
    },
    "day": {**_INTEGER, "connect.type": "int32", "title": f"{_CONNECT}Date"},
    "at": {**_INTEGER, "connect.type": "int64", "title": f"{_CONNECT}Timestamp"},
    "tags": {"type": "array", "items": _TEXT},
    "counts": {"type": "object", "additionalProperties": _INTEGER},
    "flags": {"type": "array", "connect.type": "map", "items": _ENTRY},
    "any": {"anyOf": [_NULL, _INTEGER, _TEXT, _LEG]},
    "legs": {"type": "array", "items": _LEG},
}
_REQUIRED = sorted(_FIELDS.keys() - {"maybe", "any"})
SCHEMA = {"title": "Journey", "type": "object", "properties": _FIELDS, "required": _REQUIRED}
"""A record with something of everything."""

_VALID = jsonschema_rs.validator_for(SCHEMA)
_LONG = 2**63


def encode(n: int, schema_id: int) -> bytes:
    """Record number n in the Confluent wire format."""
    return b"\0" + schema_id.to_bytes(4, "big") + json.dumps(_value(n), ensure_ascii=n % 2 == 0).encode()


def decode(payload: bytes) -> dict[str, Any] | None:
    """The row's value columns as `to_pylist` gives them, maps as dicts; None where the bytes are bad.

    Args:
        payload: What follows the wire format's header.
    """
    try:
        text = payload.decode()
        value = json.loads(text, parse_constant=_no_constant)
        exact = json.loads(text, parse_float=Decimal)
        return _row(value, exact) if _VALID.is_valid(value) else None
    except (ValueError, ArithmeticError, RecursionError):
        return None


def _value(n: int) -> dict[str, Any]:
    leg = {"km": n % 300, "to": None if n % 2 else f"město {n}"}
    return {
        "n": n * 7919,
        "small": n % 1000,
        "note": f'číslo {n} 🚋 "quoted"',
        "seen": n % 2 == 0,
        "maybe": None if n % 3 else n,
        "score": n / 7,
        "colour": ("RED", "GREEN", "BLUE")[n % 3],
        "blob": base64.b64encode(bytes(range(n % 20))).decode(),
        "price": n * 37 / 100,
        "day": n * 31,
        "at": n * 86_400_007,
        "tags": [f"tag{k}" for k in range(n % 4)],
        "counts": {f"k{k}": k * n for k in range(n % 3)},
        "flags": [{"key": f"f{k}", "value": k} for k in range(n % 3)],
        "any": (None, n % 1000, f"text {n}", leg)[n % 4],
        "legs": [leg] * (n % 3),
    }


def _row(value: dict[str, Any], exact: dict[str, Any]) -> dict[str, Any]:
    keys = [entry["key"] for entry in value["flags"]]
    if len(set(keys)) < len(keys):
        raise ValueError("an entry stands there twice")
    return _texts({
        "n": _whole(value["n"], _LONG),
        "small": _whole(value["small"], 2**15),
        "note": value["note"],
        "seen": value["seen"],
        "maybe": None if value.get("maybe") is None else _whole(value["maybe"], _LONG),
        "score": _finite(value["score"]),
        "colour": value["colour"],
        "blob": _binary(value["blob"]),
        "price": _price(Decimal(exact["price"])),
        "day": _whole(value["day"], 2**31),
        "at": _whole(_whole(value["at"], _LONG) * 1000, _LONG),
        "tags": value["tags"],
        "counts": {k: _whole(v, _LONG) for k, v in value["counts"].items()},
        "flags": {entry["key"]: _whole(entry["value"], _LONG) for entry in value["flags"]},
        "any": _branches(value.get("any")),
        "legs": [_leg(leg) for leg in value["legs"]],
    })  # fmt: skip


def _binary(text: str) -> bytes:
    raw = base64.b64decode(text, validate=True)
    if len(text) != (len(raw) + 2) // 3 * 4:
        raise ValueError("padding")
    return raw


def _branches(value: Any) -> dict[str, Any] | None:
    if value is None:
        return None
    return {
        "connect_union_field_0": _whole(value, _LONG) if isinstance(value, int | float) else None,
        "connect_union_field_1": value if isinstance(value, str) else None,
        "Leg": _leg(value) if isinstance(value, dict) else None,
    }


def _leg(leg: dict[str, Any]) -> dict[str, Any]:
    return {"km": _whole(leg["km"], 2**31), "to": leg.get("to")}


def _whole(value: float, limit: int) -> int:
    if not -limit <= value < limit:
        raise ValueError("out of range")
    return int(value)


def _finite(value: float) -> float:
    if abs(float(value)) == float("inf"):
        raise ValueError("beyond a double")
    return float(value)


def _price(value: Decimal) -> Decimal:
    cents = value.scaleb(2)
    if cents != cents.to_integral_value() or abs(cents) >= 10**9:
        raise ValueError("no price")
    return value.quantize(Decimal("0.01"))


def _texts(row: dict[str, Any]) -> dict[str, Any]:
    """The same row; half of a surrogate pair is no text."""
    json.dumps(row, ensure_ascii=False, default=str).encode()
    return row


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")
