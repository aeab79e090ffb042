"""Avro's binary form as canonical values, by fastavro.

Sources: https://avro.apache.org/docs/1.12.0/specification/ and docs/types.md.

fastavro reads a bare copy of the writer's schema. Logical types are gone from it, so that what was written
comes out as it was. Each branch of a union is wrapped in a record of one field, which takes no bytes and
tells which branch it is. Symbols are read as their numbers: below zero fastavro counts symbols, and branches,
from the end.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from types import MappingProxyType
from typing import Any

import fastavro
from fastavro.types import Schema as AvroSchema

from frazil_verify.log.registry import Schema
from frazil_verify.table.canonical import sorted_pairs
from frazil_verify.table.metadata import columns_of
from frazil_verify.table.names import Names
from frazil_verify.values.avro_schema import as_record, branch_names, fields_of, kind_of, parsed, read_from
from frazil_verify.values.bad import BadRecordError, NotComparedError
from frazil_verify.values.debezium import with_logical_types
from frazil_verify.values.plain.avro import Convert, as_read, itself, nothing, plain
from frazil_verify.values.width import check_width, is_large, widest

_NESTED = ("record", "error", "array", "map")
_NO_BRANCHES, _NO_SIZE = 64, 2**31 - 1
"""Behind its branches a union has so many that no bytes fill: those that one byte names from the end."""


class AvroReader:
    """Reads records of one writer's schema as values of wanted fields.

    Args:
        writer: The schema that the records were written with.
        newest: The schema that says what the columns are; its defaults and aliases count.
        wanted: A type `struct` of Iceberg.
        defaults: Whether a field that the writer lacks has its default, or null.
        names: What the writer calls fields that have other names today, by their ids.
        root: What the field is called that a value without fields is.
        debezium: Whether Debezium's names of types count.
    """

    def __init__(
        self, writer: Schema, newest: Schema, wanted: Mapping[str, Any], *, defaults: bool = True,
        names: Names = MappingProxyType({}), root: str = "value", debezium: bool = False,
    ) -> None:  # fmt: skip
        named = with_logical_types if debezium else lambda tree: tree
        own, other = (as_record(named(parsed(schema)), root) for schema in (writer, newest))
        bare, self._convert = _Compiler(defaults, names).compile(own, other, wanted)
        self._bare: AvroSchema = fastavro.parse_schema(bare)
        self._wanted, self._widest = wanted, widest(wanted)

    def __call__(self, payload: bytes) -> tuple[Any, ...]:
        """The values of the wanted fields, in order.

        Raises:
            BadRecordError: The bytes are no such record.
        """
        stream = io.BytesIO(payload)
        try:
            read = fastavro.schemaless_reader(stream, self._bare, None)
        except Exception as e:  # fastavro lets many kinds out
            raise BadRecordError(f"{type(e).__name__}: {e}") from e
        if stream.read(1):
            raise BadRecordError("bytes behind the record")
        if is_large(payload, self._widest):
            check_width(read, self._wanted, len(payload))
        values: tuple[Any, ...] = self._convert(read)
        return values


@dataclass
class _Compiler:
    """Makes of a type its bare copy, and what turns a value of it into a canonical one."""

    defaults: bool
    names: Names
    _numbers: count[int] = field(default_factory=count)
    _around: dict[str, str] = field(default_factory=dict)
    """The records that a type stands in: their own names in the bare copy, by those in the schema."""

    def compile(self, node: Any, newest: Any, want: Any, hints: Sequence[Any] = ()) -> tuple[Any, Convert]:
        """Both for one type; `hints` are names of the branches of a union."""
        if isinstance(node, list):
            return self._union(node, newest, want, hints)
        kind = kind_of(node)
        _check_parts(kind, want)
        if kind in self._around:
            return self._within_itself(kind, want)
        newest = _same(newest, kind)
        if kind in ("record", "error"):
            return self._record(node, newest, want)
        if kind == "array":
            return self._array(node, newest, want, hints)
        if kind == "map":
            value = _value_of(want)
            bare, convert = self.compile(node["values"], _part(newest, "values"), value, hints)
            made = sorted_pairs if convert is itself else partial(_pairs, convert)
            return {"type": "map", "values": bare}, made
        return self._bare(node, kind), plain(node, kind, want)

    def _within_itself(self, name: str, want: Any) -> tuple[Any, Convert]:
        """A record within a record of its own kind, which is read, and looked at by nobody."""
        if want is not None:
            raise NotComparedError("a record that holds itself")
        return self._around[name], nothing

    def _record(self, node: Any, newest: Any, want: Any) -> tuple[Any, Convert]:
        called, around = self._name(), self._around
        self._around = {**around, str(node["name"]): called}
        fields, convert = self._fields(fields_of(node), newest, want)
        self._around = around
        return {"type": "record", "name": called, "fields": fields}, convert

    def _fields(self, own: Mapping[str, Any], newest: Any, want: Any) -> tuple[Any, Convert]:
        alone = {name: self.compile(f["type"], None, None) for name, f in own.items()}
        takes: list[tuple[str, Convert]] = []
        bare = {name: kind for name, (kind, _) in alone.items()}
        columns, today = columns_of(want) if _is(want, "struct") else (), fields_of(newest)
        called = {self.names.get(column.id, column.name): column.name for column in columns}
        sources = read_from(own, called, today)
        for column in columns:
            wanted = today.get(column.name)
            if (name := sources.get(column.name)) is None:
                takes.append(("", _constant(wanted, column.type) if self.defaults else nothing))
                continue
            hints = own[name].get("confluent:union") or ()
            bare[name], convert = self.compile(
                own[name]["type"], wanted and wanted["type"], column.type, hints
            )
            takes.append((name, convert))
            alone.pop(name, None)
        width = len(takes)  # fields without a column are judged all the same
        judged = ((n, convert) for n, (_, convert) in alone.items() if n in today)
        takes += [(n, convert) for n, convert in judged if convert is not nothing]
        fields = [{"name": n, "type": t} for n, t in bare.items()]
        return fields, _taken(takes, width)

    def _array(self, node: Any, newest: Any, want: Any, hints: Sequence[Any]) -> tuple[Any, Convert]:
        if _is(want, "map"):
            pair = {"type": "struct", "fields": [_field("key", want["key"]), _field("value", want["value"])]}
            bare, convert = self.compile(node["items"], _part(newest, "items"), pair)
            return {"type": "array", "items": bare}, lambda v: sorted_pairs(
                dict(_entry(convert(each)) for each in v)
            )
        element = want["element"] if _is(want, "list") else None
        bare, convert = self.compile(node["items"], _part(newest, "items"), element, hints)
        made = tuple if convert is itself else lambda v: tuple([convert(each) for each in v])
        return {"type": "array", "items": bare}, made

    def _union(
        self, node: Sequence[Any], newest: Any, want: Any, hints: Sequence[Any]
    ) -> tuple[Any, Convert]:
        branches = [each for each in node if kind_of(each) != "null"]
        if len(branches) <= 1:
            made = [self.compile(each, newest, want, hints) for each in branches]
            convert = made[0][1] if made else nothing
            bare = ["null" if kind_of(each) == "null" else made[0][0] for each in node] + self._no_branches()
            stays = convert is itself or convert is nothing
            return bare, convert if stays else lambda v: None if v is None else convert(v)
        return self._branches(node, newest, want, iter(branch_names(branches, hints)))

    def _branches(
        self, node: Sequence[Any], newest: Any, want: Any, names: Iterator[str]
    ) -> tuple[Any, Convert]:
        if want is not None and not _is(want, "struct"):
            raise NotComparedError(f"a union as {want}")
        wanted = columns_of(want) if want is not None else ()
        bare: list[Any] = []
        converts: dict[str, tuple[int, Convert]] = {}
        for at, branch in enumerate(node):
            if kind_of(branch) == "null":
                bare.append("null")
                continue
            name = next(names)
            place = next((i for i, c in enumerate(wanted) if c.name == name), None)
            kind = None if place is None else wanted[place].type
            made, convert = self.compile(branch, newest, kind)
            bare.append(
                {"type": "record", "name": self._name(), "fields": [{"name": f"b{at}", "type": made}]}
            )
            converts[f"b{at}"] = (-1 if place is None else place, convert)
        bare += self._no_branches()
        if want is None:
            return bare, lambda v: None if v is None else _judged(v, converts)
        return bare, lambda v: None if v is None else _branch(v, converts, len(wanted))

    def _bare(self, node: Any, kind: str) -> Any:
        if kind == "boolean":  # fastavro takes any byte for one
            return {"type": "fixed", "name": self._name(), "size": 1}
        if kind == "fixed":
            return {"type": "fixed", "name": self._name(), "size": node["size"]}
        return "int" if kind == "enum" else kind

    def _no_branches(self) -> list[Any]:
        name = self._name()
        return [{"type": "fixed", "name": name, "size": _NO_SIZE}, *[name] * (_NO_BRANCHES - 1)]

    def _name(self) -> str:
        return f"n{next(self._numbers)}"


def _judged(value: Mapping[str, Any], converts: Mapping[str, tuple[int, Convert]]) -> None:
    """Has the value of a branch refused that is none."""
    for word, inner in value.items():
        converts[word][1](inner)


def _branch(
    value: Mapping[str, Any], converts: Mapping[str, tuple[int, Convert]], width: int
) -> tuple[Any, ...]:
    ((word, inner),) = value.items()
    place, convert = converts[word]
    if place < 0:
        raise NotComparedError("a branch of a union has a field of another name")
    return tuple(convert(inner) if i == place else None for i in range(width))


def _constant(wanted: Mapping[str, Any] | None, kind: Any) -> Convert:
    """The value of a field that the writer did not have."""
    default = (wanted or {}).get("default")
    if default is None or wanted is None:
        return nothing
    written = wanted["type"]
    tree = written[0] if isinstance(written, list) else written
    if kind_of(tree) in (*_NESTED, "bytes", "fixed"):
        raise NotComparedError("a default of more than one part")
    value = plain(tree, kind_of(tree), kind)(as_read(tree, kind_of(tree), default))
    return lambda _: value


def _check_parts(kind: str, want: Any) -> None:
    """Refuses a value with parts where the column has others; None is wanted where nobody looks."""
    parts = {"record": ("struct",), "error": ("struct",), "array": ("list", "map"), "map": ("map",)}.get(kind)
    if want is not None and parts and not any(_is(want, each) for each in parts):
        raise NotComparedError(f"Avro's {kind} as {want}")


def _taken(takes: Sequence[tuple[str, Convert]], width: int) -> Convert:
    """What takes fields out of a record, each by its name and made by its own; only the first ones are kept.

    Most values stay as they are: so all are taken at once, and what changes is changed then.
    """
    names = [name for name, _ in takes]
    changed = [(at, convert) for at, (_, convert) in enumerate(takes) if convert is not itself]

    def of(value: Mapping[str, Any]) -> tuple[Any, ...]:
        values = list(map(value.get, names))
        for at, convert in changed:
            values[at] = convert(values[at])
        return tuple(values[:width])

    return of


def _pairs(convert: Convert, value: Mapping[str, Any]) -> tuple[tuple[Any, Any], ...]:
    return sorted_pairs({key: convert(each) for key, each in value.items()})


def _entry(pair: tuple[Any, Any]) -> tuple[Any, Any]:
    if pair[0] is None:
        raise BadRecordError("an entry of a map without a key")
    return pair


def _field(name: str, kind: Any) -> dict[str, Any]:
    return {"id": -1, "name": name, "type": kind, "required": False}


def _same(newest: Any, kind: str) -> Any:
    """The branch of the newest type that is of this kind: what a union says of a record in it."""
    if isinstance(newest, list):
        return next((each for each in newest if kind_of(each) == kind), None)
    return newest


def _part(node: Any, name: str) -> Any:
    return node.get(name) if isinstance(node, dict) else None


def _is(want: Any, kind: str) -> bool:
    return isinstance(want, Mapping) and want["type"] == kind


def _value_of(want: Any) -> Any:
    return want["value"] if _is(want, "map") else None
