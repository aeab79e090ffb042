"""What is to be verified: which topic, which table, and how records become rows."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Storage(_Part):
    """Where the table's files are; keys are not needed for files of this machine."""

    endpoint: str = ""
    region: str = ""
    access_key: str = ""
    secret_key: SecretStr = SecretStr("")
    session_token: SecretStr = SecretStr("")
    ca: str = ""


class Registry(_Part):
    """A schema registry that speaks Confluent's API."""

    url: str
    user: str = ""
    password: SecretStr = SecretStr("")
    ca: str = ""


class Listed(_Part):
    """A field that a spec lists of JSON without a schema.

    Args:
        path: The names that lead to it, from the record.
        type: As the spec writes it: `long`, `decimal(9,2)`, `list<string>`, `json`.
        millis: Whether a moment is a number of milliseconds.
    """

    name: str
    path: tuple[str, ...]
    type: str
    optional: bool
    millis: bool = False


class Mask(_Part):
    """What is written of a field in the place of its values.

    Args:
        key: That of a hash.
    """

    word: Literal["hash", "last4", "redact", "drop"]
    key: SecretStr = SecretStr("")


class Half(_Part):
    """The key or the value of a record.

    Args:
        format: `registry` where the record's schema id says what it is; `json` where fields are listed.
        framing: `none` where all records are of the subject's newest schema, without a prefix.
        of_database: Whether it is of a change of a database: then Debezium's names of types count.
        eight_byte_ids: What an id of eight bytes before a payload is, by Apicurio.
        subject: Whose newest version says what the columns are.
        strict: Whether a record must fit all rules of its JSON Schema.
        others: Subjects of records that belong to other tables, and are left out here.
        fields: Those that are listed.
        rest: The column of what they do not name, if there is one.
    """

    format: Literal["registry", "json", "string", "bytes", "none"]
    framing: Literal["confluent", "none"] = "confluent"
    of_database: bool = False
    eight_byte_ids: Literal["none", "content", "global"] = "none"
    subject: str = ""
    strict: bool = False
    others: tuple[str, ...] = ()
    record_type: str = ""
    fields: tuple[Listed, ...] = ()
    rest: str = ""


class Request(_Part):
    """One table and the topic that it was landed from.

    Args:
        kafka: librdkafka's configuration.
        metadata: Path of the table's metadata file, `s3://` or of this machine.
        dead_letters: The same of the table of dead letters, if there is one.
        key_columns: What tells rows apart, with `upsert` and `cdc`.
        metadata_columns: Names in the table by word, such as `offset`.
        null_value: What a record without a value is.
        keeps_deleted: Whether deleted rows stay, marked.
        keeps_versions: Whether each change is a row, which says from when to when it held.
        order_by: What says which change of a key is the newest; `source.lsn`: the log of the database.
        where: An expression that says which records become rows; empty where all do.
        masks: Those of fields, by their paths.
        mask_migrations: The paths of fields whose masks changed, by the ids of what approved it.
        max_record_bytes: A record whose key, value or headers have more is a bad record.
        rows_per_bucket: About how many rows are compared at once; memory follows it.
    """

    topic: str
    kafka: dict[str, str | int | bool] = Field(repr=False)
    registry: Registry
    storage: Storage
    metadata: str
    dead_letters: str = ""
    mode: Literal["append", "upsert", "cdc"]
    key: Half
    value: Half
    key_columns: tuple[str, ...] = ()
    metadata_columns: dict[str, str]
    null_value: Literal["bad", "skip", "keep", "delete"] = "bad"
    keeps_deleted: bool = False
    keeps_versions: bool = False
    order_by: Literal["offset", "source.lsn"] = "offset"
    where: str = ""
    masks: dict[str, Mask] = Field(default_factory=dict)
    mask_migrations: dict[str, str] = Field(default_factory=dict)
    max_record_bytes: int = 32 * 2**20
    rows_per_bucket: int = Field(1_000_000, ge=1000)
