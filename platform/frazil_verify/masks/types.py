"""The types that schemas give to fields, where no column has them any more. Source: docs/types.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from frazil_verify.log.registry import Schema
from frazil_verify.request import Half
from frazil_verify.table.metadata import Column
from frazil_verify.values.avro_schema import as_record, fields_of, kind_of, parsed, without_null
from frazil_verify.values.bad import NotComparedError
from frazil_verify.values.debezium import with_logical_types
from frazil_verify.values.json import Compiler
from frazil_verify.values.plain.json import kinds
from frazil_verify.values.proto_files import compiled

Path = Sequence[str]
"""The names on the way to a field; `element` and `value` lead into lists and maps."""

_MOST_DIGITS = 38
_LOGICAL = {
    ("int", "date"): "date", ("int", "time-millis"): "long", ("long", "time-micros"): "long",
    ("long", "timestamp-millis"): "timestamptz", ("long", "timestamp-micros"): "timestamptz",
    ("long", "local-timestamp-millis"): "timestamp", ("long", "local-timestamp-micros"): "timestamp",
}  # fmt: skip
_AVRO = {
    **{kind: kind for kind in ("boolean", "int", "long", "float", "double", "string")},
    "enum": "string", "bytes": "binary", "fixed": "binary",
}  # fmt: skip
_CONNECT = "org.apache.kafka.connect.data."
_JSON = {"boolean": "boolean", "integer": "long", "number": "double", "string": "string"}
_NAMED = {"Date": "date", "Time": "long", "Timestamp": "timestamptz"}
_PROTOBUF = {
    **dict.fromkeys((FieldDescriptor.TYPE_INT32, FieldDescriptor.TYPE_SINT32), "int"),
    FieldDescriptor.TYPE_SFIXED32: "int", FieldDescriptor.TYPE_FLOAT: "float",
    FieldDescriptor.TYPE_DOUBLE: "double", FieldDescriptor.TYPE_BOOL: "boolean",
    FieldDescriptor.TYPE_STRING: "string", FieldDescriptor.TYPE_ENUM: "string",
    FieldDescriptor.TYPE_BYTES: "binary",
    **dict.fromkeys(
        (
            FieldDescriptor.TYPE_UINT32, FieldDescriptor.TYPE_FIXED32, FieldDescriptor.TYPE_INT64,
            FieldDescriptor.TYPE_SINT64, FieldDescriptor.TYPE_SFIXED64, FieldDescriptor.TYPE_UINT64,
            FieldDescriptor.TYPE_FIXED64,
        ),
        "long",
    ),
}  # fmt: skip


def column_of(half: Half, newest: Schema | None, path: Path, inner: str, word: str) -> Column:
    """A field as a column of its own, within records of one field where it is within others.

    Raises:
        NotComparedError: The half has no such field, or it has parts.
    """
    kind: Any = type_of(half, newest, path, inner, word)
    for name in reversed(path[1:]):
        fields = [{"id": -1, "name": name, "type": kind, "required": False}]
        kind = {"type": "struct", "fields": fields}
    return Column(-1, path[0], kind, False)


def type_of(half: Half, newest: Schema | None, path: Path, inner: str, word: str) -> str:
    """The type of a field without parts, as the metadata of a table writes it.

    Args:
        newest: The schema that says what the columns are.
        inner: The field of the record that holds the row; empty for the record itself.
        word: What the field is called that a value without fields is.

    Raises:
        NotComparedError: The half has no such field, or it has parts.
    """
    if newest is None:
        return _WHOLE[half.format] if list(path) == [word] and half.format in _WHOLE else _listed(half, path)
    kind = _KINDS[newest.kind](half, newest, path, inner, word)
    if kind is None:
        raise NotComparedError(f"no plain type is known of {'.'.join(path)}")
    return kind


def _listed(half: Half, path: Path) -> str:
    kinds_of = {field.name: field.type for field in half.fields}
    kind = kinds_of.get(path[0], "").replace(" ", "")
    if len(path) > 1 or not kind or kind.startswith("list<"):
        raise NotComparedError(f"no plain type is known of {'.'.join(path)}")
    return "string" if kind == "json" else kind


def _avro(half: Half, newest: Schema, path: Path, inner: str, word: str) -> str | None:
    tree = as_record(parsed(newest), word)
    node = with_logical_types(tree) if half.of_database else tree
    for name in ([inner] if inner else []) + [*path]:
        node = without_null(node)
        parts = {"array": ("element", "items"), "map": ("value", "values")}.get(kind_of(node), ("", ""))
        node = node[parts[1]] if name == parts[0] else fields_of(node).get(name, {}).get("type")
        if node is None:
            return None
    return _plain_avro(without_null(node))


def _plain_avro(node: Any) -> str | None:
    logical = str(node.get("logicalType", "")) if isinstance(node, Mapping) else ""
    kind = kind_of(node)
    if logical == "decimal" and kind in ("bytes", "fixed"):
        return f"decimal({min(node['precision'], _MOST_DIGITS)}, {node.get('scale', 0)})"
    return _LOGICAL.get((kind, logical), _AVRO.get(kind))


def _json(half: Half, newest: Schema, path: Path, inner: str, word: str) -> str | None:
    tree = Compiler(newest, half.of_database)
    node = tree.record(word)
    for name in ([inner] if inner else []) + [*path]:
        node = tree.plain(node)
        known = tree.properties(node)
        if name in known:
            node = known[name]
        else:
            node = node.get({"element": "items", "value": "additionalProperties"}.get(name, ""))
        if not isinstance(node, Mapping):
            return None
    return _plain_json(tree.plain(node))


def _plain_json(node: Mapping[str, Any]) -> str | None:
    types, name = kinds(node) - {"null"}, str(node.get("title", "")).removeprefix(_CONNECT)
    connect = node.get("connect.type", "")
    if name == "Decimal":
        noted = node.get("connect.parameters", {})
        digits = int(noted.get("connect.decimal.precision", 0))
        return f"decimal({min(digits, _MOST_DIGITS)}, {int(noted['scale'])})" if digits else None
    if len(types) > 1:
        return None
    kind = _JSON.get(next(iter(types)))
    by_connect = {"int8": "int", "int16": "int", "int32": "int", "float32": "float", "bytes": "binary"}
    return _NAMED.get(name) or by_connect.get(connect, kind) if kind else None


def _protobuf(half: Half, newest: Schema, path: Path, _: str, __: str) -> str | None:
    messages = compiled(newest)[1].message_types_by_name.values()
    first = next((m for m in messages if half.record_type in ("", m.full_name)), None)
    return _field_in(first, [*path])


def _field_in(message: Descriptor | None, path: list[str]) -> str | None:
    field = message.fields_by_name.get(path[0]) if message is not None else None
    if message is None or field is None:
        return None
    rest = path[1:]
    entry = field.message_type is not None and field.message_type.GetOptions().map_entry
    if field.is_repeated and rest:
        if entry:
            return _field_in(field.message_type, rest) if rest[0] == "value" else None
        rest = rest[1:] if rest[0] == "element" else ["?"]
    elif field.is_repeated:
        return None
    return _field_in(field.message_type, rest) if rest else _PROTOBUF.get(field.type)


_WHOLE = {"string": "string", "bytes": "binary"}
_KINDS = {"AVRO": _avro, "JSON": _json, "PROTOBUF": _protobuf}
