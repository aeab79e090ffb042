"""An Avro schema's text as one tree, and a tree as a text that needs no other.

In the tree every type stands where it is used, written out and by its full name, so that code that
walks it looks up nothing. The text is for Java, which takes each name once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from frazil.formats.batches.zoned import ZONED
from frazil.formats.paths import member_path
from frazil.formats.protocol import MAX_DEPTH, MAX_FIELDS, Mapping

TAGS = "confluent:tags"
"""Where a schema keeps the tags of a field, as JSON Schema does, too."""

PRIMITIVES = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})
"""Most types of a whole schema: types that each use another twice would grow without bound."""

_MOST_BYTES = 32
"""Most bytes of a decimal whose digits are counted: they hold 76 digits, and a column has 38 at most."""

_NAME = re.compile(r"[^\W\d]\w*")

_OWN = "frazil"
"""The namespace of names that have none: Java could not find them from within another namespace."""

_BASES = {
    "decimal": ("bytes", "fixed"), "date": ("int",), "time-millis": ("int",), "time-micros": ("long",),
    **{f"{local}timestamp-{u}": ("long",) for local in ("", "local-") for u in ("millis", "micros", "nanos")},
    ZONED: ("string",),
}  # fmt: skip
"""The base types that each supported logical type may have. Avro's specification,
"Logical Types": a reader must ignore any other, and read the value as it is written."""

_SPARKS = frozenset(
    {
        "date", "decimal", "timestamp-millis", "timestamp-micros",
        "local-timestamp-millis", "local-timestamp-micros",
    }
)  # fmt: skip
"""Logical types that Spark maps as Frazil does; for any other it is given the bare type."""

_AMBIGUOUS = ({"int", "long"}, {"float", "double"})
"""Unions that Spark would fold into one number, even of a date and a timestamp; hence a third branch."""


def parse_avro(
    text: str,
    subject: str,
    dependencies: Iterable[tuple[str, str]] = (),
    root: str = "value",
    *,
    cuts: bool = False,
) -> dict[str, Any]:
    """The tree of a schema; `dependencies` are those that it refers to, by name, deepest first.

    `root` names the only field where the schema is no record: in Avro's binary form both are the same. If it
    `cuts`, a text stands for a record within itself, see `texts`. Raises SchemaRefusedError where it is
    recursive otherwise, or too deep, or refers to what is not there.
    """
    expander = _Expander(subject, cuts)
    with expander.schema("Avro"):
        for name, needed in dependencies:
            expander.know(name, json.loads(needed))
        tree = expander.expand(json.loads(text), "", "", 0)
    named = {"named": expander.recursive} if expander.recursive else {}
    if isinstance(tree, dict) and tree["type"] == "record":
        return {**tree, **named}
    field = {"name": root, "type": tree}
    return {"type": "record", "name": f"{_OWN}.root", "fields": [field], **named}


def avro_text(tree: Any, logical: bool = True) -> str:
    """A tree as text for Java, or for any other reader of Avro.

    Without `logical` types values come as they are written; with them, only those stay that Spark knows.
    """
    return json.dumps(_Emitter(_SPARKS if logical else frozenset()).emit(tree))


def most_digits(decimal: dict[str, Any]) -> int:
    """Digits that the bytes of a decimal can hold; with more of them Avro does not take it for a decimal."""
    size = min(decimal.get("size", _MOST_BYTES), _MOST_BYTES)
    return len(str(int(2 ** (8 * size - 1)))) - 1


def children(node: Any) -> list[Any]:
    """The types that stand directly within one."""
    if isinstance(node, list):
        return node
    return [
        *(f["type"] for f in node.get("fields", ())),
        *(node[k] for k in ("items", "values") if k in node),
    ]


class _Expander(Mapping):
    """One walk; knows the named types it met, and which of them are still open (recursion)."""

    def __init__(self, subject: str, cuts: bool) -> None:
        super().__init__(subject)
        self._cuts = cuts
        self._named: dict[str, dict[str, Any] | None] = {}
        self._cut: set[str] = set()

    @property
    def recursive(self) -> dict[str, Any]:
        """The records that contain themselves, by name."""
        return {name: self._named[name] for name in sorted(self._cut)}

    def know(self, name: str, schema: Any) -> None:
        """Takes in a schema that others refer to."""
        self._named[name] = self.expand(schema, "", f"(reference {name})", 0)

    def expand(self, schema: Any, namespace: str, path: str, depth: int) -> Any:
        if isinstance(schema, list):
            return self._union([self.expand(branch, namespace, path, depth) for branch in schema], path)
        if isinstance(schema, str):
            return {"type": schema} if schema in PRIMITIVES else self._known(schema, namespace, path)
        self._guard(path, depth)
        kind = schema["type"]
        match kind:
            case "array" | "map":
                return self._container(schema, namespace, path, depth)
            case "record" | "error" | "enum" | "fixed":
                return self._definition(schema, namespace, path, depth)
            case str() if kind in PRIMITIVES:
                return _with_logical({"type": kind}, schema)
            case _:
                return self.expand(kind, namespace, path, depth + 1)

    def _union(self, branches: list[Any], path: str) -> list[Any]:
        if any(isinstance(branch, list) for branch in branches):
            why = "a union can't be a branch of another"
            raise self.refusal(path, why, "Write all branches into one union.")
        return branches

    def _known(self, name: str, namespace: str, path: str) -> dict[str, Any]:
        for full in (_full(name, namespace), name):
            if full in self._named:
                if definition := self._named[full]:
                    self.count(path, _size(definition))
                    return definition
                why = f"record {full} contains itself"
                if self._cuts:
                    self._cut.add(full)
                    return {"type": "string", "json": full, "why": why}
                raise self.refusal(path, why, "Bound the depth in the schema.")
        why = f"type {name} is defined nowhere"
        raise self.refusal(path, why, "Register what it refers to, and the reference.")

    def _definition(self, schema: dict[str, Any], namespace: str, path: str, depth: int) -> dict[str, Any]:
        namespace = schema.get("namespace") or namespace
        if not isinstance(namespace, str):
            raise self.refusal(
                path, f"{namespace!r} is no namespace in Avro", "Use letters, digits, _ and dots."
            )
        full = _full(schema["name"], namespace)
        full.encode()  # raises where there is half of a surrogate pair
        self._check_name(full.rpartition(".")[2], path)
        kind = "record" if schema["type"] == "error" else schema["type"]
        node: dict[str, Any] = {"type": kind, "name": full}
        self._named[full] = None
        match kind:
            case "record":
                inner = full.rpartition(".")[0]
                node["fields"] = [self._field(f, inner, path, depth) for f in schema["fields"]]
                node |= _only(schema, "logicalType", "connect.internal.type")
            case "enum":
                self._check_symbols(schema["symbols"], path)
                node |= _only(schema, "symbols", "default")
            case _:
                node = _with_logical({**node, "size": _whole(schema["size"])}, schema)
        self._named[full] = node
        return node

    def _field(self, field: dict[str, Any], namespace: str, path: str, depth: int) -> dict[str, Any]:
        where = self._at = member_path(path, field["name"])
        self._check_name(field["name"], where)
        kept = _only(field, "name", "default", "aliases", "doc", "confluent:union", TAGS)
        return {**kept, "type": self.expand(field["type"], namespace, where, depth + 1)}

    def _container(self, schema: dict[str, Any], namespace: str, path: str, depth: int) -> dict[str, Any]:
        key, mark = ("items", "[]") if schema["type"] == "array" else ("values", "{}")
        inner = self.expand(schema[key], namespace, path + mark, depth + 1)
        kept = _only(schema, "logicalType", "flink.type")
        return {"type": schema["type"], **kept, key: inner}

    def _check_name(self, name: str, path: str) -> None:
        """As Java does, which accepts any letter."""
        if not _NAME.fullmatch(name):
            raise self.refusal(path, f"{name!r} is no name in Avro", "Use letters, digits and _.")

    def _check_symbols(self, symbols: Any, path: str) -> None:
        if not isinstance(symbols, list) or len(set(symbols)) < len(symbols):
            raise self.refusal(path, "the symbols of an enum are no list of names, each once", "Fix them.")
        for symbol in symbols:
            self._check_name(symbol, path)

    def _guard(self, path: str, depth: int) -> None:
        if depth > MAX_DEPTH:
            why = f"it is nested more than {MAX_DEPTH} levels deep"
            raise self.refusal(path, why, "Flatten it.")


class _Emitter:
    """One walk; knows which names it has written, and as what."""

    def __init__(self, logical: frozenset[str]) -> None:
        self._logical = logical
        self._written: dict[str, Any] = {}

    def emit(self, node: Any) -> Any:
        if isinstance(node, list):
            return self._union(node)
        match node["type"]:
            case "array":
                return {"type": "array", "items": self.emit(node["items"])}
            case "map":
                return {"type": "map", "values": self.emit(node["values"])}
            case "record" | "enum" | "fixed":
                return self._named(node)
            case plain:
                return self._kept(node) if "logicalType" in node else plain

    def _union(self, branches: list[Any]) -> list[Any]:
        emitted = [self.emit(b) for b in branches]
        if {b["type"] for b in branches} - {"null"} in _AMBIGUOUS:
            emitted.append("boolean")  # never written; keeps Spark from folding the other two
        return emitted

    def _named(self, node: dict[str, Any]) -> Any:
        name = node["name"] if "." in node["name"] else f"{_OWN}.{node['name']}"
        while name in self._written:
            if self._written[name] == node:
                return name
            name += "_"
        self._written[name] = node
        if node["type"] != "record":
            return {**self._kept(node), "name": name}
        return {"type": "record", "name": name, "fields": [self._field(f) for f in node["fields"]]}

    def _kept(self, node: dict[str, Any]) -> dict[str, Any]:
        known = node.get("logicalType") in self._logical
        return node if known else {k: v for k, v in node.items() if k != "logicalType"}

    def _field(self, field: dict[str, Any]) -> dict[str, Any]:
        kept = _only(field, "name", "default", "aliases")
        return {**kept, "type": self.emit(field["type"])}


def _only(node: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {k: node[k] for k in keys if k in node}


def _with_logical(node: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    logical = schema.get("logicalType")
    if not isinstance(logical, str) or node["type"] not in _BASES.get(logical, ()):
        return node
    digits = _digits(schema) if logical == "decimal" else {}
    return {**node, "logicalType": logical, **digits}


def _digits(schema: dict[str, Any]) -> dict[str, int]:
    """Precision and scale; the precision of a fixed is at most what its bytes can hold."""
    precision, scale = _whole(schema.get("precision", 10)), _whole(schema.get("scale", 0))
    return {"precision": min(precision, most_digits(schema)), "scale": scale}


def _whole(number: Any) -> int:
    if type(number) is not int or not 0 <= number < 2**31:
        raise ValueError(f"{number!r:.100} is no size")
    return number


def _size(node: Any) -> int:
    """How many types a tree has, counted up to the most that are taken."""
    count, waiting = 0, [node]
    while waiting and count <= MAX_FIELDS:
        count += 1
        waiting += children(waiting.pop())
    return count


def _full(name: str, namespace: str) -> str:
    return name if "." in name or not namespace else f"{namespace}.{name}"
