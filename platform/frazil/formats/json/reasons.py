"""Why a JSON record is bad: by Python's parser and jsonschema-rs, which share nothing with Spark."""

from __future__ import annotations

import base64
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal, InvalidOperation
from functools import cached_property
from typing import Any

from frazil.formats import logical
from frazil.formats.batches.local import ARE_ISO
from frazil.formats.json.nodes import Branches, Entries, Items, Members, Node, Pairs, Scalar, is_text
from frazil.formats.paths import member_path
from frazil.formats.protocol import Reason, WriterSchema

_TYPES = frozenset({"type", "required", "enum", "const", "oneOf", "anyOf"})
"""Rules that every record is checked for; the others only where validation is strict."""
_CODES = {"const": "enum", "oneOf": "type", "anyOf": "type"}  # rules that are told by another word
_SPACE = " \t\r\n"
_BASE64 = re.compile("[A-Za-z0-9+/]*={0,2}")
_PLAIN = {"string": str, "boolean": bool}
_LONG = (-(2**63), 2**63 - 1)
_INFINITY = {"float": Decimal(2**128 - 2**103), "double": Decimal(2**1024 - 2**970)}
"""The smallest numbers that would be rounded to infinity."""


class JsonReasons:
    """Explains the bad records of one schema, by all of its rules where `strict`."""

    def __init__(self, writer: WriterSchema, node: Node, strict: bool) -> None:
        self._writer, self._node, self._strict = writer, node, strict

    def explain(self, payload: bytes) -> Reason:
        """Why a payload, without header, is bad."""
        try:
            text = payload.decode().lstrip(_SPACE)
        except UnicodeDecodeError as e:
            return "utf8", f"byte {e.start} of the text is not UTF-8"
        try:
            value, end = json.JSONDecoder(parse_constant=_no_constant).raw_decode(text)
            exact, _ = json.JSONDecoder(parse_float=exact_number, object_pairs_hook=Repeated).raw_decode(text)
        except (ValueError, RecursionError) as e:
            return "not_json", f"the text is no JSON: {e!s:.200}"
        if rest := text[end:].strip(_SPACE):
            return "trailing_bytes", f"{len(rest.encode())} bytes follow the value"
        try:
            return self._of_value(value, exact) or ("value", "a value does not fit its column")
        except RecursionError:
            return "not_json", "the text is nested too deeply"

    def _of_value(self, value: Any, exact: Any) -> Reason | None:
        reason = fault(self._node, exact)
        if reason and reason[0] != "type":
            return reason
        broken = self._broken(value, _TYPES) or reason
        return broken or (self._broken(value, None) if self._strict else None) or repeated(exact)

    def _broken(self, value: Any, rules: frozenset[str] | None) -> Reason | None:
        """The first rule that a value breaks: one of those named, or any."""
        try:
            errors = list(self._validator.iter_errors(value))
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


def exact_number(text: str) -> Decimal:
    """A number as it is written; an exponent that no Decimal has makes it zero, or infinite."""
    try:
        return Decimal(text)
    except InvalidOperation:
        return Decimal(float(text))


class Repeated(dict[str, Any]):
    """An object from `json.loads`; `again` is a key that stood there twice, if any."""

    def __init__(self, pairs: Iterable[tuple[str, Any]]) -> None:
        given = list(pairs)
        super().__init__(given)
        self.again = next((k for k, n in Counter(k for k, _ in given).items() if n > 1), None)


def fault(node: Node, value: Any, path: str = "") -> Reason | None:
    """Why the first value that its column can't hold is bad; objects are `Repeated`, fractions Decimal."""
    return next(_reasons(node, value, path), None)


def repeated(value: Any) -> Reason | None:
    """The reason where a key stands twice in an object, at any depth."""
    if isinstance(value, Repeated) and value.again is not None:
        return "repeated_key", f"the key {value.again!r} stands there twice"
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return next((reason for each in inner if (reason := repeated(each))), None)


def halved(value: Any) -> Reason | None:
    """The reason where a text, at any depth, holds half of a surrogate pair."""
    if isinstance(value, str):
        return None if is_text(value) else ("utf8", "half of a surrogate pair is no character")
    inner = [*value, *value.values()] if isinstance(value, dict) else value if isinstance(value, list) else ()
    return next((reason for each in inner if (reason := halved(each))), None)


def _reasons(node: Node, value: Any, path: str) -> Iterator[Reason]:
    match node, value:
        case _, None:
            return
        case Scalar(wire="json"), _:
            if reason := repeated(value) or halved(value):
                yield reason
        case Scalar(), _:
            yield from ((code, f"{path or '(root)'}: {why}") for code, why in _scalar(node, value))
        case Branches(), _:
            yield from _union(node, value, path or "(root)")
        case Pairs(), list():
            yield from _pairs(node, value, path)
        case Entries(), Repeated() if value.again is not None:
            yield "repeated_key", f"{path}: the key {value.again!r} stands there twice"
        case (Items(), list()) | ((Entries() | Members()), dict()):
            for inner, each, at in _within(node, value, path):
                yield from _reasons(inner, each, at)
        case _:
            yield "type", f"{path or '(root)'}: {value!s:.100} is of another type"


def _union(node: Branches, value: Any, path: str) -> Iterator[Reason]:
    if reason := repeated(value):
        yield reason
    reasons = [fault(m.node, value, path) for m in node.members]
    bad = [r for r in reasons if r]
    if len(bad) == len(reasons):
        yield next((r for r in bad if r[0] != "type"), ("type", f"{path}: no type of the union holds it"))


def _within(node: Node, value: Any, path: str) -> list[tuple[Node, Any, str]]:
    """The parts of a list or an object, and their paths."""
    match node, value:
        case Items(), list():
            return [(node.element, each, f"{path}[{i}]") for i, each in enumerate(value)]
        case Entries(), dict():
            return [(node.value, each, member_path(path, key)) for key, each in value.items()]
        case Members(), dict():
            return [(m.node, value.get(m.key), member_path(path, m.key)) for m in node.members]
    return []


def _pairs(node: Pairs, entries: list[Any], path: str) -> Iterator[Reason]:
    keys = [e.get("key") for e in entries if isinstance(e, dict)]
    if None in keys:
        yield "repeated_key", f"{path}: an entry has no key"
    if len({repr(k) for k in keys}) < len(keys):
        yield "repeated_key", f"{path}: a key stands there twice"
    for i, entry in enumerate(e for e in entries if isinstance(e, dict)):
        yield from _reasons(node.key, entry.get("key"), f"{path}[{i}].key")
        yield from _reasons(node.value, entry.get("value"), f"{path}[{i}].value")


def _scalar(node: Scalar, value: Any) -> Iterator[Reason]:
    match node.wire:
        case "string" if isinstance(value, str) and not is_text(value):
            yield "utf8", "half of a surrogate pair is no character"
        case "float" | "double" if isinstance(value, int | Decimal):
            if not Decimal(value).copy_abs() < _INFINITY[node.wire]:
                yield "range", f"{value!s:.100} is beyond a {node.wire}"
        case "number" | "digits" if isinstance(value, int | Decimal):
            yield from _exact(node, Decimal(value))
        case "base64" | "base64_number" | "base64_digits" if isinstance(value, str):
            yield from _binary(node, value)
        case "integer" | "days" | "time_millis" | "millis" | "local_millis" | "local_micros":
            yield from _integer(node, value)
        case "zoned" | "local" | "day" if isinstance(value, str):
            yield from _iso(node.wire, value)
        case "string" | "boolean" if isinstance(value, _PLAIN[node.wire]):
            return
        case wire:
            yield "type", f"{value!s:.100} is no {wire}"


def _integer(node: Scalar, value: Any) -> Iterator[Reason]:
    low, high = node.bounds or _LONG
    if isinstance(value, Decimal):
        yield "number_form", f"the integer is written {value!s:.100}, with a fraction or an exponent"
    elif not isinstance(value, int):
        yield "type", f"{value!s:.100} is no integer"
    elif not low <= value <= high:
        yield "range", f"{value!s:.100} is not within {low} and {high}"


def _iso(wire: str, text: str) -> Iterator[Reason]:
    is_one, name = ARE_ISO[wire]
    if not is_one(text):
        yield "range", f"{text!r:.100} is no {name}, as ISO 8601 writes it"


def _exact(node: Scalar, number: Decimal) -> Iterator[Reason]:
    if isinstance(node.type, logical.Decimal) and not node.type.holds(number):
        yield "range", f"{number!s:.100} does not fit {node.type}"


def _binary(node: Scalar, text: str) -> Iterator[Reason]:
    raw = from_base64(text)
    if raw is None:
        yield "base64", f"{text!r:.100} is no base64"
        return
    match node.type:
        case logical.Fixed() if len(raw) != node.type.length:
            yield "range", f"{len(raw)} bytes, not {node.type.length}"
        case logical.Primitive() if node.wire == "base64_digits" and not raw:
            yield "range", "no bytes are no decimal"
        case logical.Decimal():
            digits = Decimal(int.from_bytes(raw, "big", signed=True)).scaleb(-node.type.scale)
            if not 1 <= len(raw) <= 16:
                yield "range", f"{len(raw)} bytes are no decimal of at most 38 digits"
            yield from _exact(node, digits)


def from_base64(text: str) -> bytes | None:
    """The bytes of base64; None where the text is none."""
    return base64.b64decode(text) if len(text) % 4 == 0 and _BASE64.fullmatch(text) else None


def validator_maker() -> Callable[[str, tuple[tuple[str, str], ...]], Any]:
    """A function that makes a validator from a schema's text and the texts that it refers to, by name.

    A function within a function: such are pickled by value.
    """

    def make(text: str, dependencies: tuple[tuple[str, str], ...]) -> Any:
        import json

        import jsonschema_rs

        def retrieve(uri: str) -> Any:
            names = (n for n, _ in dependencies if uri == n or uri.endswith(f"/{n}"))
            return json.loads(dict(dependencies)[max(names, key=len)])

        return jsonschema_rs.validator_for(json.loads(text), retriever=retrieve)

    return make
