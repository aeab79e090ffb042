"""Why a JSON record is bad: by Python's parser and jsonschema-rs, which share nothing with Spark."""

from __future__ import annotations

import json
from decimal import Decimal
from functools import cached_property
from typing import Any

from frazil.formats.json.nodes import Node
from frazil.formats.json.strict import validator_maker
from frazil.formats.json.unfit import Repeated, repeated, unfit
from frazil.formats.protocol import Reason, WriterSchema

__all__ = ["JsonReasons"]

_TYPES = frozenset({"type", "required", "enum", "const", "oneOf", "anyOf"})
"""Rules that every record is checked for; the others only where validation is strict."""
_CODES = {"const": "enum", "oneOf": "type", "anyOf": "type"}
"""Other words for a rule."""
_SPACE = " \t\r\n"


class JsonReasons:
    """Explains the bad records of one schema.

    Args:
        writer: The schema.
        node: The same, as columns.
        strict: Whether all of the schema's rules count.
    """

    def __init__(self, writer: WriterSchema, node: Node, strict: bool) -> None:
        self._writer, self._node, self._strict = writer, node, strict

    def explain(self, payload: bytes) -> Reason:
        """Why a payload, without header, is bad."""
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
        return self._of_value(found, exact) or ("value", "a value does not fit its column")

    def _of_value(self, found: Any, exact: Any) -> Reason | None:
        held = unfit(self._node, exact)
        if held and held[0] != "type":
            return held
        broken = self._broken(found, _TYPES) or held
        return broken or (self._broken(found, None) if self._strict else None) or repeated(exact)

    def _broken(self, found: Any, rules: frozenset[str] | None) -> Reason | None:
        """The first rule that a value breaks, of those named or of all."""
        try:
            errors = list(self._validator.iter_errors(found))
        except Exception:  # noqa: BLE001 - half of a surrogate pair, or a schema that it does not take
            return None
        for error in errors:
            name = error.kind.name
            if rules is None or name in rules:
                path = ".".join(map(str, error.instance_path)) or "(root)"
                return _CODES.get(name, name), f"{path}: {error.message:.300}"
        return None

    @cached_property
    def _validator(self) -> Any:
        return validator_maker()(self._writer.text, self._writer.dependencies)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")
