"""The names of the real things that one topic becomes, and the path of each in the asset graph."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from frazil.errors import ConfigureError, UsageError
from frazil.settings.profile import Settings
from frazil.spec.table import AnyTable
from frazil.spec.topic import TableSpec

AssetPath = tuple[str, ...]
"""An asset's key."""


def legal(name: str) -> str:
    """A name that Glue, Iceberg and Snowflake all take unquoted: lower case, digits, underscores."""
    return re.sub(r"[^a-z0-9_]", "_", name.lower())


_DEAD_LETTERS = "__dead_letters"

LONGEST_NAME = 255
"""Letters of a table's name: Glue and Snowflake take no more."""


@dataclass(frozen=True, slots=True)
class TableName:
    """An Iceberg table within the catalog."""

    namespace: str
    table: str

    def __str__(self) -> str:
        return f"{self.namespace}.{self.table}"

    @property
    def identifier(self) -> tuple[str, str]:
        """As PyIceberg wants it."""
        return self.namespace, self.table

    @property
    def dead_letters(self) -> TableName:
        """Where bad records of this table go, if its owner keeps them."""
        return TableName(self.namespace, f"{self.table}{_DEAD_LETTERS}")

    @property
    def owner(self) -> TableName:
        """The table whose dead letters these are; itself, if it holds none."""
        return TableName(self.namespace, self.table.removesuffix(_DEAD_LETTERS))

    @classmethod
    def parse(cls, text: str, default_namespace: str) -> TableName:
        """Reads `namespace.table` or `table`; Tableflow's tables may have further dots in their names."""
        namespace, dot, table = text.partition(".")
        if not namespace or (dot and not table):
            raise UsageError(f"{text!r} is no table name.", todo="Write namespace.table.")
        return cls(namespace, table) if dot else cls(default_namespace, text)


@dataclass(frozen=True, slots=True)
class Things:
    """The real things that one table is and is made of; `topic` is empty where it is made of others."""

    topic: str
    table: TableName
    connection: str = ""

    @property
    def kafka_path(self) -> AssetPath:
        """Key of the topic in the asset graph; two clusters may have topics of one name."""
        return ("kafka", *filter(None, [self.connection]), self.topic)

    @property
    def iceberg_path(self) -> AssetPath:
        """Key of the Iceberg table in the asset graph."""
        return ("iceberg", *self.table.identifier)

    @property
    def dead_letters_path(self) -> AssetPath:
        """Key of the dead-letter table in the asset graph."""
        return ("iceberg", *self.table.dead_letters.identifier)


def things(spec: AnyTable, settings: Settings) -> Things:
    """Names all things of one spec under one profile."""
    own = settings.of(spec.connection)
    landed = spec if isinstance(spec, TableSpec) else None
    topic, table = (landed.topic, _table(landed)) if landed else ("", "")
    namespace, table = legal(own.cluster), legal(table)
    if spec.is_read_only:  # as Tableflow names it
        namespace, table = own.kafka.cluster_id or own.cluster, topic
    name = TableName(spec.namespace or namespace, spec.table or table)
    return Things(topic=topic, table=name, connection=spec.connection)


def writable(spec: AnyTable, settings: Settings) -> TableName:
    """The name of a table that Frazil may write to.

    Raises:
        ConfigureError: It is Tableflow's.
    """
    names = things(spec, settings)
    if not spec.is_read_only:
        return names.table
    raise ConfigureError(
        f"Confluent's Tableflow writes {names.table}, and keeps it in order; Frazil only reads it.",
        where=f"topic {names.topic}, mode: tableflow",
        meaning="Nothing was changed.",
        todo="Leave it to Tableflow. `frazil adopt` takes a topic over from it for good (docs/tableflow.md).",
    )


def subject_name(spec: TableSpec, half: Literal["key", "value"]) -> str:
    """The subject of the registry that holds the schemas of a topic's keys or values."""
    if named := spec.value_subject if half == "value" else spec.key_subject:
        return named
    if half == "value" and spec.record_type and spec.subject_names != "topic":
        return record_subject(spec, spec.record_type)
    return f"{spec.topic}-{half}"


def record_subject(spec: TableSpec, record_type: str) -> str:
    """The subject of one record type, where a topic carries several."""
    return record_type if spec.subject_names == "record" else f"{spec.topic}-{record_type}"


def _table(spec: TableSpec) -> str:
    """The topic's name; with the record's simple name where a topic has a table per record type."""
    one_of_many = spec.record_type and spec.subject_names != "topic"
    return f"{spec.topic}__{str(spec.record_type).rpartition('.')[2]}" if one_of_many else spec.topic
