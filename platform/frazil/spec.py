"""What a user writes about one topic: TableSpec and its parts."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    ByteSize,
    Field,
    field_validator,
    model_validator,
)

from frazil.keeping import SortTerm, Upkeep, Write, sort_term
from frazil.migrations import Migration
from frazil.parts import Duration, Part

__all__ = ["SCHEMA_KINDS", "Format", "LandWhen", "Owners", "SchemaKind", "TableSpec"]

_TRANSFORM = re.compile(
    r"(?P<plain>[\w$.-]+)"
    r"|(?P<time>year|month|day|hour|identity)\((?P<column>[\w$.-]+)\)"
    r"|(?P<sized>bucket|truncate)\((?P<size>\d+),\s*(?P<of>[\w$.-]+)\)"
)
_OWNER = re.compile(r"team:.+|[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,7}")  # Dagster's rule
_TAG_KEY = re.compile(r"([A-Za-z0-9_.-]{1,63}/)?[A-Za-z0-9_.-]{1,63}")
_TAG_VALUE = re.compile(r"[A-Za-z0-9_.-]{0,63}")


def _reachable(owners: tuple[str, ...]) -> tuple[str, ...]:
    for owner in owners:
        if not _OWNER.fullmatch(owner):
            raise ValueError(f"{owner!r}: write team:name, or an e-mail address")
    return owners


Owners = Annotated[tuple[str, ...], AfterValidator(_reachable)]
"""Who to ask: `team:name`, or e-mail addresses."""


Format = Literal["auto", "avro", "json", "protobuf", "string", "bytes", "none"]
"""How keys or values are written; the last three need no schema, `none` makes no column."""


SchemaKind = Literal["AVRO", "JSON", "PROTOBUF"]
"""A schema's format, by the registry's name."""

SCHEMA_KINDS: dict[str, SchemaKind] = {".avsc": "AVRO", ".json": "JSON", ".proto": "PROTOBUF"}
"""By the suffix of a schema's file."""


class LandWhen(Part):
    """When the arrivals sensor lands a table: as soon as one of the three is reached."""

    records: int = Field(1_000_000, ge=1, description="Records waiting in the topic.")
    bytes: ByteSize = Field(ByteSize(128 * 2**20), description="Bytes waiting, estimated: 128MiB.")
    age: Duration = Field(timedelta(seconds=30), description="Time since the last landing.")


class TableSpec(Part):
    """One topic and the table that it becomes. Only `topic` is needed."""

    topic: str = Field(description="The Kafka topic.", min_length=1, max_length=249)
    namespace: str | None = Field(None, description="Default: the name of the Kafka cluster.")
    table: str | None = Field(None, description="Default: the topic's name, made legal.")
    mode: Literal["append"] = Field("append", description="Every record becomes one row.")

    partitions: int | None = Field(None, ge=1, description="Partitions the topic must have.")
    replication: int | None = Field(None, ge=1, description="Default: the broker's.")
    topic_config: dict[str, str] = Field(default_factory=dict, description="Settings of the topic.")
    value_schema: Path | None = Field(
        None,
        description="Schema of the values, registered where the subject is missing; a file beside "
        "defs.yaml: .avsc Avro, .json JSON Schema, .proto Protobuf.",
    )
    key_schema: Path | None = Field(None, description="Schema of the keys, likewise.")

    key_format: Format = Field(
        "auto", description="How keys are written; auto: as the registry says, else bytes."
    )
    value_format: Format = Field(
        "auto", description="How values are written; auto: as the registry says, which must know them."
    )
    subject_names: Literal["topic", "record", "topic_record"] = Field(
        "topic", description="How the value's subject is named: `<topic>-value`, by record_type, or by both."
    )
    record_type: str | None = Field(
        None,
        description="Full name of the record that this table holds, where a topic carries several, or of the "
        "Protobuf message, where it is not the schema's first.",
    )
    other_types: tuple[str, ...] = Field(
        (), description="Records on the topic that belong to other tables: left out here, and counted."
    )
    framing: Literal["confluent", "none"] = Field(
        "confluent",
        description="Confluent's wire format (a zero, the schema id), or bare payloads of the newest schema.",
    )
    validation: Literal["types", "strict"] = Field(
        "types", alias="validate", description="JSON: check types and required fields, or every rule."
    )
    on_null_value: Literal["bad", "skip", "keep"] = Field(
        "bad", description="A null value: a bad record, left out, or a row of key and metadata."
    )
    metadata: Literal["standard", "full"] = Field(
        "standard", description="Seven metadata columns, or nine: with the raw key and value."
    )
    metadata_names: Literal["tableflow", "portable"] = Field(
        "tableflow", description="`$$offset`, or `cflt_metadata_offset` where an engine rejects $."
    )
    partition_by: tuple[str, ...] = Field(
        (), description="Iceberg transforms, such as day($$timestamp) or bucket(16, address.city)."
    )
    sort_by: tuple[str, ...] = Field(
        (), description="Order of rows in rewritten files, such as symbol, price desc, or zorder(a, b)."
    )
    write: Write = Field(default_factory=Write, description="How data files are written.")
    upkeep: Upkeep = Field(default_factory=Upkeep, description="When the table is put in order.")
    keep_rows_for: Duration | None = Field(
        None, description="Age by the record's timestamp at which rows are deleted; default: never."
    )

    on_bad_record: Literal["suspend", "skip", "dead_letter"] = Field(
        "suspend", description="What a record that can't be decoded costs."
    )
    max_dead_letter_rate: float = Field(
        0.01, ge=0, le=1, description="Most dead letters per offset landed before a check warns."
    )
    migrations: tuple[Migration, ...] = Field(
        (), description="Renames, drops and retypes of columns that are approved, each with an id."
    )
    max_records: int = Field(10_000_000, ge=1, description="Most records of one landing.")
    max_bytes: ByteSize = Field(ByteSize(4 * 2**30), description="Most bytes of one landing: 4GiB.")
    land_when: LandWhen = Field(default_factory=LandWhen, description="For the arrivals sensor.")

    freshness: Duration | None = Field(None, description="How old the newest landing may be.")
    publish: tuple[Literal["glue", "snowflake"], ...] = Field(
        ("glue", "snowflake"), description="Where the table is shown."
    )

    description: str = Field("", description="For people, shown in the Dagster UI.")
    owners: Owners = Field((), description="`team:name` or an e-mail address.")
    tags: dict[str, str] = Field(default_factory=dict, description="Tags of the assets.")

    @field_validator("migrations")
    @classmethod
    def _ids_differ(cls, value: tuple[Migration, ...]) -> tuple[Migration, ...]:
        ids = [m.id for m in value]
        if twice := sorted({i for i in ids if ids.count(i) > 1}):
            raise ValueError(f"{', '.join(twice)}: an id of two migrations; each needs its own")
        return value

    @field_validator("namespace", "table")
    @classmethod
    def _legal(cls, value: str | None) -> str | None:
        if value is not None and not re.fullmatch(r"[a-z0-9_]{1,255}", value):
            raise ValueError(f"{value!r}: use lower-case letters, digits and _ (Glue takes no other)")
        return value

    @field_validator("topic")
    @classmethod
    def _topic_name(cls, value: str) -> str:
        if not re.fullmatch(r"[a-zA-Z0-9._-]+", value):
            raise ValueError(f"{value!r}: Kafka takes letters, digits, '.', '_' and '-' only")
        return value

    @field_validator("key_schema", "value_schema")
    @classmethod
    def _known_suffix(cls, value: Path | None) -> Path | None:
        if value is not None and value.suffix not in SCHEMA_KINDS:
            raise ValueError(f"{value}: a schema's file ends with {', '.join(SCHEMA_KINDS)}")
        return value

    @field_validator("tags")
    @classmethod
    def _taggable(cls, value: dict[str, str]) -> dict[str, str]:
        for key, text in value.items():
            if not (_TAG_KEY.fullmatch(key) and _TAG_VALUE.fullmatch(text)):
                raise ValueError(
                    f"{key}: {text!r}: at most 63 letters, digits, '_', '-' and '.' each "
                    "(Dagster takes no other)"
                )
        return value

    @model_validator(mode="after")
    def _snowflake_through_glue(self) -> Self:
        if "snowflake" in self.publish and "glue" not in self.publish:
            raise ValueError("Snowflake finds the table through Glue; write publish: [glue, snowflake]")
        return self

    @model_validator(mode="after")
    def _schemas_fit_formats(self) -> Self:
        halves = {"key": (self.key_schema, self.key_format), "value": (self.value_schema, self.value_format)}
        for half, (file, wanted) in halves.items():
            if file and wanted not in ("auto", SCHEMA_KINDS[file.suffix].lower()):
                raise ValueError(f"{half}_schema: {file} is no schema of {half}_format: {wanted}; drop one")
        return self

    @model_validator(mode="after")
    def _record_named(self) -> Self:
        if self.subject_names != "topic" and self.record_type is None:
            raise ValueError(f"subject_names: {self.subject_names} needs record_type, this table's record")
        if self.other_types and self.subject_names == "topic":
            raise ValueError("other_types have subjects of their own: write subject_names, too")
        return self

    @field_validator("partition_by")
    @classmethod
    def _transforms(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for text in value:
            if not _TRANSFORM.fullmatch(text):
                raise ValueError(
                    f"{text!r} is no transform; write a column, year|month|day|hour(column), "
                    "bucket(n, column) or truncate(n, column); quote what holds a comma"
                )
        return value

    @field_validator("sort_by")
    @classmethod
    def _sortable(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if len(terms := [sort_term(text) for text in value]) > 1 and any(t.zorder for t in terms):
            raise ValueError("zorder(...) stands alone: it is the whole order")
        return value

    @property
    def sort_terms(self) -> tuple[SortTerm, ...]:
        """`sort_by`, understood."""
        return tuple(map(sort_term, self.sort_by))

    @property
    def transforms(self) -> tuple[tuple[str, str], ...]:
        """`partition_by` as (Iceberg transform such as `bucket[16]`, column)."""
        found = [m for m in map(_TRANSFORM.fullmatch, self.partition_by) if m]
        return tuple(
            (f"{m['sized']}[{m['size']}]", m["of"])
            if m["sized"]
            else (m["time"] or "identity", m["column"] or m["plain"])
            for m in found
        )
