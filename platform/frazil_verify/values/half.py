"""The key or the value of records: which columns it fills, and with what."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

from frazil_verify.log.registry import Schema, Schemas
from frazil_verify.request import Half
from frazil_verify.table.metadata import Column
from frazil_verify.table.names import Names, called
from frazil_verify.table.renamed import Renames, Tree, bring_up_to_date, depth_of, names_in, tree_of
from frazil_verify.values import avro, protobuf
from frazil_verify.values import json as json_values
from frazil_verify.values.avro_schema import as_record, fields_of, has_defaults, parsed, without_null
from frazil_verify.values.avro_schema import parts as avro_parts
from frazil_verify.values.bad import BadRecordError, NotComparedError
from frazil_verify.values.debezium import without_names
from frazil_verify.values.listed import ListedReader
from frazil_verify.values.naming import Headers, Naming
from frazil_verify.values.plain.avro import MisfitError
from frazil_verify.values.strict.rules import rules_of

Read = Callable[[bytes], tuple[Any, ...]]


@dataclass
class HalfReader:
    """Reads one half of records as values of the columns that it fills.

    Args:
        wanted: What is read of it: a type `struct` of Iceberg.
        word: `key` or `value`, in the names of headers.
        defaults: Whether a field that a record lacks has its default, or null.
        renames: Those that the table went through, by the paths that the fields have in this half.
        then: Names that wanted fields had when the records were landed, by their ids, where they had others.
    """

    half: Half
    schemas: Schemas
    wanted: Mapping[str, Any]
    word: str = "value"
    defaults: bool = True
    renames: Renames = ()
    then: Names = field(default_factory=dict)
    _readers: dict[int, Read] = field(default_factory=dict)
    _known: dict[int, Read] = field(default_factory=dict)
    _newest: Schema | None = None
    _ids: Mapping[int, str] = field(default_factory=dict)
    _strange: set[int] = field(default_factory=set)

    def __call__(self, payload: bytes, headers: Headers = ()) -> tuple[Any, ...]:
        """The values of what is wanted, in order.

        Args:
            payload: The bytes of this half.
            headers: Those of the record.

        Raises:
            BadRecordError: The bytes can't be read.
            NotComparedError: They can, but not by this verifier.
        """
        if self._is_registered:
            number, rest = self._naming.split(payload, headers)
            return (self._known.get(number) or self._by(number))(rest)
        return self._read(payload)

    @cached_property
    def _is_registered(self) -> bool:
        return self.half.format == "registry" and self.half.framing != "none"

    @cached_property
    def _read(self) -> Read:
        """What reads payloads of which nothing names a schema."""
        if self.half.format == "registry":
            return self._reader(self.newest)
        if self.half.format == "json":
            return self._listed
        if self.half.format == "none":
            return lambda _: ()
        whole = _text if self.half.format == "string" else lambda payload: (payload,)
        return whole if self.wanted["fields"] else lambda payload: whole(payload)[:0]

    @cached_property
    def _listed(self) -> ListedReader:
        names = [each["name"] for each in self.wanted["fields"]]
        return ListedReader(self.half.fields, self.half.rest, names)

    @property
    def newest(self) -> Schema:
        """The newest version of the subject: it says what the columns are."""
        if self._newest is None:
            self._newest = self.schemas.newest(self.half.subject)
        return self._newest

    def is_of_another_table(self, payload: bytes, headers: Headers) -> bool:
        """Whether a record belongs to another table of the topic: it is left out, whatever its key is."""
        return bool(self.half.others) and self._naming.is_of_another_table(payload, headers)

    @cached_property
    def _naming(self) -> Naming:
        return Naming(self.schemas, self.half, self.word, self.newest.kind == "PROTOBUF")

    def _by(self, number: int) -> Read:
        """What reads records of a schema; raises BadRecordError where the subject has none of this id."""
        schema = self.schemas.by_id(number) if self._is_of_subject(number) else None
        if schema is None:
            raise BadRecordError(f"{self.half.subject} has no schema {number}")
        return self._known.setdefault(number, self._reader(schema))

    def _is_of_subject(self, number: int) -> bool:
        """Asks the registry once for each id: a topic may have many records of one that is unknown."""
        if number not in self._ids and number not in self._strange:
            self._ids = self.schemas.ids(self.half.subject)
            self._strange |= {number} - self._ids.keys()
        return number in self._ids

    def _reader(self, schema: Schema) -> Read:
        if schema.id not in self._readers:
            self._readers[schema.id] = self._made_or_refusing(schema)
        return self._readers[schema.id]

    @property
    def has_defaults(self) -> bool:
        """Whether a field that a record lacks may have a default other than null."""
        of_registry = self.half.format == "registry" and self.newest.kind == "AVRO"
        return of_registry and has_defaults(self.newest)

    def check(self, schema: Schema) -> None:
        """Raises NotComparedError where what is wanted is made in a way that this verifier does not know."""
        if schema.kind == "PROTOBUF":
            protobuf.ProtobufReader(schema, self.newest, self.wanted, self.half.record_type).check()
        else:
            self._made(schema)

    def _made_or_refusing(self, schema: Schema) -> Read:
        """The records of a version whose values fit no column are bad, all of them."""
        try:
            return self._made(schema)
        except MisfitError as e:
            return partial(_refused, str(e))

    def _made(self, schema: Schema) -> Read:
        names = dict(names_in(self.wanted, self._trees.get(schema.id, {}), self.then))
        if schema.kind == "AVRO":
            return avro.AvroReader(
                schema, self.newest, self.wanted, defaults=self.defaults, names=names, root=self.word,
                debezium=self.half.of_database,
            )  # fmt: skip
        wanted = called(self.wanted, names)
        if schema.kind == "JSON":
            named = schema if self.half.of_database else without_names(schema)
            rules = rules_of(schema.text) if self.half.strict else None
            of_database = self.half.of_database
            return json_values.JsonReader(named, wanted, self.word, rules, of_database=of_database)
        reader = protobuf.ProtobufReader(schema, self.newest, wanted, self.half.record_type)
        return reader.bare if self.half.framing == "none" else reader

    @cached_property
    def _trees(self) -> Mapping[int, Tree]:
        """The fields of each version by the names that they have today; nothing where none has another."""
        if not (self.renames or self.then):
            return {}
        every = [self.schemas.by_id(number) for number in self.schemas.ids(self.half.subject)]
        trees = {each.id: self._tree(each) for each in every if each and each.kind == self.newest.kind}
        bring_up_to_date([*trees.values()], self.renames)
        return trees

    def _tree(self, schema: Schema) -> Tree:
        depth = max(depth_of(self.wanted), *(path.count(".") + 1 for path, _ in self.renames), 1)
        if schema.kind == "AVRO":
            return tree_of(as_record(parsed(schema), self.word), avro_parts, depth)
        if schema.kind == "JSON":
            compiler = json_values.Compiler(schema, self.half.of_database)
            return tree_of(compiler.record(self.word), compiler.parts, depth)
        return tree_of(protobuf.record_of(schema, self.half.record_type), protobuf.parts, depth)


@dataclass(frozen=True)
class Filled:
    """The columns that a half fills and that can be compared, and why others can't."""

    columns: tuple[Column, ...]
    refused: Mapping[str, str]


def filled(
    half: Half, schemas: Schemas, columns: Sequence[Column], inner: str, word: str, left: Mapping[int, str]
) -> Filled:
    """Which of the columns a half fills.

    Args:
        inner: The field of the record that holds the row: `after` of a change; empty for the record itself.
        word: The name of the column where the half has no schema, or one without fields.
        left: Former names of the columns that retypes left behind: the half fills them that has such a field.
    """
    if half.format == "none":
        return Filled((), {})
    if half.format != "registry":
        listed = {f.name for f in half.fields} | {half.rest} if half.format == "json" else {word}
        return Filled(tuple(c for c in columns if c.name in listed), {})
    reader = HalfReader(half, schemas, struct(()), word)
    names = _names(reader.newest, inner, word, of_database=half.of_database)
    fit, refused = [], {}
    for column in (c for c in columns if c.name in names or left.get(c.id) in names):
        try:
            HalfReader(half, schemas, within(inner, (column,)), word).check(reader.newest)
        except NotComparedError as e:
            refused[column.name] = str(e)
        else:
            fit.append(column)
    return Filled(tuple(fit), refused)


def struct(columns: Collection[Column]) -> dict[str, Any]:
    """A type of these fields."""
    fields = [{"id": c.id, "name": c.name, "type": c.type, "required": c.required} for c in columns]
    return {"type": "struct", "fields": fields}


def within(inner: str, columns: Collection[Column]) -> dict[str, Any]:
    """A type of these fields, as a change of a database has them, if `inner` names where."""
    if not inner:
        return struct(columns)
    source = struct([Column(-1, "ts_ms", "long", False), Column(-1, "lsn", "long", False)])
    parts = [("op", "string"), (inner, struct(columns)), ("source", source)]
    return struct([Column(-1, name, kind, False) for name, kind in parts])


def _names(schema: Schema, inner: str, word: str, *, of_database: bool) -> Collection[str]:
    if schema.kind == "PROTOBUF":
        return protobuf.field_names(schema)
    if schema.kind == "JSON":
        return json_values.properties(schema, inner, word, of_database=of_database)
    fields = fields_of(as_record(parsed(schema), word))
    return fields_of(without_null(fields[inner]["type"])) if inner else fields


def _refused(why: str, _: bytes) -> tuple[Any, ...]:
    raise BadRecordError(why)


def _text(payload: bytes) -> tuple[Any, ...]:
    try:
        return (payload.decode(),)
    except UnicodeDecodeError as e:
        raise BadRecordError("no UTF-8") from e
