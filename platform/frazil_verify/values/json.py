"""JSON as canonical values, by Python's own reader. Source: docs/types.md, and Connect's names in schemas."""

from __future__ import annotations

import base64
import binascii
import json
import math
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from frazil_verify.log.registry import Schema
from frazil_verify.table.canonical import sorted_pairs
from frazil_verify.table.metadata import Column, columns_of
from frazil_verify.table.names import NOWHERE
from frazil_verify.values.bad import BadRecordError, NotComparedError
from frazil_verify.values.width import check_width, is_doubtful, widest

Convert = Callable[[Any], Any]
_DECIMAL = "org.apache.kafka.connect.data.Decimal"
_EMBEDDED = {"schema", "payload"}
_TIMES = ("org.apache.kafka.connect.data.Time", "io.debezium.time.Time")
_MILLIS = ("org.apache.kafka.connect.data.Timestamp", "io.debezium.time.Timestamp")


class JsonReader:
    """Reads records of one JSON Schema as values of wanted fields.

    Args:
        writer: The schema that the records were written with.
        wanted: A type `struct` of Iceberg.
    """

    def __init__(self, writer: Schema, wanted: Mapping[str, Any]) -> None:
        compiler = _Compiler(writer)
        self._convert = compiler.compile(compiler.root, wanted)
        self._wanted, self._widest = wanted, widest(wanted)

    def __call__(self, payload: bytes) -> tuple[Any, ...]:
        """The values of the wanted fields, in order.

        Raises:
            BadRecordError: The bytes are no such record.
        """
        try:
            read = json.loads(payload.decode(), parse_constant=_no_constant)
        except (ValueError, RecursionError) as e:
            raise BadRecordError(type(e).__name__) from e
        if isinstance(read, dict) and read.keys() == _EMBEDDED:
            read = read["payload"]
        if not isinstance(read, dict):
            raise BadRecordError("no object")
        if is_doubtful(payload, self._widest):
            check_width(read, self._wanted, len(payload))
        values: tuple[Any, ...] = self._convert(read)
        return values


def properties(schema: Schema, inner: str) -> Mapping[str, Any]:
    """The properties that a schema declares of its root, or of a property of it."""
    compiler = _Compiler(schema)
    members = compiler.properties(compiler.root)
    return compiler.properties(compiler.plain(members.get(inner, {}))) if inner else members


@dataclass
class _Compiler:
    """Makes of a schema what turns a value into a canonical one."""

    schema: Schema

    @property
    def root(self) -> Any:
        """The schema of a record; of Connect's JSON with its schema in each record that of the payload."""
        root = json.loads(self.schema.text)
        known = self.properties(root)
        return known["payload"] if known.keys() == _EMBEDDED else root

    def compile(self, node: Any, want: Any) -> Convert:
        """What turns one value into the wanted type; null stays null."""
        node = self.plain(node)
        inner = self._inner(node, want)
        return lambda value: None if value is None else inner(value)

    def properties(self, node: Any) -> Mapping[str, Any]:
        """The properties of an object, those of `allOf` too."""
        node = self._followed(node)
        members = dict(node.get("properties", {}))
        for each in node.get("allOf", ()):
            members.update(self.properties(each))
        return members

    def _inner(self, node: Mapping[str, Any], want: Any) -> Convert:
        if not isinstance(want, Mapping):
            return _plain_value(node, want)
        if want["type"] == "struct":
            return self._struct(node, want)
        if want["type"] == "list":
            return _list(self.compile(node.get("items", {}), want["element"]))
        return self._map(node, want)

    def _struct(self, node: Mapping[str, Any], want: Any) -> Convert:
        known = self.properties(node)
        if not known and len(_branches(node)) > 1:
            raise NotComparedError("a union in JSON")
        takes = [(c.name, self._field(known, c)) for c in columns_of(want)]
        return lambda value: (
            tuple(convert(value.get(name)) for name, convert in takes)
            if isinstance(value, dict)
            else _bad("no object")
        )

    def _field(self, known: Mapping[str, Any], column: Column) -> Convert:
        if column.name == NOWHERE:
            return lambda _: None
        return self.compile(known.get(column.name, {}), column.type)

    def _map(self, node: Mapping[str, Any], want: Any) -> Convert:
        if node.get("type") == "array":
            pair = self.properties(node.get("items", {}))
            key, item = (self.compile(pair.get(w, {}), want[w]) for w in ("key", "value"))
            return lambda value: sorted_pairs({key(k): item(v) for k, v in _entries(value)})
        each = self.compile(node.get("additionalProperties") or {}, want["value"])
        return lambda value: (
            sorted_pairs({name: each(inner) for name, inner in value.items()})
            if isinstance(value, dict)
            else _bad("no map")
        )

    def plain(self, node: Any) -> Mapping[str, Any]:
        """The one branch that is not null; what `$ref` names."""
        node = self._followed(node)
        branches = [self._followed(each) for each in _branches(node)]
        others = [each for each in branches if each.get("type") != "null"]
        return {**node, **others[0]} if len(others) == 1 else node

    def _followed(self, node: Any) -> Mapping[str, Any]:
        if not isinstance(node, Mapping):
            return {}
        reference = node.get("$ref")
        if reference is None:
            return node
        if reference.startswith("#"):
            part = json.loads(self.schema.text)
            for step in reference.lstrip("#/").split("/") if reference != "#" else ():
                part = part[step.replace("~1", "/").replace("~0", "~")]
            return self._followed(part)
        raise NotComparedError("a reference to another schema")


def _branches(node: Mapping[str, Any]) -> Sequence[Any]:
    return node.get("oneOf") or node.get("anyOf") or ()


def _entries(value: Any) -> Iterator[tuple[Any, Any]]:
    """The entries of a map that Connect wrote as an array, for its keys are no texts."""
    known: set[str] = set()
    for each in value if isinstance(value, list) else _bad("no list of entries"):
        if not isinstance(each, dict) or each.get("key") is None or repr(each["key"]) in known:
            _bad("an entry without a key, or one with the key of another")
        known.add(repr(each["key"]))
        yield each["key"], each.get("value")


def _list(convert: Convert) -> Convert:
    return lambda value: tuple(map(convert, value)) if isinstance(value, list) else _bad("no list")


def _plain_value(node: Mapping[str, Any], want: str) -> Convert:
    word = want.partition("(")[0]
    if word == "decimal":
        return _decimal(node, want)
    if word in ("timestamp", "timestamptz"):
        return _moment(node)
    if word == "long" and node.get("title") in _TIMES:
        return lambda value: _scaled(value, 1000)
    if word == "string":
        return _as_text(node)
    return _PLAIN[word]


def _as_text(node: Mapping[str, Any]) -> Convert:
    """A text as it is, or a whole number as text."""
    kinds = _kinds(node) - {"null"}
    if kinds == {"integer"}:
        return lambda value: str(_integer(value, 63))
    if kinds != {"string"}:
        raise NotComparedError("a text that is made of something else")
    return _text


def _moment(node: Mapping[str, Any]) -> Convert:
    if node.get("title") in _MILLIS or _note(node, "flink.type") == "timestamp":
        return lambda value: _scaled(value, 1000)
    if node.get("title") == "io.debezium.time.MicroTimestamp":
        return lambda value: _integer(value, 63)
    raise NotComparedError("a moment that is written in a way of its own")


def _note(node: Mapping[str, Any], name: str) -> Any:
    """A note of Connect's or Flink's, wherever the schema has it."""
    return node.get("connect.parameters", {}).get(name, node.get(name))


def _scaled(value: Any, factor: int) -> int:
    return _integer(_integer(value, 63) * factor, 63)


def _kinds(node: Mapping[str, Any]) -> set[str]:
    """The types of JSON that values may have; `any` where nothing says."""
    if kinds := node.get("type"):
        return {kinds} if isinstance(kinds, str) else {*kinds}
    values = node.get("enum", [node["const"]] if "const" in node else ())
    return {_KINDS.get(type(value), "any") for value in values} or {"any"}


def _decimal(node: Mapping[str, Any], want: str) -> Convert:
    if node.get("title") != _DECIMAL:
        raise NotComparedError("a decimal that Connect did not write")
    wanted = int(want.rstrip(")").split(",")[1])
    scale = int(_note(node, "scale") or 0)
    factor = 10 ** (wanted - scale)
    return lambda value: int.from_bytes(_bytes(value), "big", signed=True) * factor


def _integer(value: Any, bits: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        _bad("no integer")
    if not -(2**bits) <= value < 2**bits:
        _bad("an integer out of range")
    return int(value)


def _real(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        _bad("no number")
    return _finite(float(value))


def _single(value: Any) -> float:
    return _finite(struct.unpack("f", struct.pack("f", _real(value)))[0])


def _finite(number: float) -> float:
    if math.isinf(number):
        _bad("a number out of range")
    return number


def _text(value: Any) -> str:
    if not isinstance(value, str):
        _bad("no text")
    try:
        value.encode()
    except UnicodeEncodeError:
        _bad("half a surrogate pair")
    return str(value)


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        _bad("no boolean")
    return bool(value)


def _bytes(value: Any) -> bytes:
    try:
        return base64.b64decode(_text(value), validate=True)
    except binascii.Error as e:
        raise BadRecordError("no base64") from e


def _bad(why: str) -> Any:
    raise BadRecordError(why)


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is no JSON")


_KINDS = {str: "string", type(None): "null"}
_PLAIN: Mapping[str, Convert] = {
    "boolean": _boolean,
    "int": lambda value: _integer(value, 31),
    "long": lambda value: _integer(value, 63),
    "float": _single,
    "double": _real,
    "binary": _bytes,
    "date": lambda value: _integer(value, 31),
}
