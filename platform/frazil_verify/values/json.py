"""JSON as canonical values, by Python's own reader. Source: docs/types.md, and Connect's names in schemas."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from frazil_verify.log.registry import Schema
from frazil_verify.table.canonical import sorted_pairs
from frazil_verify.table.metadata import Column, columns_of
from frazil_verify.table.names import NOWHERE
from frazil_verify.values.bad import BadRecordError, NotComparedError, bad
from frazil_verify.values.plain.json import DECODER, Repeated, kinds, scalar
from frazil_verify.values.width import check_width, is_doubtful, widest

Convert = Callable[[Any], Any]
_PAYLOAD = "payload"
_KINDS = {"integer": int, "string": str, "object": dict, "array": list, "boolean": bool}
"""By which kind of value a branch of a union is told; of a number it is not, for an integer is one too."""


class JsonReader:
    """Reads records of one JSON Schema as values of wanted fields.

    Args:
        writer: The schema that the records were written with.
        wanted: A type `struct` of Iceberg.
        root: What the field is called that a value without fields is.
        rules: Tells whether a value fits all that the schema asks; None where types are looked at alone.
        of_database: Whether it is of a change of a database; see `Compiler`.
    """

    def __init__(
        self, writer: Schema, wanted: Mapping[str, Any], root: str = "value",
        rules: Callable[[Any], bool] | None = None, *, of_database: bool = False,
    ) -> None:  # fmt: skip
        compiler = Compiler(writer, of_database)
        self._is_embedded = compiler.is_embedded
        self._root = "" if compiler.has_fields else root
        self._convert = compiler.compile(compiler.record(root), wanted)
        self._wanted, self._widest, self._rules = wanted, widest(wanted), rules

    def __call__(self, payload: bytes) -> tuple[Any, ...]:
        """The values of the wanted fields, in order.

        Raises:
            BadRecordError: The bytes are no such record.
        """
        try:
            read = DECODER.decode(payload.decode())
        except (ValueError, ArithmeticError, RecursionError) as e:
            raise BadRecordError(type(e).__name__) from e
        if self._rules is not None and not self._rules(json.loads(payload)):
            bad("a rule of its schema")
        if self._is_embedded:
            read = read.get(_PAYLOAD) if isinstance(read, dict) else None
        read = {self._root: read} if self._root else read
        if not isinstance(read, dict):
            raise BadRecordError("no object")
        if is_doubtful(payload, self._widest):
            check_width(read, self._wanted, len(payload))
        values: tuple[Any, ...] = self._convert(read)
        return values


def properties(schema: Schema, inner: str, root: str, *, of_database: bool) -> Mapping[str, Any]:
    """The properties that a schema declares of its records, or of a property of them."""
    compiler = Compiler(schema, of_database)
    members = compiler.properties(compiler.record(root))
    return compiler.properties(compiler.plain(members.get(inner, {}))) if inner else members


@dataclass
class Compiler:
    """Makes of a schema what turns a value into a canonical one.

    Args:
        of_database: Whether it is of a change of a database, which may stand in the property `payload`: so
            Connect writes JSON that has its schema in each record (docs/cdc.md, "How values are written").
    """

    schema: Schema
    of_database: bool = False

    @property
    def root(self) -> Any:
        """The schema of a record, or of its payload."""
        return self.properties(self._tree)[_PAYLOAD] if self.is_embedded else self._tree

    @cached_property
    def _tree(self) -> Any:
        return json.loads(self.schema.text)

    @cached_property
    def is_embedded(self) -> bool:
        """Whether a change stands in the property `payload` of a record."""
        known = self.properties(self._tree)
        alone = self.of_database and _PAYLOAD in known and known.keys() <= {"schema", _PAYLOAD}
        return alone and bool(self.properties(self.plain(known[_PAYLOAD])))

    @cached_property
    def has_fields(self) -> bool:
        """Whether a record is an object of properties."""
        return bool(self.properties(self.plain(self.root)))

    def record(self, root: str) -> Any:
        """The schema of a record; of a value without fields that of an object with it alone."""
        if self.has_fields:
            return self.plain(self.root)
        return {"type": "object", "properties": {root: self.root}, "required": [root]}

    def compile(self, node: Any, want: Any, optional: bool = True) -> Convert:
        """What turns one value into the wanted type; null stays null where it may be there."""
        optional = optional or self._may_be_null(node)
        node = self.plain(node)
        inner = _one_of(node, self._inner(node, want))
        return lambda value: (
            inner(value) if value is not None else None if optional else bad("null, or not there")
        )

    def properties(self, node: Any) -> Mapping[str, Any]:
        """The properties of an object, those of `allOf` too."""
        node = self._followed(node)
        members = dict(node.get("properties", {}))
        for each in node.get("allOf", ()):
            members.update(self.properties(each))
        return members

    def parts(self, node: Any) -> Mapping[str, Any]:
        """Properties of an object, the element of an array, the value of a map; none of what is strange."""
        with suppress(NotComparedError):
            return self._parts(self.plain(node))
        return {}

    def _parts(self, node: Mapping[str, Any]) -> Mapping[str, Any]:
        if known := self.properties(node):
            return known
        if isinstance(items := node.get("items"), Mapping):
            return {"element": items, "value": self.properties(self.plain(items)).get("value", {})}
        more = node.get("additionalProperties")
        return {"value": more} if isinstance(more, Mapping) else {}

    def _inner(self, node: Mapping[str, Any], want: Any) -> Convert:
        if not isinstance(want, Mapping):
            return scalar(node, want)
        if want["type"] == "struct":
            return self._struct(node, want)
        if want["type"] == "list":
            return _list(self.compile(node.get("items", {}), want["element"], optional=False))
        return self._map(node, want)

    def _struct(self, node: Mapping[str, Any], want: Any) -> Convert:
        known = self.properties(node)
        if not known and len(branches := self._branches_of(node)) > 1:
            return self._union(branches, want)
        needed = self._required(node)
        each_takes = [(c.name, self._field(known, c, c.name not in needed)) for c in columns_of(want)]
        takes = dict(each_takes)

        def convert(value: Any) -> tuple[Any, ...]:
            if not isinstance(value, dict):
                bad("no object")
            if isinstance(value, Repeated) and not all(
                _fits(takes[n], v) for n, v in value.pairs if n in takes
            ):
                raise NotComparedError("a key stands twice, and not each of its values is of its type")
            return tuple(take(value.get(name)) for name, take in each_takes)

        return convert

    def _branches_of(self, node: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
        """Those of `oneOf` or `anyOf`, else one for each type; not that of null."""
        each_type = ({**node, "type": kind} for kind in _types(node))
        each = [self._followed(branch) for branch in _branches(node)] or [*each_type]
        return [branch for branch in each if branch.get("type") != "null"]

    def _union(self, branches: Sequence[Mapping[str, Any]], want: Any) -> Convert:
        """A field for each branch; the value stands in that of its own, the others are null."""
        fields = columns_of(want)
        at = {_KINDS.get(each.get("type", "")): place for place, each in enumerate(branches)}
        if None in at or len(at) != len(branches) or len(fields) != len(branches):
            raise NotComparedError("a union of branches that are alike")
        converts = [self.compile(b, f.type, False) for b, f in zip(branches, fields, strict=True)]

        def convert(value: Any) -> tuple[Any, ...]:
            if (place := at.get(dict if isinstance(value, dict) else type(value))) is None:
                bad("no branch of the union")
            return tuple(converts[p](value) if p == place else None for p in range(len(fields)))

        return convert

    def _field(self, known: Mapping[str, Any], column: Column, optional: bool) -> Convert:
        if column.name == NOWHERE:
            return lambda _: None
        if column.name not in known:
            return _undeclared
        return self.compile(known[column.name], column.type, optional)

    def _map(self, node: Mapping[str, Any], want: Any) -> Convert:
        if node.get("type") == "array":
            pair = self.properties(node.get("items", {}))
            needed = self._required(node.get("items", {}))
            key, item = (self.compile(pair.get(w, {}), want[w], w not in needed) for w in ("key", "value"))
            return lambda value: sorted_pairs({key(k): item(v) for k, v in _entries(value)})
        each = self.compile(node.get("additionalProperties") or {}, want["value"], optional=False)
        return lambda value: (
            sorted_pairs({name: each(inner) for name, inner in value.items()})
            if isinstance(value, dict) and not isinstance(value, Repeated)
            else bad("no map, or one with a key twice")
        )

    def _required(self, node: Any) -> frozenset[str]:
        """The properties that each object has, by the parts of `allOf` too."""
        node = self._followed(node)
        parts = (self._required(each) for each in node.get("allOf", ()))
        return frozenset(node.get("required", ())).union(*parts)

    def _may_be_null(self, node: Any) -> bool:
        node = self._followed(node)
        if branches := _branches(node):
            return any(self._may_be_null(each) for each in branches)
        return bool({"null", "any"} & kinds(node)) or None in node.get("enum", ())

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
            part = self._tree
            for step in reference.lstrip("#/").split("/") if reference != "#" else ():
                part = part[step.replace("~1", "/").replace("~0", "~")]
            return self._followed(part)
        raise NotComparedError("a reference to another schema")


def _undeclared(value: Any) -> None:
    """A field that the version lacks: null, and what an object may hold besides is not known."""
    if value is not None:
        raise NotComparedError("a property that its version does not declare")


def _fits(convert: Convert, value: Any) -> bool:
    try:
        convert(value)
    except BadRecordError:
        return False
    return True


def _types(node: Mapping[str, Any]) -> Sequence[str]:
    """Those that a schema lists, in its order."""
    types = node.get("type", ())
    return [types] if isinstance(types, str) else types


def _one_of(node: Mapping[str, Any], convert: Convert) -> Convert:
    """The same for a value that the schema lists, where it lists them."""
    listed = [node["const"]] if "const" in node else node.get("enum")
    if listed is None:
        return convert
    return lambda value: convert(value) if value in listed else bad("a value that the schema does not list")


def _branches(node: Mapping[str, Any]) -> Sequence[Any]:
    return node.get("oneOf") or node.get("anyOf") or ()


def _entries(value: Any) -> Iterator[tuple[Any, Any]]:
    """The entries of a map that Connect wrote as an array, for its keys are no texts."""
    known: set[str] = set()
    for each in value if isinstance(value, list) else bad("no list of entries"):
        if not isinstance(each, dict) or each.get("key") is None or repr(each["key"]) in known:
            bad("an entry without a key, or one with the key of another")
        known.add(repr(each["key"]))
        yield each["key"], each.get("value")


def _list(convert: Convert) -> Convert:
    return lambda value: tuple(map(convert, value)) if isinstance(value, list) else bad("no list")
