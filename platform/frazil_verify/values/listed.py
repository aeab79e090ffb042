"""JSON whose fields a spec lists, as canonical values. Source: docs/json.md, "List the fields"."""

from __future__ import annotations

import base64
import json
import math
import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from frazil_verify.request import Listed
from frazil_verify.values.bad import BadRecordError
from frazil_verify.values.plain.iso import day, local_moment, zoned_moment

Convert = Callable[[Any], Any]
_LIST = re.compile(r"list<(.+)>")
_DECIMAL = re.compile(r"decimal\((\d+), ?(\d+)\)")
_BASE64 = re.compile("[A-Za-z0-9+/]*={0,2}")
_SPACE = re.compile(r"[ \t\r\n]*")
_HALF = re.compile("[\ud800-\udfff]")


class Number(str):
    """A number as it is written."""

    __slots__ = ()


class Object(dict[str, Any]):
    """An object; `is_sound` says whether each key stands there once."""

    def __init__(self, pairs: Sequence[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.is_sound = len(self) == len(pairs)


@dataclass(frozen=True)
class ListedReader:
    """Reads records as values of the wanted columns.

    Args:
        fields: What the spec lists.
        rest: The column of what no field names; empty where there is none.
        wanted: The names of the columns, in order.
    """

    fields: Sequence[Listed]
    rest: str
    wanted: Sequence[str]

    def __call__(self, payload: bytes) -> tuple[Any, ...]:
        """The values of the wanted columns.

        Raises:
            BadRecordError: The bytes are no such record.
        """
        text = _text_of(payload)
        record = _parsed(text)
        values = {field.name: _column(field, record) for field in self.fields}
        if self.rest:
            values[self.rest] = _left(text, _tree(self.fields))
        return tuple(values[name] for name in self.wanted)


def _text_of(payload: bytes) -> str:
    try:
        return payload.decode()
    except UnicodeDecodeError as e:
        raise BadRecordError("no UTF-8") from e


def _parsed(text: str) -> Any:
    try:
        document = json.loads(
            text, object_pairs_hook=Object, parse_int=Number, parse_float=Number, parse_constant=_no_constant
        )
        _refuse_halves(document)
    except (ValueError, RecursionError) as e:
        raise BadRecordError(type(e).__name__) from e
    if not isinstance(document, Object):
        raise BadRecordError("no object")
    return document


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is no JSON")


def _refuse_halves(value: Any) -> None:
    """Half of a surrogate pair is no character, wherever a record has one."""
    if isinstance(value, str) and _HALF.search(value):
        raise BadRecordError("half a surrogate pair")
    parts = [*value, *value.values()] if isinstance(value, dict) else value if isinstance(value, list) else ()
    for part in parts:
        _refuse_halves(part)


def _column(field: Listed, record: Any) -> Any:
    value = record
    for step in field.path:
        if value is None:
            break
        value = _object(value).get(step)
    if value is not None:
        return _convert(field.type, field.millis)(value)
    if not field.optional:
        raise BadRecordError(f"{field.name} is not there")
    return None


def _object(value: Any) -> Object:
    if not isinstance(value, Object):
        raise BadRecordError("no object on the way to a field")
    return value


def _convert(kind: str, millis: bool = False) -> Convert:
    if element := _LIST.fullmatch(kind):
        return _list(_convert(element[1]))
    if size := _DECIMAL.fullmatch(kind):
        return lambda value: _decimal(value, int(size[1]), int(size[2]))
    if millis:
        return lambda value: _integer(value, 63, 1000)
    return _PLAIN[kind]


def _list(convert: Convert) -> Convert:
    def made(value: Any) -> Any:
        if not isinstance(value, list):
            raise BadRecordError("no list")
        return tuple(None if each is None else convert(each) for each in value)

    return made


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise BadRecordError("no boolean")
    return value


def _number(value: Any) -> Number:
    if not isinstance(value, Number):
        raise BadRecordError("no number")
    return value


def _integer(value: Any, bits: int, factor: int = 1) -> int:
    text = _number(value)
    if not re.fullmatch("-?[0-9]+", text) or len(text) > 20:
        raise BadRecordError("no integer, or too long a one")
    number = int(text) * factor
    if not -(2**bits) <= number < 2**bits:
        raise BadRecordError("an integer out of range")
    return number


def _double(value: Any) -> float:
    number = float(_number(value))
    if math.isinf(number):
        raise BadRecordError("a number out of range")
    return number


def _single(value: Any) -> float:
    number: float = struct.unpack("f", struct.pack("f", _double(value)))[0]
    if math.isinf(number):
        raise BadRecordError("a number out of range")
    return number


def _decimal(value: Any, digits: int, scale: int) -> int:
    """The digits of a number that fits; zeros at its end do not count."""
    sign, written, exponent = Decimal(_number(value)).as_tuple()
    if not isinstance(exponent, int):
        raise BadRecordError("no number")
    text = "".join(map(str, written)).lstrip("0")
    kept = text.rstrip("0")
    behind = exponent + len(text) - len(kept) + scale
    if kept and not 0 <= behind <= digits - len(kept):
        raise BadRecordError("a number that does not fit")
    unscaled = int(kept) * 10**behind if kept else 0
    return -unscaled if sign else unscaled


def _string(value: Any) -> str:
    if not isinstance(value, str) or isinstance(value, Number):
        raise BadRecordError("no text")
    return value


def _binary(value: Any) -> bytes:
    text = _string(value)
    if len(text) % 4 or not _BASE64.fullmatch(text):
        raise BadRecordError("no base64")
    return base64.b64decode(text)


def _of_text(read: Callable[[str], int]) -> Convert:
    return lambda value: read(_string(value))


def as_text(value: Any) -> str:
    """A value as JSON: keys in order, no white space, numbers as they were written.

    Raises:
        BadRecordError: A key stands there twice.
    """
    if isinstance(value, Object):
        if not value.is_sound:
            raise BadRecordError("a key stands there twice")
        return "{" + ",".join(f"{_quoted(key)}:{as_text(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(as_text, value)) + "]"
    return str(value) if isinstance(value, Number) else _quoted(value)


def _quoted(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


Tree = Mapping[str, Any]
"""By name what is within an object that holds fields; None where the field itself is."""


def _tree(fields: Sequence[Listed]) -> Tree:
    tree: dict[str, Any] = {}
    for field in fields:
        *above, last = field.path
        inner = tree
        for step in above:
            inner = inner.setdefault(step, {})
        inner[last] = None
    return tree


def _left(text: str, tree: Tree) -> str | None:
    """The text of what no field names of an object: each value as it was written; None if nothing is left."""
    members = [*_members(text)]
    if len({key for key, _ in members}) < len(members):
        raise BadRecordError("a key stands there twice")
    kept = [(key, raw if key not in tree else _within(raw, tree[key])) for key, raw in members]
    parts = [f"{_quoted(key)}:{raw}" for key, raw in kept if raw is not None]
    return "{" + ",".join(parts) + "}" if parts else None


def _within(raw: str, tree: Tree | None) -> str | None:
    return _left(raw, tree) if tree is not None and raw.startswith("{") else None


def _members(text: str) -> Iterator[tuple[str, str]]:
    """The keys of an object, each with the text of its value; the text is known to be JSON."""
    decode, at = json.JSONDecoder().raw_decode, _after(text, text.index("{") + 1)
    while text[at] != "}":
        key, at = decode(text, at)
        start = _after(text, _after(text, at) + 1)
        _, end = decode(text, start)
        yield key, text[start:end]
        at = _after(text, end)
        at = _after(text, at + 1) if text[at] == "," else at


def _after(text: str, at: int) -> int:
    """Where white space ends."""
    match = _SPACE.match(text, at)
    return match.end() if match else at


_PLAIN: Mapping[str, Convert] = {
    "boolean": _boolean,
    "int": lambda value: _integer(value, 31),
    "long": lambda value: _integer(value, 63),
    "float": _single,
    "double": _double,
    "string": _string,
    "binary": _binary,
    "date": _of_text(day),
    "timestamp": _of_text(local_moment),
    "timestamptz": _of_text(zoned_moment),
    "json": as_text,
}
