"""What a user writes about one topic: TableSpec and its parts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import ByteSize, Field, field_validator, model_validator

from frazil.spec.freshness import Budget, LandWhen, check_pace, without_auto
from frazil.spec.migrations import Migration
from frazil.spec.typed import OfTyped
from frazil.spec.values import Duration

Format = Literal["auto", "avro", "json", "protobuf", "string", "bytes", "none"]
"""How keys or values are written; the last three need no schema, `none` makes no column."""


SCHEMA_KINDS = {".avsc": "AVRO", ".json": "JSON", ".proto": "PROTOBUF"}
"""A schema's format, by the registry's name, by the suffix of the schema's file."""


_STRATEGIES = {
    "TopicNameStrategy": "topic",
    "RecordNameStrategy": "record",
    "TopicRecordNameStrategy": "topic_record",
}
"""What Confluent's serializers call the ways to name a subject; they may name the class with its package."""

_KEYED = ("upsert", "cdc")
_OTHER_KEYS = {
    "cdc": "mode: cdc tells rows apart by the record's key; write message.key.columns in Debezium's connector"
}


class TableSpec(OfTyped):
    """One topic and the table that it becomes. Only `topic` is needed."""

    topic: str = Field(description="The Kafka topic.", min_length=1, max_length=249)
    mode: Literal["append", "upsert", "cdc", "tableflow"] = Field(
        "append",
        description="append: Frazil lands every record as one row. upsert: one row per key, the newest; a "
        "null value deletes it. cdc: the same of Debezium's changes, whose `after` is the row. tableflow: "
        "Confluent's Tableflow lands, and Frazil only reads the table.",
    )
    key_fields: tuple[str, ...] = Field(
        (), description="upsert: the fields that tell rows apart. Default: all fields of the key."
    )

    current_by: tuple[str, ...] = Field(
        (),
        description="append: the columns that tell rows apart in `<table>_current`, Snowflake's view of the "
        "newest record of each. Default: no view.",
    )
    delete: Literal["hard", "soft"] = Field(
        "hard",
        description="cdc: what a delete leaves. hard: nothing. soft: the row with its last values, marked in "
        "`$$deleted` and `$$deleted-at`.",
    )

    order_by: Literal["offset", "source.lsn"] = Field(
        "offset",
        description="cdc: which change of a row is the later one. offset: by the offset, between two "
        "partitions by the timestamp. source.lsn: by PostgreSQL's log; needs delete: soft.",
    )

    versions: Literal["last", "all"] = Field(
        "last",
        description="cdc: the rows of each key. last: the one that holds now. all: every one that it ever "
        "had, with `$$valid-from`, `$$valid-to` and `$$current` (SCD type 2).",
    )

    partitions: int | None = Field(None, ge=1, description="How many partitions the topic must have.")
    replication: int | None = Field(
        None, ge=1, description="How many replicas a new topic has. Default: the broker's."
    )
    topic_config: dict[str, str] = Field(default_factory=dict, description="Settings of the topic.")
    value_schema: Path | None = Field(
        None,
        description="The values' schema, a file beside defs.yaml: .avsc for Avro, .json for JSON Schema, "
        ".proto for Protobuf. It is registered if the subject is missing.",
    )
    key_schema: Path | None = Field(None, description="The same for the keys.")

    key_format: Format = Field(
        "auto", description="Format of the keys. auto: as the registry says, or bytes if it knows none."
    )
    value_format: Format = Field("auto", description="Format of the values. auto: as the registry says.")
    subject_names: Literal["topic", "record", "topic_record"] = Field(
        "topic",
        description="How the value's subject is named: `<topic>-value`, by record_type, or by both. Or "
        "Confluent's TopicNameStrategy, RecordNameStrategy, TopicRecordNameStrategy, which mean the same.",
    )
    value_subject: str | None = Field(
        None,
        min_length=1,
        description="The values' subject in the registry, where its name is another one: that of the topic's "
        "origin, for a copy by MirrorMaker. Default: by subject_names.",
    )
    key_subject: str | None = Field(
        None, min_length=1, description="The same for the keys. Default: `<topic>-key`."
    )
    record_type: str | None = Field(
        None,
        description="Full name of this table's record, if the topic carries several, or of the Protobuf "
        "message, if it is not the first one of the schema.",
    )
    other_types: tuple[str, ...] = Field(
        (),
        description="Records on the topic that belong to other tables. They are counted and left out here.",
    )
    unmappable: Literal["refuse", "text"] | dict[str, Literal["refuse", "text"]] = Field(
        "refuse",
        description="A field that no column can hold, such as a free-form object or a record within itself. "
        "refuse: the topic. text: its value lands as JSON text. Or one of them for each path; `*` is any.",
    )
    framing: Literal["confluent", "none"] = Field(
        "confluent",
        description="confluent: a zero byte and the schema id come before the payload. none: the payload "
        "alone, by the newest schema.",
    )
    validation: Literal["types", "strict"] = Field(
        "types",
        alias="validate",
        description="Only for JSON. types: check types and required fields. strict: check every rule.",
    )
    wide_decimals: Literal["narrow", "refuse", "text"] = Field(
        "narrow",
        description="A decimal of more than 38 digits, as Connect's JDBC source declares by default. narrow: "
        "the column has 38, and a record whose number has more is a bad one. refuse: the schema is refused. "
        "text: the column holds the digits as text.",
    )
    on_null_value: Literal["bad", "skip", "keep", "delete"] = Field(
        "bad",
        description="A record without a value: a bad record, left out, a row of key and metadata, or the end "
        "of its key's row, which is the default of upsert and cdc.",
    )
    metadata: Literal["standard", "full"] = Field(
        "standard", description="standard: seven metadata columns. full: the raw key and value as well."
    )
    metadata_names: Literal["tableflow", "portable"] = Field(
        "tableflow",
        description="tableflow: `$$offset`. portable: `cflt_metadata_offset`, for engines that reject $.",
    )
    keep_rows_for: Duration | None = Field(
        None, description="Rows are deleted at this age, by the record's timestamp. Default: never."
    )

    on_bad_record: Literal["suspend", "skip", "dead_letter"] = Field(
        "suspend",
        description="A record that can't be decoded stops the table, is left out, or is kept apart.",
    )
    on_lost_records: Literal["stop", "record"] = Field(
        "stop",
        description="If retention removed records before they were landed: stop the table, or note how many "
        "and go on.",
    )
    max_dead_letter_rate: float = Field(
        0.01, ge=0, le=1, description="Share of dead letters among landed records at which a check warns."
    )
    migrations: tuple[Migration, ...] = Field(
        (), description="Approved renames, drops, retypes, masks and paths of columns, each with an id."
    )
    max_records: int = Field(10_000_000, ge=1, description="One landing takes this many records at most.")
    max_bytes: ByteSize = Field(ByteSize(4 * 2**30), description="One landing takes this many bytes at most.")
    land_when: LandWhen = Field(default_factory=LandWhen, description="When the table lands by itself.")
    budget: Budget | None = Field(
        None,
        description="With freshness: auto, how fresh the table is to be, and what that may cost: {p95: 60s, "
        "at_most: 20 USD/month}. Frazil chooses how often it lands (docs/freshness.md).",
    )

    @model_validator(mode="after")
    def _guarded(self) -> Self:
        of_contract = self.encryption == "decrypt" or self.rules == "enforce"
        guarded = self.masks or self.where or self.checks or of_contract
        if self.is_read_only and guarded:
            raise ValueError(
                "masks, where, checks, encryption and rules need a table that Frazil lands; mode: tableflow "
                "has none"
            )
        if self.on_bad_record != "dead_letter" and any(c.on_failure == "dead_letter" for c in self.checks):
            raise ValueError("checks: on_failure: dead_letter needs on_bad_record: dead_letter")
        if self.metadata == "full" and self.withholds_raw:
            raise ValueError(
                "metadata: full keeps the raw bytes, in which masked fields can be read; write metadata: "
                "standard, or keep_raw: true"
            )
        if of_contract and (self.framing == "none" or self.fields):
            what = "encryption: decrypt" if self.encryption == "decrypt" else "rules: enforce"
            raise ValueError(f"{what} needs schema ids in the records, which tell the rules")
        if self.where and self.is_keyed:
            why = "a row that no longer matches would stay as it was"
            raise ValueError(f"where is for mode: append; with mode: {self.mode} {why}")
        return self

    @model_validator(mode="after")
    def _of_version_3(self) -> Self:
        if self.format_version == 3 and self.is_read_only:
            raise ValueError("format_version: 3 is for tables that Frazil makes; mode: tableflow makes none")
        if self.write.delete == "vector" and (self.format_version < 3 or not self._rows_go):
            why = "a history deletes no row" if self.keeps_versions else "and mode: upsert or cdc"
            raise ValueError(f"write.delete: vector needs format_version: 3; {why}")
        return self

    @property
    def is_read_only(self) -> bool:
        """See `AnyTable`."""
        return self.mode == "tableflow"

    @property
    def deletes_by_vector(self) -> bool:
        """Whether a deletion vector marks the changed rows of a large file, which stays as it is."""
        return self.write.delete != "rewrite" and self.format_version >= 3 and self._rows_go

    @property
    def _rows_go(self) -> bool:
        return self.is_keyed and not self.keeps_versions

    @property
    def is_keyed(self) -> bool:
        """Whether the table has one row per key, the newest."""
        return self.mode in _KEYED

    @property
    def keeps_deleted(self) -> bool:
        """Whether a row stays when it is deleted, and is marked."""
        return self.delete == "soft"

    @property
    def keeps_versions(self) -> bool:
        """Whether each change of a row makes a row of its own, which tells from when to when it held."""
        return self.versions == "all"

    @property
    def by_lsn(self) -> bool:
        """Whether the source's log says which change is the later one."""
        return self.order_by == "source.lsn"

    @model_validator(mode="before")
    @classmethod
    def _filled_in(cls, data: Any) -> Any:
        keyed = isinstance(data, Mapping) and data.get("mode") in _KEYED
        return without_auto({"on_null_value": "delete", **data} if keyed else data)

    @model_validator(mode="after")
    def _paced(self) -> Self:
        check_pace(self.budget, self.freshness, self.land_when, lands=not self.is_read_only)
        return self

    @model_validator(mode="after")
    def _keyed(self) -> Self:
        if self.key_fields and self.mode != "upsert":
            raise ValueError(_OTHER_KEYS.get(self.mode, "key_fields tell rows apart with mode: upsert only"))
        if self.current_by and self.mode != "append":
            raise ValueError(
                f"current_by is for mode: append; with {self.mode} the table has one row per key"
            )
        if not self.is_keyed and self.on_null_value == "delete":
            raise ValueError("on_null_value: delete needs mode: upsert or cdc")
        if self.is_keyed and self.on_null_value == "keep":
            why = f"keep would make a row; with mode: {self.mode} a null value has none"
            raise ValueError(f"on_null_value: {why}")
        if twice := sorted({f for f in self.key_fields if self.key_fields.count(f) > 1}):
            raise ValueError(f"key_fields: {', '.join(twice)} is there twice")
        return self

    @model_validator(mode="after")
    def _enveloped(self) -> Self:
        if self.keeps_deleted and self.mode != "cdc":
            raise ValueError("delete: soft marks rows of a database; it needs mode: cdc")
        if self.by_lsn and not self.keeps_deleted:
            why = "a delete that left no row would have no LSN to compare older changes with"
            raise ValueError(f"order_by: source.lsn needs mode: cdc and delete: soft, for {why}")
        if self.keeps_versions:
            self._versioned()
        if self.mode == "cdc" and self.key_format == "none":
            raise ValueError("key_format: none leaves nothing that tells rows apart; mode: cdc needs the key")
        if self.mode == "cdc" and "protobuf" in (self.key_format, self.value_format):
            raise ValueError("mode: cdc takes changes in Avro and JSON, not in protobuf")
        if self.mode == "cdc" and self.value_format in ("string", "bytes", "none"):
            raise ValueError(f"value_format: {self.value_format} has no fields; mode: cdc needs op and after")
        return self

    def _versioned(self) -> None:
        if self.mode != "cdc":
            raise ValueError("versions: all keeps the changes of a database; it needs mode: cdc")
        if self.keeps_deleted:
            raise ValueError("delete: soft marks a row that stays; with versions: all every row stays anyway")
        if self.keep_rows_for:
            raise ValueError(
                "keep_rows_for goes by a change's age; with versions: all it may hold now all the same"
            )

    @property
    def interval(self) -> timedelta:
        """Time between two landings while few records come: `land_when.age`, or half of `freshness`."""
        age = self.land_when.age
        return age if self.freshness is None else min(age, self.freshness / 2)

    @field_validator("subject_names", mode="before")
    @classmethod
    def _by_confluents_name(cls, value: Any) -> Any:
        return _STRATEGIES.get(value.rpartition(".")[2], value) if isinstance(value, str) else value

    @field_validator("migrations")
    @classmethod
    def _ids_differ(cls, value: tuple[Migration, ...]) -> tuple[Migration, ...]:
        ids = [m.id for m in value]
        if twice := sorted({i for i in ids if ids.count(i) > 1}):
            raise ValueError(f"{', '.join(twice)}: an id of two migrations; each needs its own")
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
        if self.value_subject and self.subject_names != "topic":
            raise ValueError(f"value_subject and subject_names: {self.subject_names} both name the subject")
        if self.other_types and self.subject_names == "topic":
            raise ValueError("other_types have subjects of their own: write subject_names, too")
        return self
