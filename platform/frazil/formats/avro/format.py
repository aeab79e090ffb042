"""Avro among the formats: its columns, its decoder, and what gives its records their shape."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from frazil.errors import MALFORMED
from frazil.formats.avro.decoding.canonical import BadPayloadError
from frazil.formats.avro.decoding.payloads import texts_of
from frazil.formats.avro.reasons import AvroReasons
from frazil.formats.avro.schemas.logical import branch_names, is_entries
from frazil.formats.avro.schemas.pairs import real
from frazil.formats.avro.schemas.parser import PRIMITIVES, TAGS, parse_avro
from frazil.formats.avro.schemas.versions import avro_names, versions
from frazil.formats.bare import Bare
from frazil.formats.encryption.leaves import Leaf
from frazil.formats.logical import Struct
from frazil.formats.paths import member_path
from frazil.formats.protocol import UNREADABLE, ArrowDecoder, HalfSchemas, Reason, WriterSchema
from frazil.formats.wires.prefix import WireError, WireFormat

Parts = Iterator[tuple[str, Any]]

_SHAPE = ("symbols", "size", "logicalType", "precision", "scale", "default", "aliases", "order")
"""What makes two Avro schemas differ besides types and names; docs and other systems' notes do not."""

_PRIMITIVE = PRIMITIVES | {"array", "map"}


class Avro:
    """See `SchemaFormat`."""

    title = "Avro"
    takes_record_type = False

    def columns(self, schemas: HalfSchemas) -> Struct:
        """See `Format.columns`."""
        return versions(schemas).columns

    def decoder(self, schemas: HalfSchemas) -> AvroDecoder:
        """See `Format.decoder`."""
        return AvroDecoder(schemas)

    def check(self, text: str) -> None:
        """See `SchemaFormat.check`."""
        import fastavro

        try:
            fastavro.parse_schema(json.loads(text))
        except fastavro.schema.UnknownType as e:
            raise ValueError(f"there is no type {e}") from None
        except KeyError as e:
            raise ValueError(f"{e} is missing") from None
        except (fastavro.schema.SchemaParseException, TypeError) as e:
            raise ValueError(str(e)) from None

    def shape(self, schema: WriterSchema) -> Parts:
        """See `SchemaFormat.shape`: docs, notes and the way names are written make no difference."""
        return _avro(json.loads(schema.text), "", "")

    def fingerprint(self, schema: WriterSchema) -> bytes:
        """See `SchemaFormat.fingerprint`; empty, too, where the schema refers to others."""
        from fastavro.schema import SchemaParseException, fingerprint, to_parsing_canonical_form

        if schema.references:
            return b""
        try:
            return bytes.fromhex(
                fingerprint(to_parsing_canonical_form(json.loads(schema.text)), "CRC-64-AVRO")
            )
        except (*MALFORMED, SchemaParseException):
            return b""

    def leaves(self, schemas: HalfSchemas, schema: WriterSchema) -> Iterator[Leaf]:
        """See `SchemaFormat.leaves`."""
        word = schemas.half.word
        tree = parse_avro(schema.text, schemas.subject, schema.dependencies, word, cuts=True)
        names = avro_names(schemas).get(schema.schema_id, {})
        return (leaf.today(names) for leaf in _leaves(tree))


class AvroDecoder:
    """Decodes Avro, each record with the schema it was written with."""

    def __init__(self, schemas: HalfSchemas) -> None:
        known = versions(schemas)
        self.columns, self.writers = known.columns, tuple(known.pairs)
        self._subject, self._newest, self._unreadable = schemas.subject, known.newest, known.unreadable
        self._wire = WireFormat(schemas.framed, schemas.writers[-1].schema_id)
        self._pairs = known.pairs
        self._texts = texts_of({i: writer for i, (writer, _) in known.pairs.items()}, schemas.framed)
        self._reasons = {i: AvroReasons(*pair, self.columns) for i, pair in known.pairs.items()}

    def arrow(self) -> ArrowDecoder:
        """See `Decoder.arrow`."""
        from frazil.formats.avro.decoding.arrow import recipe_of

        return recipe_of(self._pairs, self.columns, self._wire.framed)

    def explain(self, raw: bytes) -> Reason:
        """See `Decoder.explain`; by fastavro."""
        try:
            schema_id, payload = self._wire.parts(raw)
        except WireError as e:
            return e.reason
        if why := self._unreadable.get(schema_id):
            return UNREADABLE, why
        if schema_id not in self._reasons:
            return "schema_id", f"schema id {schema_id} is not of subject {self._subject}"
        try:
            payload = self._texts.payload(schema_id, payload) if self._texts else payload
        except BadPayloadError as e:
            return "payload", f"the payload is damaged: {e}"
        code, why = self._reasons[schema_id].explain(payload)
        return code, f"{why}, by {self._newest}" if code == "value" else why

    def values(self, raw: bytes) -> Bare | None:
        """See `Decoder.values`."""
        try:
            schema_id, payload = self._wire.parts(raw)
            payload = self._texts.payload(schema_id, payload) if self._texts else payload
        except (WireError, BadPayloadError):
            return None
        return self._reasons[schema_id].values(payload) if schema_id in self._reasons else None


def _avro(schema: Any, path: str, namespace: str) -> Parts:
    if isinstance(schema, list):
        yield path, [_branch(branch, namespace) for branch in schema]
        for i, branch in enumerate(schema):
            yield from _avro(branch, f"{path}[{i}]", namespace)
    elif isinstance(schema, str):
        yield path, _full(schema, namespace)
    elif isinstance(schema["type"], dict | list):
        yield from _avro(schema["type"], path, namespace)
    else:
        yield from _node(schema, path, namespace)


def _branch(schema: Any, namespace: str) -> str:
    if isinstance(schema, dict):
        return _full(schema.get("name", str(schema["type"])), schema.get("namespace", namespace))
    return _full(schema, namespace)


def _node(schema: dict[str, Any], path: str, namespace: str) -> Parts:
    kind = schema["type"]
    if "name" in schema:
        name = _full(schema["name"], schema.get("namespace", namespace))
        namespace = name.rpartition(".")[0]
        yield path, f"{kind} {name}"
    else:
        yield path, _full(kind, namespace)
    yield from _shape(schema, path)
    for inner in ("items", "values"):
        if inner in schema:
            yield from _avro(schema[inner], f"{path}.{inner}", namespace)
    for place, field in enumerate(schema.get("fields", ())):
        at = member_path(path, field["name"])
        yield f"{at} (position)", place
        yield from _shape(field, at, " (field)")
        yield from _avro(field["type"], at, namespace)


def _shape(schema: dict[str, Any], path: str, kind: str = "") -> Parts:
    return ((f"{path} {key}{kind}", schema[key]) for key in _SHAPE if key in schema)


def _full(name: str, namespace: str) -> str:
    simple = "." in name or not namespace or name in _PRIMITIVE
    return name if simple else f"{namespace}.{name}"


def _leaves(tree: dict[str, Any]) -> Iterator[Leaf]:
    """The leaves of a tree that `parse_avro` gives."""
    return _record(tree, "")


def _record(node: dict[str, Any], at: str) -> Iterator[Leaf]:
    for field in node["fields"]:
        tags = field.get(TAGS)
        leaf = Leaf(
            f"{at}{field['name']}",
            f"{node['name']}.{field['name']}",
            frozenset(filter(_is_text, tags)) if isinstance(tags, list) else frozenset(),
        )
        yield from _type(field["type"], leaf, field.get("confluent:union") or ())


def _is_text(tag: object) -> bool:
    return isinstance(tag, str)


def _type(node: Any, leaf: Leaf, hints: Any = ()) -> Iterator[Leaf]:
    """The values of a type that stands in a field."""
    if isinstance(node, list):
        branches = real(node)
        if len(branches) == 1:
            yield from _type(branches[0], leaf, hints)
            return
        for name, branch in zip(branch_names(branches, hints), branches, strict=True):
            yield from _type(branch, leaf.within(name))
        return
    match node["type"]:
        case "record":
            yield from _record(node, f"{leaf.path}.")
        case "array" if is_entries(node):
            parts = {field["name"]: field for field in node["items"]["fields"]}
            yield from _type(parts["value"]["type"], leaf.within("value"))
        case "array":
            yield from _type(node["items"], leaf.within("element"), hints)
        case "map":
            yield from _type(node["values"], leaf.within("value"), hints)
        case "null":
            return
        case _:
            yield leaf
