"""Why a JSON record is bad: by Python's parser and jsonschema-rs, which share nothing with Spark."""

from __future__ import annotations

import json
from typing import Any

from frazil.landing.decoders.json_strict import validator
from frazil.landing.decoders.protocol import Reason
from frazil.schemas.registry import WriterSchema

__all__ = ["explained"]

_CODES = {
    "type": "type", "required": "required", "enum": "enum", "const": "enum",
    "minimum": "range", "maximum": "range", "exclusiveMinimum": "range", "exclusiveMaximum": "range",
    "oneOf": "type", "anyOf": "type",
}  # fmt: skip
_FIRST = ("type", "required", "enum", "const", "oneOf", "anyOf")
"""What every record is checked for; the other rules only where validation is strict."""


def explained(payload: bytes, writer: WriterSchema, strict: bool) -> Reason:
    """Why a payload is bad.

    Args:
        payload: The JSON text, without header.
        writer: The schema that it was written with.
        strict: Whether all of the schema's rules count.
    """
    try:
        text = payload.decode()
    except UnicodeDecodeError as e:
        return "utf8", f"byte {e.start} of the text is not UTF-8"
    try:
        found, end = json.JSONDecoder(parse_constant=_no_constant).raw_decode(text.lstrip(" \t\r\n"))
    except (ValueError, RecursionError) as e:
        return "not_json", f"the text is no JSON: {e!s:.200}"
    if rest := text.lstrip(" \t\r\n")[end:].strip(" \t\r\n"):
        return "trailing_bytes", f"{len(rest.encode())} bytes follow the value"
    return _by_schema(found, writer, strict)


def _by_schema(found: Any, writer: WriterSchema, strict: bool) -> Reason:
    try:
        errors = list(validator(writer.text, writer.dependencies).iter_errors(found))
    except ValueError as e:
        return "value", f"a string or a number is out of range: {e!s:.200}"
    ranked = sorted(errors, key=lambda e: e.kind.name not in _FIRST)
    shown = [e for e in ranked if strict or e.kind.name in _FIRST]
    if shown:
        path = ".".join(map(str, shown[0].instance_path)) or "(root)"
        return _CODES.get(shown[0].kind.name, shown[0].kind.name), f"{path}: {shown[0].message:.300}"
    return "range", "a value is outside its column's type"


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")
