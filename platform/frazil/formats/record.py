"""A whole record: how its key and value are written, their columns, and the verdict on both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from frazil.errors import FrazilError, SchemaRefusedError, SpecError
from frazil.formats.bare import Bare, Unknown
from frazil.formats.checks.batch import FAILED, ArrowChecks
from frazil.formats.columns.columns import CHANGE, RecordColumns, record_columns, table_fields
from frazil.formats.debezium.envelope import Envelope, envelope
from frazil.formats.encryption.decoder import with_decrypted
from frazil.formats.halves import half_schemas, listed_half, plain_half, schemas_of
from frazil.formats.kinds import PLAIN_FORMATS
from frazil.formats.logical import Field, Primitive, Struct, Type
from frazil.formats.masks.guard import NO_MASKS, Keys, Masks
from frazil.formats.masks.reasons import withheld
from frazil.formats.masks.where import ArrowWhere
from frazil.formats.protocol import KEY, VALUE, Decoder, Half, Reason, WriterSchema
from frazil.formats.record_batch import ArrowRecords
from frazil.formats.registry.subjects import owners, subject_versions
from frazil.formats.registry.wanted import read_schema
from frazil.formats.row_key import NO_KEY, RowKey, row_key
from frazil.formats.wires.known import naming_of
from frazil.formats.wires.naming import NOTHING, Headers, Naming
from frazil.formats.wires.prefix import header_bytes, schema_id_of
from frazil.spec.names import record_subject
from frazil.spec.topic import TableSpec

if TYPE_CHECKING:
    from frazil.formats.registry.client import RegistryClient

OK, BAD, UNWANTED = "_ok", "_bad", "_unwanted"
"""Whether a record becomes a row, and whether it is bad; neither: it is left out on purpose, perhaps for the
spec's `where` does not want it."""

FAULT, CHECKED = "_fault", "_checked"
"""The check that a bad record fails; and, once a task, what checks say of its rows. Only with checks."""

_GONE = "the registry does not know it, so it was deleted for good, or is of another registry"

_NULL = {
    "bad": (False, True),
    "skip": (False, False),
    "keep": (True, False),
    "delete": (True, False),
}
"""By what the spec says of a null value: whether that is a row, and whether it is bad."""


@dataclass(frozen=True, slots=True)
class RecordDecoder:
    """Decodes records of one topic: key and value, each by a decoder of its own. A null key is no error."""

    key: Decoder
    value: Decoder
    columns: RecordColumns
    on_null_value: str = "bad"
    others: tuple[int, ...] = ()  # schema ids of records that belong to other tables, and are left out
    row_key: RowKey = NO_KEY  # the columns that tell rows apart; a record that lacks one of them is bad
    envelope: Envelope | None = None  # what the value is, where it is not the row itself
    whose: Callable[[int], Sequence[str]] | None = None  # the subjects that a schema id is of
    named: tuple[Naming, Naming] = (
        NOTHING,
        NOTHING,
    )  # beside the prefix, of key and value
    masks: Masks = NO_MASKS
    where: ArrowWhere | None = None  # which records are rows; the others are left out
    checks: ArrowChecks | None = None  # what must hold of rows
    unasked: tuple[str, ...] = ()  # rules of the schemas that readers shall follow, and nobody asks here

    @property
    def deletes(self) -> str:
        """Whether a good record ends the row of its key, as SQL that is never null."""
        return self.envelope.deletes if self.envelope else f"{VALUE.raw} IS NULL"

    @property
    def truncates(self) -> str:
        """Whether a good record is none of a row, and ends all of them, as SQL that is never null."""
        return self.envelope.truncates if self.envelope else "false"

    @property
    def fault(self) -> str:
        """Why the value is bad though its decoder took it, as SQL: null, or what `explain` understands."""
        known = [f"{CHANGE}.fault"] if self.envelope else []
        return f"coalesce({', '.join([*known, *([FAULT] if self.checks else []), 'CAST(NULL AS string)'])})"

    @property
    def halves(self) -> tuple[tuple[Half, Struct], tuple[Half, Struct]]:
        """What both halves become after masking; of an envelope the row within it."""
        key, value = self.unmasked
        return (KEY, self.masks.columns(key)), (VALUE, self.masks.columns(value))

    @property
    def unmasked(self) -> tuple[Struct, Struct]:
        """The columns of both halves as records have them; of an envelope those of the row within it."""
        if self.envelope:
            return self.envelope.key, self.envelope.row
        return self.key.columns, self.value.columns

    def arrow(self) -> ArrowRecords:
        """What decodes batches of them."""
        others = tuple(map(header_bytes, self.others))
        names = tuple((name, name not in self.row_key.of_value) for name in self.row_key.columns)
        needs_key = self.on_null_value == "delete"
        decoded = {f.name for _, columns in self.halves for f in columns}
        left_out = frozenset(decoded - {f.name for f in self.columns.fields})
        return ArrowRecords(
            self.key.arrow(),
            self.value.arrow(),
            _NULL[self.on_null_value],
            others,
            names,
            needs_key,
            self.named,
            left_out,
            self.envelope.arrow if self.envelope else None,
            sum(_width(columns) for _, columns in self.halves),
            self.masks.arrow() if self.masks else None,
            self.where,
            self.checks,
        )

    def prefixed(
        self, raw_key: bytes | None, raw_value: bytes | None, headers: Headers
    ) -> tuple[bytes | None, bytes | None]:
        """Both halves of a record behind Confluent's prefix, whatever named their schemas."""
        key, value = (
            None if raw is None else naming.prefixed_one(raw, headers)
            for naming, raw in zip(self.named, (raw_key, raw_value), strict=True)
        )
        return key, value

    def values(self, raw_key: bytes | None, raw_value: bytes | None, headers: Headers = ()) -> Bare | None:
        """The row's columns by the independent decoders; None where they find a half bad. Slow: for samples.

        A change that ended its row tells the key alone: a row that stays, marked, has the values from before.
        """
        raw_key, raw_value = self.prefixed(raw_key, raw_value, headers)
        key = {} if raw_key is None else self.key.values(raw_key)
        value = {} if raw_value is None else self.value.values(raw_value)
        if key is None or value is None:
            return None
        if self.envelope:
            key, value = self.envelope.values(key, value)
        key, value = (self.masks.values(*each) for each in zip(self.unmasked, (key, value), strict=True))
        by_key = {name: key.get(name) for name in self.row_key.columns if name not in self.row_key.of_value}
        absent = dict.fromkeys(f.name for f in self.columns.fields)
        return {**absent, **key, **value, **by_key, **self._as_text}

    @property
    def _as_text(self) -> Bare:
        """The columns that hold the texts of other values: the independent decoders have no such texts."""
        decoded = {f.name: f.type for f in (*self.key.columns, *self.value.columns)}
        text = Primitive("string")
        own = (f.name for f in self.columns.fields if f.type == text and decoded.get(f.name, text) != text)
        return {name: Unknown("the text of a number") for name in own}

    def explain(
        self, raw_key: bytes | None, raw_value: bytes | None, key_ok: bool, value_ok: bool,
        fault: str | None = None, headers: Headers = (),
    ) -> Reason:  # fmt: skip
        """Why the record is bad, by what `decode` said of both halves; where fields are masked, no value."""
        if fault and fault.startswith(FAILED):
            return self._failed(fault)
        reason = self._reason(raw_key, raw_value, key_ok, value_ok, fault, headers)
        return withheld(reason, *self.unmasked) if self.masks else reason

    def _failed(self, fault: str) -> Reason:
        """Names the check; no value of the record."""
        asked = self.checks.asked if self.checks else ()
        expected = next((each.expression.text for each in asked if FAILED + each.name == fault), "")
        return fault, f"check {fault.removeprefix(FAILED)} fails: {expected}"

    def _reason(
        self, raw_key: bytes | None, raw_value: bytes | None, key_ok: bool, value_ok: bool,
        fault: str | None, headers: Headers,
    ) -> Reason:  # fmt: skip
        """Why it is bad; the key comes first."""
        for raw, naming in zip((raw_key, raw_value), self.named, strict=True):
            if raw is not None and (reason := naming.reason(raw, headers)):
                return reason
        raw_key, raw_value = self.prefixed(raw_key, raw_value, headers)
        if raw_key is not None and not key_ok:
            code, why = self._with_owners(KEY, raw_key, self.key.explain(raw_key))
            return f"key_{code}", f"key: {why}"
        if raw_value is None and self.on_null_value == "bad":
            return "null_value", "the value is null, which is no row in append mode"
        if self.row_key.columns and (value_ok or raw_value is None):
            return self.row_key.missing(raw_key, raw_value)
        if self.envelope and fault:
            return self.envelope.reason(fault)
        if raw_value is None or value_ok:
            return "value", "the record does not decode"
        return self._with_owners(VALUE, raw_value, self.value.explain(raw_value))

    def _with_owners(self, half: Half, raw: bytes, reason: Reason) -> Reason:
        """The reason; of a foreign schema id with what the registry knows of it."""
        code, why = reason
        if code != "schema_id" or self.whose is None or "is not of" not in why:
            return reason
        try:
            subjects = self.whose(schema_id_of(raw))
        except FrazilError:
            return reason
        if not subjects:
            return code, f"{why}: {_GONE}"
        return code, f"{why}: it is of {', '.join(subjects[:5])}; if all are, write {half.word}_subject"


def _width(kind: Type) -> int:
    """Values that a row takes whatever is in it."""
    return sum(_width(f.type) for f in kind) if isinstance(kind, Struct) else 1


def topic_columns(spec: TableSpec, registry: RegistryClient) -> RecordColumns:
    """What the newest schemas of a topic ask of its table."""
    key, value = (half_schemas(spec, half, registry) for half in (KEY, VALUE))
    return row_columns(spec, key.columns, value.columns)


def row_columns(spec: TableSpec, key: Struct, value: Struct) -> RecordColumns:
    """What keys and values of these columns ask of the table; of an envelope those of the row within it."""
    enveloped = _envelope(spec, key, value)
    return (
        record_columns(spec, enveloped.key, enveloped.row) if enveloped else record_columns(spec, key, value)
    )


def _envelope(spec: TableSpec, key: Struct, value: Struct) -> Envelope | None:
    return envelope(spec, key, value) if spec.mode == "cdc" else None


def file_fields(spec: TableSpec) -> tuple[Field, ...] | None:
    """The table's columns by the schema files beside the pipeline; None where the registry alone knows them.

    A key without a file may have a schema in the registry all the same. Most have none, and are bytes.
    """
    key = _file_columns(spec, KEY, spec.key_format, spec.key_schema)
    value = _file_columns(spec, VALUE, spec.value_format, spec.value_schema)
    if value is None:
        return None
    return table_fields(spec, row_columns(spec, key or plain_half(spec, KEY, "bytes").columns, value))


def decoder_for(spec: TableSpec, registry: RegistryClient, keys: Keys) -> RecordDecoder:
    """The decoder for a topic's records; those that belong to other tables are left out.

    Args:
        keys: The keys of the profile, for masks.
    """
    key, value = (half_schemas(spec, half, registry) for half in (KEY, VALUE))
    one, two = key.decoder(), value.decoder()
    columns = row_columns(spec, one.columns, two.columns)
    strange = _of_other_tables(spec, registry)
    others = tuple(w.schema_id for w in strange)
    unwraps = _envelope(spec, one.columns, two.columns)
    whose = cache(partial(owners, registry))
    named = naming_of(key), naming_of(value, strange)
    masks = Masks.of(spec, keys)
    columns = replace(columns, masks=with_decrypted(masks.marks(), masks.dropped, (one, two)))
    unasked = tuple(dict.fromkeys(rule for half in (key, value) for rule in half.unasked_rules))
    return RecordDecoder(
        one, two, columns, spec.on_null_value, others, row_key(spec, columns), unwraps, whose, named,
        masks, unasked=unasked,
    )  # fmt: skip


def _of_other_tables(spec: TableSpec, registry: RegistryClient) -> list[WriterSchema]:
    """The versions of records on the topic that belong to other tables."""
    subjects = [record_subject(spec, record_type) for record_type in spec.other_types]
    return [writer for subject in subjects for writer in subject_versions(registry, subject)]


def _file_columns(spec: TableSpec, half: Half, wanted: str, file: Path | None) -> Struct | None:
    if wanted in PLAIN_FORMATS:
        return plain_half(spec, half, wanted).columns
    if listed := listed_half(spec, half):
        return listed.columns
    if file is None:
        return None
    schema = read_schema(file)
    try:
        return schemas_of(spec, half, [WriterSchema(0, 0, schema.text, schema.kind)]).columns
    except SchemaRefusedError as e:
        raise SpecError(f"{file}: {e.what}", where=e.where, todo=e.todo) from None
