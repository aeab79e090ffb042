"""The columns of a topic's table: key, value fields, then metadata, as Tableflow lays them out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from frazil.schemas.logical import Field, Map, Primitive, Struct, Type
from frazil.spec import TableSpec

__all__ = ["MetadataColumn", "metadata_columns", "metadata_names", "table_fields"]

KEY = Field("key", Primitive("binary"), optional=True, doc="The record's key, as it came.")


@dataclass(frozen=True, slots=True)
class MetadataColumn:
    """One of the nine, with the Spark expression over Kafka's source that fills it."""

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


def metadata_columns(spec: TableSpec) -> tuple[MetadataColumn, ...]:
    """The metadata columns that the spec asks for, in order."""
    return _STANDARD + _RAW if spec.metadata == "full" else _STANDARD


def metadata_names(spec: TableSpec) -> tuple[str, ...]:
    """Their names in the table."""
    return tuple(c.name(spec.metadata_names) for c in metadata_columns(spec))


def table_fields(spec: TableSpec, value: Struct) -> tuple[Field, ...]:
    """All columns of the table, in order."""
    meta = tuple(c.field(spec.metadata_names) for c in metadata_columns(spec))
    key = () if value.get(KEY.name) else (KEY,)  # a field in key and value: the value wins
    return (*key, *value.fields, *meta)
