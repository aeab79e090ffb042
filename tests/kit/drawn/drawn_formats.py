"""Drawn schemas as each format writes them, with what they refer to; records by independent encoders."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any
from zlib import crc32

import fastavro
from google.protobuf.json_format import ParseDict
from google.protobuf.message_factory import GetMessageClass

from frazil.formats.protocol import WriterSchema
from kit.drawn.drawn_schemas import HINTS, NUMBERED, Choice, Kind, groups_of
from kit.drawn.random_formats import AVRO, HEAD, JSON, PROTOBUF, RANDOM_FORMATS, as_json
from kit.drawn.random_records import SYMBOLS, Group, Many, Maybe, Named, Scalar
from kit.formats.protobuf import compiled_file

__all__ = ["DRAWN_FORMATS", "Written"]

_SPACE = "n.s"


@dataclass(frozen=True, slots=True)
class Written:
    """A schema as the registry has it, and what encodes its records, without a header."""

    writer: WriterSchema
    encode: Callable[[dict[str, Any]], bytes]


def _shared(root: Group) -> list[Group]:
    return [group for name, group in groups_of(root).items() if name.startswith("Shared")]


def _writer(number: int, kind: str, text: str, others: dict[str, str]) -> WriterSchema:
    return WriterSchema(number, number, text, kind, (), tuple(others.items()))


def _write_avro(root: Group, number: int) -> Written:
    known: set[str] = set()
    others = {f"{_SPACE}.{each.name}": _avro(each, known) for each in _shared(root)}
    whole = _avro(root, known)
    names: dict[str, Any] = {}
    for each in others.values():
        fastavro.parse_schema(each, named_schemas=names)
    parsed = fastavro.parse_schema(whole, named_schemas=names)

    def encode(record: dict[str, Any]) -> bytes:
        stream = io.BytesIO()
        fastavro.schemaless_writer(stream, parsed, _chosen(root, record, _as_tuple))
        return stream.getvalue()

    texts = {name: json.dumps(each) for name, each in others.items()}
    return Written(_writer(number, "AVRO", json.dumps(whole), texts), encode)


def _as_tuple(_: str, kind: Kind, value: Any) -> Any:
    assert isinstance(kind, Group | Scalar)
    return (".".join(_full(kind.name)) if isinstance(kind, Group) else kind.word), value


def _full(name: str) -> tuple[str, str]:
    """A record's namespace and name: several have one simple name."""
    return (f"n.s{name[-1]}", "Own") if name.startswith("Own") else (_SPACE, name)


def _avro(kind: Kind, known: set[str]) -> Any:
    match kind:
        case Scalar("enum") if "Enum" in known:
            return f"{_SPACE}.Enum"
        case Scalar("enum"):
            known.add("Enum")
            return {"type": "enum", "name": "Enum", "namespace": _SPACE, "symbols": SYMBOLS}
        case Scalar():
            return AVRO[kind.word]
        case Maybe():
            inner = _avro(kind.of, known)
            return ["null", *(inner if isinstance(inner, list) else [inner])]
        case Many():
            return {"type": "array", "items": _avro(kind.of, known)}
        case Named():
            return {"type": "map", "values": _avro(kind.of, known)}
        case Choice():
            return [_avro(of, known) for _, of in kind.branches]
        case Group() if kind.name in known:
            return ".".join(_full(kind.name))
        case Group():
            fields = [
                {"name": n, "type": _avro(of, known), **_default(of), **_hints(of)} for n, of in kind.fields
            ]
            known.add(kind.name)
            space, name = _full(kind.name)
            return {"type": "record", "name": name, "namespace": space, "fields": fields}


def _default(kind: Kind) -> dict[str, Any]:
    return {"default": None} if isinstance(kind, Maybe) else {}


def _hints(kind: Kind) -> dict[str, Any]:
    inner = kind.of if isinstance(kind, Maybe) else kind
    if not isinstance(inner, Choice) or not all(name in HINTS for name, _ in inner.branches):
        return {}
    return {"confluent:union": [{"name": HINTS[name]} for name, _ in inner.branches]}


def _write_json(root: Group, number: int) -> Written:
    shared = _shared(root)
    own = [group for group in groups_of(root).values() if group not in (root, *shared)]
    whole = {**_object(root), "$defs": {each.name: _object(each) for each in own}}
    others = {f"{each.name}.json": json.dumps(_object(each)) for each in shared}

    def encode(record: dict[str, Any]) -> bytes:
        return json.dumps(_chosen(root, record, lambda _, __, value: value), ensure_ascii=False).encode()

    return Written(_writer(number, "JSON", json.dumps(whole), others), encode)


def _object(group: Group) -> dict[str, Any]:
    required = [name for name, of in group.fields if not isinstance(of, Maybe)]
    return {"type": "object", "properties": {n: _json(of) for n, of in group.fields}, "required": required}


def _json(kind: Kind) -> dict[str, Any]:
    match kind:
        case Scalar():
            return dict(JSON[kind.word])
        case Maybe(Choice() as choice):
            return {"oneOf": [{"type": "null"}, *_json(choice)["oneOf"]]}
        case Maybe():
            return {"oneOf": [{"type": "null"}, _json(kind.of)]}
        case Many():
            return {"type": "array", "items": _json(kind.of)}
        case Named():
            return {"type": "object", "connect.type": "map", "additionalProperties": _json(kind.of)}
        case Choice():
            titles = [f"odd.{n}-🚋" if n.startswith(NUMBERED) else n for n, _ in kind.branches]
            return {
                "oneOf": [{"title": t, **_json(of)} for t, (_, of) in zip(titles, kind.branches, strict=True)]
            }
        case Group():
            shared = kind.name.startswith("Shared")
            return {"$ref": f"{kind.name}.json" if shared else f"#/$defs/{kind.name}"}


def _write_protobuf(root: Group, number: int) -> Written:
    shared = _shared(root)
    files = {f"shared/{each.name}.proto": _file([each], root) for each in shared}
    own = [group for group in groups_of(root).values() if group not in (root, *shared)]
    text = _file([root, *own], root)
    writer = _writer(number, "PROTOBUF", text, files)
    message = GetMessageClass(compiled_file(text, files).message_types_by_name["Root"])

    def encode(record: dict[str, Any]) -> bytes:
        return bytes(ParseDict(_members(root, record), message()).SerializeToString())

    return Written(writer, encode)


def _file(groups: list[Group], root: Group) -> str:
    """Each file has an enum of its own: names of symbols are unique within a package."""
    needed = {name for g in groups for name in groups_of(g) if name.startswith("Shared")}
    imports = [f'import "shared/{n}.proto";' for n in sorted(needed - {g.name for g in groups})]
    package = f"package {groups[0].name.lower()};"
    head, _, types = HEAD.partition("enum")
    return "\n".join([head, package, *imports, f"enum{types}", *(_message(g) for g in groups)])


def _message(group: Group) -> str:
    return f"message {group.name} {{ {' '.join(_lines(group))} }}"


def _lines(group: Group) -> Iterator[str]:
    for name, kind in group.fields:
        inner = kind.of if isinstance(kind, Maybe) else kind
        if isinstance(inner, Choice):
            members = (f"{_label(of)} {n} = {_number(n)};" for n, of in inner.branches)
            yield f"oneof {name} {{ {' '.join(members)} }}"
        else:
            yield f"{_label(kind)} {name} = {_number(name)};"


def _number(name: str) -> int:
    """A field's number follows from its name, so it stays when fields change places."""
    return 20_000 + crc32(name.encode()) % 2**28


def _label(kind: Kind) -> str:
    match kind:
        case Scalar():
            return PROTOBUF[kind.word]
        case Group():
            return f".{(kind.name if kind.name.startswith('Shared') else 'root').lower()}.{kind.name}"
        case Many():
            return f"repeated {_label(kind.of)}"
        case Named():
            return f"map<string, {_label(kind.of)}>"
        case Maybe():
            return f"optional {_label(kind.of)}"
        case _:
            raise AssertionError(kind)


def _members(kind: Kind, value: Any) -> Any:
    """Protobuf's own JSON: the member of a oneof stands beside the other fields."""
    match kind:
        case _ if value is None:
            return None
        case Group():
            members: dict[str, Any] = {}
            for name, of in kind.fields:
                inner = of.of if isinstance(of, Maybe) else of
                each = _members(inner, value[name])
                members |= each or {} if isinstance(inner, Choice) else {name: each}
            return {name: each for name, each in members.items() if each is not None}
        case Choice():
            return {name: _members(of, value[name]) for name, of in kind.branches if value[name] is not None}
        case Many():
            return [_members(kind.of, v) for v in value]
        case Named():
            return {k: _members(kind.of, v) for k, v in value.items()}
        case Maybe():
            return _members(kind.of, value)
        case _:
            return as_json(kind, value)


def _chosen(kind: Kind, value: Any, made: Callable[[str, Kind, Any], Any]) -> Any:
    """A row's value with each choice as it is written."""
    again = partial(_chosen, made=made)
    match kind:
        case _ if value is None:
            return None
        case Group():
            return {name: again(of, value[name]) for name, of in kind.fields}
        case Choice():
            name, of = next((n, of) for n, of in kind.branches if value[n] is not None)
            return made(name, of, again(of, value[name]))
        case Many():
            return [again(kind.of, v) for v in value]
        case Named():
            return {k: again(kind.of, v) for k, v in value.items()}
        case Maybe():
            return again(kind.of, value)
        case _:
            return value


_BY_NAME: dict[str, Callable[[Group, int], Written]] = {
    "avro": _write_avro, "json": _write_json, "protobuf": _write_protobuf,
}  # fmt: skip

DRAWN_FORMATS = tuple((of, _BY_NAME[of.name]) for of in RANDOM_FORMATS)
"""Each format, and what writes a record's schema in it, under a schema id."""
