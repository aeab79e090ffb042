"""JSON Schema among the formats: its columns, its decoder, and what gives its records their shape."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from frazil.errors import MALFORMED, SchemaRefusedError
from frazil.formats.bare import Bare
from frazil.formats.encryption.leaves import Leaf
from frazil.formats.json.independent import columns_of_text
from frazil.formats.json.nodes import Node
from frazil.formats.json.reasons import JsonReasons, validator_maker
from frazil.formats.json.schemas.references import NAMED, Flat, References, Within, flat
from frazil.formats.json.schemas.versions import json_columns, json_names, readable, shared_columns
from frazil.formats.json.schemas.words import branch_names, implied, is_null
from frazil.formats.json.width import LARGE, fault
from frazil.formats.logical import Struct
from frazil.formats.paths import member_path
from frazil.formats.protocol import (
    MAX_DEPTH,
    UNREADABLE,
    ArrowDecoder,
    HalfSchemas,
    Mapping,
    Reason,
    WriterSchema,
)
from frazil.formats.wires.prefix import WireError, WireFormat

Parts = Iterator[tuple[str, Any]]

_TAGS = "confluent:tags"

_NOTES = frozenset({"$schema", "$id", "$comment", "description", "examples"})
"""Keywords that say nothing about a record's shape."""


class Json:
    """See `SchemaFormat`."""

    title = "JSON"
    takes_record_type = False

    def columns(self, schemas: HalfSchemas) -> Struct:
        """See `Format.columns`."""
        word, unmappable = schemas.half.word, schemas.unmappable
        return json_columns(schemas.writers, schemas.subject, word, unmappable, schemas.renames)

    def decoder(self, schemas: HalfSchemas) -> JsonDecoder:
        """See `Format.decoder`."""
        return JsonDecoder(schemas)

    def check(self, text: str) -> None:
        """See `SchemaFormat.check`."""
        import jsonschema_rs

        nothing_else = jsonschema_rs.Registry([])  # else it would fetch a meta-schema from anywhere
        try:
            jsonschema_rs.meta.validate(json.loads(text), registry=nothing_else)
        except jsonschema_rs.ReferencingError as e:
            raise ValueError(str(e)) from None

    def shape(self, schema: WriterSchema) -> Parts:
        """See `SchemaFormat.shape`: docs and the order of keywords make no difference."""
        return _json(json.loads(schema.text), "")

    def fingerprint(self, schema: WriterSchema) -> bytes:
        """See `SchemaFormat.fingerprint`."""
        return b""

    def leaves(self, schemas: HalfSchemas, schema: WriterSchema) -> Iterator[Leaf]:
        """See `SchemaFormat.leaves`."""
        leaves = _leaves(schema, schemas.subject, bool(schemas.unmappable.texts))
        names = json_names(schemas).get(schema.schema_id, {})
        return (leaf.today(names) for leaf in leaves)


class JsonDecoder:
    """Decodes JSON, framed or bare."""

    def __init__(self, schemas: HalfSchemas) -> None:
        every = _readable(schemas, schemas.writers)
        self.columns = shared_columns(every, schemas.half.word)
        writers = schemas.writers if schemas.framed else schemas.writers[-1:]
        self._nodes = every if schemas.framed else _readable(schemas, writers)
        self.writers = tuple(self._nodes)
        self._unreadable = {w.schema_id for w in writers} - set(self._nodes)
        self._texts = {w.schema_id: w for w in reversed(writers) if w.schema_id in self._nodes}
        if schemas.strict:
            _check_rules(self._texts.values(), schemas.subject)
        self._reasons = {i: JsonReasons(w, self._nodes[i], schemas.strict) for i, w in self._texts.items()}
        self._schemas, self._wire = schemas, WireFormat(schemas.framed, writers[-1].schema_id)

    def arrow(self) -> ArrowDecoder:
        """See `Decoder.arrow`."""
        from frazil.formats.json.arrow import JsonRecipe

        rules = ((self._texts[i].text, self._texts[i].dependencies) for i in self._nodes)
        return JsonRecipe(
            nodes=tuple(self._nodes.items()),
            columns=self.columns,
            framed=self._schemas.framed,
            rules=tuple(rules) if self._schemas.strict else (),
        )

    def explain(self, raw: bytes) -> Reason:
        """See `Decoder.explain`; by Python's parser and jsonschema-rs."""
        try:
            schema_id, payload = self._wire.parts(raw)
        except WireError as e:
            return e.reason
        if schema_id in self._unreadable:
            return UNREADABLE, f"schema id {schema_id} can't be read by the newest version"
        if schema_id not in self._reasons:
            return "schema_id", f"schema id {schema_id} is not of subject {self._schemas.subject}"
        if why := fault(self._nodes[schema_id], payload):
            return why
        code, words = self._reasons[schema_id].explain(payload)
        if code == "value" and len(payload) > LARGE:
            return "too_large", f"it has {len(payload):,} bytes, which may be too many"
        return code, words

    def values(self, raw: bytes) -> Bare | None:
        """See `Decoder.values`."""
        try:
            schema_id, payload = self._wire.parts(raw)
            return columns_of_text(self._nodes[schema_id], self.columns, payload)
        except (*MALFORMED, WireError):
            return None


def _readable(schemas: HalfSchemas, writers: Sequence[WriterSchema]) -> dict[int, Node]:
    return readable(writers, schemas.subject, schemas.unmappable, schemas.renames, schemas.half.word)


def _json(schema: Any, path: str, own_names: bool = False) -> Parts:
    match schema:
        case {} if schema:
            for word in sorted(schema):
                if own_names or word not in _NOTES:
                    yield from _json(schema[word], member_path(path, word), not own_names and word in NAMED)
        case [*items] if any(isinstance(item, dict | list) for item in items):
            for i, item in enumerate(items):
                yield from _json(item, f"{path}[{i}]")
        case [*items]:
            yield path, sorted(items, key=json.dumps)
        case _:
            yield path, schema


def _check_rules(writers: Iterable[WriterSchema], subject: str) -> None:
    """Makes sure, before Spark's workers do, that jsonschema-rs takes all patterns and references."""
    make = validator_maker()
    for writer in writers:
        try:
            make(writer.text, writer.dependencies)
        except Exception as e:  # noqa: BLE001 - it raises several kinds, and passes on the retriever's
            raise SchemaRefusedError(
                f"Records can't be validated: {e!s:.300}",
                where=f"subject {subject}, schema id {writer.schema_id}",
                meaning="Nothing was landed.",
                todo="Fix the schema, or set validate: types.",
            ) from None


def _leaves(writer: WriterSchema, subject: str, cuts: bool) -> Iterator[Leaf]:
    """The leaves of a schema."""
    with Mapping(subject).schema("JSON"):
        references = References(writer.text, writer.dependencies, cuts=cuts)
        yield from _Leaves(subject, references).of(references.root, Leaf("", "$"), ())


class _Leaves:
    """One walk over one schema: the values by the properties that they stand in, and the tags of these.

    It goes where Confluent's clients go to encrypt: into properties, items and branches, not into other
    values of an object. A property's tags are those beside it, not those of what it refers to.
    """

    def __init__(self, subject: str, references: References) -> None:
        self._refuse = Mapping(subject).refusal
        self._references = references

    def of(self, schema: Any, leaf: Leaf, within: Within, depth: int = 0) -> Iterator[Leaf]:
        """The leaves of what a schema says stands at a place."""
        if not isinstance(schema, dict) or depth > MAX_DEPTH:
            return
        try:
            flattened, within = self._flat(schema, leaf, within)
            unions = flattened.get("oneOf") or flattened.get("anyOf") or ()
            branches = [self._flat(each, leaf, within) for each in unions]
        except SchemaRefusedError:  # what has no column of its own, as a part within itself
            return
        real = [branch for branch in branches if not is_null(branch[0])]
        names = branch_names(real) if len(real) > 1 and "properties" not in flattened else [""] * len(real)
        for name, (branch, inner) in zip(names, real, strict=True):
            yield from self.of(branch, leaf.within(name) if name else leaf, inner, depth + 1)
        if not real:
            yield from self._typed(flattened, leaf, within, depth)

    def _flat(self, schema: Any, leaf: Leaf, within: Within) -> Flat:
        return flat(schema, self._references, within, partial(self._refuse, leaf.path))

    def _typed(self, schema: dict[str, Any], leaf: Leaf, within: Within, depth: int) -> Iterator[Leaf]:
        kinds = schema.get("type") or implied(schema)
        kinds = [kinds] if isinstance(kinds, str) else [kind for kind in kinds or () if kind != "null"]
        if "object" in kinds:
            yield from self._properties(schema, leaf, within, depth)
        elif "array" in kinds:
            name = "value" if schema.get("connect.type") == "map" else "element"
            yield from self.of(schema.get("items"), leaf.within(name), within, depth + 1)
        elif leaf.path:
            yield leaf

    def _properties(self, schema: dict[str, Any], leaf: Leaf, within: Within, depth: int) -> Iterator[Leaf]:
        for name, each in (schema.get("properties") or {}).items():
            tags = each.get(_TAGS) if isinstance(each, dict) else None
            own = (tag for tag in tags if isinstance(tag, str)) if isinstance(tags, list) else ()
            path = f"{leaf.path}.{name}" if leaf.path else name
            field = Leaf(path, f"{leaf.field}.{name}", frozenset(own))
            yield from self.of(each, field, within, depth + 1)
