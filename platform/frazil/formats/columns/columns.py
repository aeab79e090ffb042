"""The columns of a topic's table: key, value fields, then metadata, as Tableflow lays them out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from frazil.errors import SchemaRefusedError
from frazil.formats.columns.chosen import chosen
from frazil.formats.columns.names import keeper, same_path
from frazil.formats.columns.unmappable import too_many_digits
from frazil.formats.logical import JSON_TEXT, ROOT, Decimal, Field, Map, Primitive, Struct, Type, Where
from frazil.spec.table import AnyTable
from frazil.spec.topic import TableSpec


@dataclass(frozen=True, slots=True)
class RecordColumns:
    """What keys and values become, before the metadata columns.

    Args:
        masks: Marks by path, see `Masks.marks`; None where the keys of masks were not asked for.
    """

    key: Struct
    value: Struct
    masks: Mapping[str, str] | None = field(default=None, compare=False)

    @property
    def fields(self) -> tuple[Field, ...]:
        """All columns; a field that key and value share is the value's."""
        return (*(f for f in self.key if not self.value.get(f.name)), *self.value)


@dataclass(frozen=True, slots=True)
class MetadataColumn:
    """One of Frazil's own, with the Spark expression over Kafka's source that fills it."""

    word: str
    type: Type
    expression: str
    doc: str

    def name(self, scheme: Literal["tableflow", "portable"]) -> str:
        """`$$leader-epoch`, or `cflt_metadata_leader_epoch`."""
        if scheme == "tableflow":
            return f"$${self.word}"
        return f"cflt_metadata_{self.word.replace('-', '_')}"

    def field(self, scheme: Literal["tableflow", "portable"]) -> Field:
        """The column in the table."""
        return Field(self.name(scheme), self.type, optional=True, doc=self.doc)


_STRING, _INT, _LONG, _BINARY = (Primitive(k) for k in ("string", "int", "long", "binary"))
_STANDARD = (
    MetadataColumn("topic", _STRING, "topic", "Topic of the record."),
    MetadataColumn("partition", _INT, "partition", "Partition of the record."),
    MetadataColumn(
        "headers",
        Map(_STRING, _BINARY, value_optional=True),
        "map_from_entries(headers)",
        "Headers of the record; of a repeated one the last.",
    ),
    MetadataColumn("leader-epoch", _INT, "leader_epoch", "Leader epoch of the record's batch."),
    MetadataColumn("offset", _LONG, "offset", "Offset of the record."),
    MetadataColumn("timestamp", Primitive("timestamptz"), "timestamp", "Kafka's timestamp."),
    MetadataColumn(
        "timestamp-type",
        _STRING,
        "CASE timestampType WHEN 0 THEN 'CREATE_TIME' WHEN 1 THEN 'LOG_APPEND_TIME' "
        "ELSE 'NO_TIMESTAMP_TYPE' END",
        "Who set the timestamp.",
    ),
)
_RAW = (
    MetadataColumn("raw-key", _BINARY, "raw_key", "The key's bytes."),
    MetadataColumn("raw-value", _BINARY, "raw_value", "The value's bytes, header included."),
)
_REST = MetadataColumn("rest", JSON_TEXT, "", "JSON text of what has no column of its own.")


CHANGE = "_change"
"""Column of the decoded frame that has the change's parts, see `Envelope.unwrap`; only with mode: cdc."""

_OF_CHANGE = (
    MetadataColumn(
        "op",
        _STRING,
        f"coalesce({CHANGE}.op, 'd')",
        "The last change: c (insert), u (update), r (snapshot); where rows stay d (delete), t (truncate).",
    ),
    MetadataColumn(
        "source-time", Primitive("timestamptz"), f"{CHANGE}.time", "When the source made the change."
    ),
    MetadataColumn("source-lsn", _LONG, f"{CHANGE}.lsn", "Where it stands in the source's log."),
)
_OP_OF_VERSION = MetadataColumn(
    "op",
    _STRING,
    f"{CHANGE}.op",
    "The change: c (insert), u (update), r (snapshot), d (delete); null where a tombstone alone tells it.",
)
_DELETES = f"coalesce({CHANGE}.op, 'd') = 'd'"  # a tombstone has no op
_OF_DELETE = (
    MetadataColumn("deleted", Primitive("boolean"), _DELETES, "Whether the row is deleted."),
    MetadataColumn(
        "deleted-at",
        Primitive("timestamptz"),
        f"CASE WHEN {_DELETES} THEN coalesce({CHANGE}.time, timestamp) END",
        "When the source deleted it; where only a tombstone tells, that record's timestamp.",
    ),
)
_OF_VERSION = (
    MetadataColumn(
        "valid-from",
        Primitive("timestamptz"),
        f"coalesce({CHANGE}.time, timestamp)",
        "Since when the row was as it is here.",
    ),
    MetadataColumn(
        "valid-to",
        Primitive("timestamptz"),
        "CAST(NULL AS timestamp)",
        "Until when, which is no part of it; null of what holds now.",
    ),
    MetadataColumn("current", Primitive("boolean"), "true", "Whether it holds now; false of a delete."),
)
"""Of single changes; what follows each says how long it holds, see `landing/upsert/validity.py`."""


def metadata_columns(spec: TableSpec) -> tuple[MetadataColumn, ...]:
    """The metadata columns that the spec asks for, in order."""
    full = spec.metadata == "full" or spec.is_read_only  # Tableflow writes all nine
    of_change: tuple[MetadataColumn, ...] = _OF_CHANGE if spec.mode == "cdc" else ()
    of_delete = _OF_DELETE if spec.keeps_deleted else ()
    if spec.keeps_versions:
        of_change = (_OP_OF_VERSION, *_OF_CHANGE[1:], *_OF_VERSION)
    return _STANDARD + (_RAW if full else ()) + of_change + of_delete


def rest_field(spec: TableSpec) -> Field | None:
    """The column of what no field of the spec's list names; the values' decoder fills it."""
    return _REST.field(spec.metadata_names) if spec.rest else None


def kafka_metadata_columns(spec: TableSpec) -> dict[str, Field]:
    """The metadata columns of the table that Kafka tells, by word: known before a record is decoded."""
    words = {column.word for column in (*_STANDARD, *_RAW)}
    return {c.word: c.field(spec.metadata_names) for c in metadata_columns(spec) if c.word in words}


def names_by_word(spec: TableSpec) -> dict[str, str]:
    """What the table calls its metadata columns, by word, such as `leader-epoch`."""
    return {c.word: c.name(spec.metadata_names) for c in metadata_columns(spec)}


def metadata_names(spec: AnyTable) -> tuple[str, ...]:
    """Names of the metadata columns in the table; a derived table has none."""
    if not isinstance(spec, TableSpec):
        return ()
    return tuple(names_by_word(spec).values())


def deleted_name(spec: AnyTable) -> str:
    """The column that says whether a row is deleted; empty where deleted rows go."""
    return names_by_word(spec).get("deleted", "") if isinstance(spec, TableSpec) else ""


def living(spec: AnyTable) -> tuple[str, str]:
    """The column that tells which rows are there now, and a condition with a place for it; else empty."""
    if deleted := deleted_name(spec):
        return deleted, "NOT {}"
    if isinstance(spec, TableSpec) and spec.keeps_versions:
        return names_by_word(spec)["current"], "{}"
    return "", ""


def record_columns(spec: TableSpec, key: Struct, value: Struct) -> RecordColumns:
    """Columns, optional where the half that fills them may be missing, as any key may.

    Raises SchemaRefusedError where engines and catalogs would mix up two names, or keep one for themselves.
    """
    # Then a delete makes a row of the key alone.
    kept = spec.on_null_value == "keep" or spec.by_lsn or spec.keeps_versions
    key, value = chosen(spec, key, value)
    record = RecordColumns(_optional(key), _optional(value) if kept else value)
    _check_names(spec, record)
    if spec.wide_decimals == "refuse" and (wide := _wide(record.fields)):
        raise _refusal(
            spec, wide, "Declare fewer digits, or write wide_decimals: narrow or text in defs.yaml."
        )
    return record


def table_fields(spec: TableSpec, record: RecordColumns) -> tuple[Field, ...]:
    """All columns of the table, in order."""
    return (*record.fields, *(c.field(spec.metadata_names) for c in metadata_columns(spec)))


def _check_names(spec: TableSpec, record: RecordColumns) -> None:
    every = metadata_columns(spec.model_copy(update={"metadata": "full"}))
    own = {c.name(spec.metadata_names).lower(): c.name(spec.metadata_names) for c in every}
    values = {f.name.lower(): f.name for f in record.value}
    for name in (f.name for f in record.fields):
        if taken := own.get(name.lower()):
            why = f"{name} is a column of Frazil's own" + (
                "" if name == taken else f", but for case: {taken}"
            )
            raise _refusal(spec, why, "Rename the field, or write the other metadata_names in defs.yaml.")
        if (twin := values.get(name.lower(), name)) != name:
            why = f"{name} of the key and {twin} of the value differ by case only"
            raise _refusal(spec, why, "Rename one of them, or leave out the key: key_format: none.")
        if kept := keeper(name):
            raise _refusal(spec, f"{kept} keeps the name {name} for itself", "Rename the field.")
    if path := same_path(record.fields):
        raise _refusal(spec, f"two fields have the path {path}", "Rename one of them.")


def _wide(fields: Iterable[Field], at: Where = ROOT, kind: Type | None = None) -> str:
    """Why the first decimal of more digits than columns have can't be held; empty where there is none."""
    for own in fields:
        where = at.within(kind or Struct(()), own.name)
        if isinstance(own.type, Decimal) and own.type.declared:
            return f"field {where.text} is {too_many_digits(own.type.declared)}"
        if wide := _wide(own.type.fields, where, own.type):
            return wide
    return ""


def _refusal(spec: TableSpec, why: str, todo: str) -> SchemaRefusedError:
    return SchemaRefusedError(
        f"The schema can't become a table: {why}.",
        where=f"topic {spec.topic}",
        meaning="Nothing was landed.",
        todo=todo,
    )


def _optional(columns: Struct) -> Struct:
    return Struct(tuple(replace(f, optional=True) for f in columns))
