"""Types of Avro that no column holds: in the tree a text stands for them, and in the payload their JSON.

A node of text keeps what it stands for under `json`: the type, or the name of a record that contains itself,
which the root knows under `named`. A union that is text as a whole, and may be null, is a union of null and
text. Payloads are written again before they are decoded; then all else reads plain text.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterable, Mapping
from typing import Any

from frazil.errors import MALFORMED, SchemaRefusedError
from frazil.formats.avro.decoding.canonical import BadPayloadError, PayloadWalk, varint
from frazil.formats.avro.schemas.logical import AvroColumns, branch_names, is_wide
from frazil.formats.avro.schemas.parser import children
from frazil.formats.columns.unmappable import Unmappable, digits_text, json_text
from frazil.formats.paths import member_path

_NULL = {"type": "null"}


def with_texts(tree: dict[str, Any], subject: str, unmappable: Unmappable) -> dict[str, Any]:
    """The tree with a text wherever no column holds a type, and the spec wants text there.

    Raises:
        SchemaRefusedError: It wants none there.
    """
    if not unmappable.texts and not unmappable.digits:
        if has_text(tree):
            AvroColumns(subject).record(tree, "")
        return tree
    marked = _Marks(subject, unmappable).parts(tree, "")
    return {**marked, "named": tree.get("named", {})} if has_text(marked) else marked


def has_text(node: Any) -> bool:
    """Whether text stands for something in a tree."""
    if isinstance(node, dict) and "json" in node:
        return True
    return any(map(has_text, children(node)))


class _Marks:
    """One walk; what is refused is looked at part by part, so that as little as possible becomes text."""

    def __init__(self, subject: str, unmappable: Unmappable) -> None:
        self._subject, self._unmappable = subject, unmappable

    def _type(self, node: Any, path: str, hints: Any = ()) -> Any:
        try:
            self._check(node, path, hints)
            return node
        except SchemaRefusedError as e:
            refused = e
        try:
            marked = self.parts(node, path, hints)
            self._check(marked, path, hints)
            return marked
        except MALFORMED:
            raise refused from None  # it is no schema at all
        except SchemaRefusedError as e:
            wide = self._unmappable.digits and is_wide(node)
            if not wide and not self._unmappable.takes(path):
                raise
            return _text(node, e)

    def _check(self, node: Any, path: str, hints: Any) -> None:
        AvroColumns(self._subject, self._unmappable).type_of(node, path, hints)

    def parts(self, node: Any, path: str, hints: Any = ()) -> Any:
        """The type with texts within it."""
        if isinstance(node, list):
            return self._union(node, path, hints)
        match node["type"]:
            case "record":
                return {**node, "fields": [self._field(f, path) for f in node["fields"]]}
            case "array":
                return {**node, "items": self._type(node["items"], f"{path}[]", hints)}
            case "map":
                return {**node, "values": self._type(node["values"], f"{path}{{}}", hints)}
            case _:
                return node

    def _field(self, field: dict[str, Any], path: str) -> dict[str, Any]:
        where = member_path(path, field["name"])
        kind = self._type(field["type"], where, field.get("confluent:union") or ())
        if kind == field["type"] or "default" not in field or not _is_text(kind):
            return {**field, "type": kind}
        kept = {name: value for name, value in field.items() if name != "default"}
        is_null = field["default"] is None and isinstance(kind, list)
        return {**kept, "type": kind, **({"default": None} if is_null else {})}

    def _union(self, branches: list[Any], path: str, hints: Any) -> list[Any]:
        real = [b for b in branches if b != _NULL]
        if len(real) == 1:
            return [b if b == _NULL else self._type(b, path, hints) for b in branches]
        names = iter(branch_names(real, hints))
        members = [b if b == _NULL else self._type(b, member_path(path, next(names))) for b in branches]
        if any(map(_is_text, members)):
            why = "a branch of it has no column type"
            raise AvroColumns(self._subject).refusal(path, why, "Split it into fields.")
        return members


def _is_text(node: Any) -> bool:
    return any(map(_is_text, node)) if isinstance(node, list) else "json" in node


def _text(node: Any, refused: SchemaRefusedError) -> Any:
    text = {"type": "string", "json": node, "why": refused.what.partition(": ")[2].rstrip(".")}
    return [_NULL, text] if isinstance(node, list) and _NULL in node else text


def rewritten(tree: dict[str, Any], payload: bytes) -> bytes:
    """The payload with JSON where the tree has texts; raises BadPayloadError where it is no such record."""
    walk = _Rewriting(payload, tree.get("named", {}))
    try:
        walk.value(tree)
    except RecursionError:
        raise BadPayloadError("a value is nested too deeply") from None
    walk.end()
    return bytes(walk.out)


class _Rewriting(PayloadWalk):
    """One walk over one payload."""

    def __init__(self, payload: bytes, named: Mapping[str, Any]) -> None:
        super().__init__(payload)
        self._named = named

    def value(self, node: Any) -> None:
        """See `PayloadWalk.value`."""
        if isinstance(node, list) and isinstance(text_value := _value_of_text(node), list):
            value = self._read_value(text_value)
            self.out += varint(0) if value is None else varint(1)
            if value is not None:
                self._put(value)
        elif isinstance(node, dict) and "json" in node:
            self._put(self._read_value(node["json"]))
        else:
            super().value(node)

    def _put(self, value: Any) -> None:
        text = json_text(value).encode()
        self.out += varint(len(text)) + text

    def _read_value(self, node: Any) -> Any:
        if isinstance(node, str):
            return self._read_value(self._named[node])
        if isinstance(node, list):
            return self._read_value(node[self.number(0, len(node) - 1)])
        if "json" in node:
            return self._read_value(node["json"])
        match node["type"]:
            case "record":
                return {field["name"]: self._read_value(field["type"]) for field in node["fields"]}
            case "array":
                return [self._read_value(node["items"]) for _ in self.items()]
            case "map":
                return _object((self._read_text(), self._read_value(node["values"])) for _ in self.items())
            case _:
                return self._read_scalar(node)

    def _read_text(self) -> str:
        try:
            return self.sized().decode()
        except UnicodeDecodeError as e:
            raise BadPayloadError(f"a text is not UTF-8: {e.reason}") from None

    def _read_scalar(self, node: dict[str, Any]) -> Any:
        match node["type"]:
            case "null":
                return None
            case "boolean":
                return self.boolean()
            case "int":
                return self.number(-(2**31), 2**31 - 1)
            case "long":
                return self.number(-(2**63), 2**63 - 1)
            case "enum":
                return node["symbols"][self.number(0, len(node["symbols"]) - 1)]
            case "string":
                return self._read_text()
            case "float":
                return _float(_shortest(self.take(4)))
            case "double":
                return _float(struct.unpack("<d", self.take(8))[0])
            case "bytes":
                return _binary(node, self.sized())
            case _:
                return _binary(node, self.take(node["size"]))


def _value_of_text(union: list[Any]) -> Any:
    """What a text in a union stands for."""
    return next((branch["json"] for branch in union if "json" in branch), None)


def _object(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    given = list(pairs)
    members = dict(given)
    if len(members) < len(given):
        raise BadPayloadError("a map has a key twice")
    return members


def _float(number: float) -> float | str:
    """As Protobuf's JSON writes it: JSON has no word for these three."""
    if number != number:
        return "NaN"
    return {float("inf"): "Infinity", float("-inf"): "-Infinity"}.get(number, number)


def _shortest(raw: bytes) -> float:
    """A float of four bytes by the fewest digits that mean it."""
    import numpy as np  # only workers read records

    return float(str(np.frombuffer(raw, "<f4")[0]))


def _binary(node: dict[str, Any], raw: bytes) -> str:
    """Base64, or the digits of a decimal."""
    if node.get("logicalType") != "decimal" or not (raw or is_wide(node)):
        return base64.b64encode(raw).decode()
    try:
        return digits_text(raw, node["scale"])
    except ValueError as e:
        raise BadPayloadError(str(e)) from None
