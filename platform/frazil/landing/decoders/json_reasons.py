"""Why a JSON record is bad: by Python's parser and jsonschema-rs, which share nothing with Spark."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from frazil.landing.decoders.json_strict import validator
from frazil.landing.decoders.json_unfit import Repeated, unfit
from frazil.landing.decoders.protocol import Reason
from frazil.schemas.json_nodes import Node
from frazil.schemas.registry import WriterSchema

__all__ = ["explained"]

_TYPES = frozenset({"type", "required", "enum", "const", "oneOf", "anyOf"})
"""Rules that every record is checked for; the others only where validation is strict."""
_CODES = {"const": "enum", "oneOf": "type", "anyOf": "type"}
"""Other words for a rule."""
_SPACE = " \t\r\n"


def explained(payload: bytes, writer: WriterSchema, node: Node, strict: bool) -> Reason:
    """Why a payload is bad.

    Args:
        payload: The JSON text, without header.
        writer: The schema that it was written with.
        node: The same, as columns.
        strict: Whether all of the schema's rules count.
    """
    try:
        text = payload.decode().lstrip(_SPACE)
    except UnicodeDecodeError as e:
        return "utf8", f"byte {e.start} of the text is not UTF-8"
    try:
        found, end = json.JSONDecoder(parse_constant=_no_constant).raw_decode(text)
        exact, _ = json.JSONDecoder(parse_float=Decimal, object_pairs_hook=Repeated).raw_decode(text)
    except (ValueError, RecursionError) as e:
        return "not_json", f"the text is no JSON: {e!s:.200}"
    if rest := text[end:].strip(_SPACE):
        return "trailing_bytes", f"{len(rest.encode())} bytes follow the value"
    return _reason(found, exact, writer, node, strict) or ("value", "a value does not fit its column")


def _reason(found: Any, exact: Any, writer: WriterSchema, node: Node, strict: bool) -> Reason | None:
    broken = _broken(found, writer, _TYPES) or unfit(node, exact)
    return broken or (_broken(found, writer, None) if strict else None)


def _broken(found: Any, writer: WriterSchema, rules: frozenset[str] | None) -> Reason | None:
    """The first rule that a value breaks, of those named or of all."""
    try:
        errors = list(validator(writer.text, writer.dependencies).iter_errors(found))
    except ValueError:
        return None  # half of a surrogate pair, or a schema that jsonschema-rs refuses
    for error in errors:
        name = error.kind.name
        if rules is None or (name in rules and "inf" not in str(error.instance)):
            path = ".".join(map(str, error.instance_path)) or "(root)"
            return _CODES.get(name, name), f"{path}: {error.message:.300}"
    return None


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")
