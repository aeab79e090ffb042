"""Tags of a spec on an Iceberg table in Snowflake and its columns, where an administrator made such tags.

A masking policy of such a tag then protects the column, or all columns of the table (docs.snowflake.com,
"Tag-based masking policies").
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from frazil.publishing.snowflake.connection import rows
from frazil.publishing.snowflake.statements import Relation, get_tags, set_tags
from frazil.settings.profile import Settings
from frazil.spec.table import AnyTable

if TYPE_CHECKING:
    from snowflake.connector import SnowflakeConnection


@dataclass(frozen=True, slots=True)
class WantedTag:
    """A tag as the spec has it, of the table or of one of its columns."""

    name: str  # the spec's
    tag: Relation
    value: str
    column: str = ""

    @property
    def label(self) -> str:
        """What people call it."""
        return f"{self.name} of column {self.column}" if self.column else self.name


def tags_of(spec: AnyTable, settings: Settings) -> tuple[WantedTag, ...]:
    """Those of the spec; none where the settings name no schema for them."""
    if settings.snowflake.tag_schema is None:
        return ()
    database, schema = settings.snowflake.tag_schema.upper().split(".")

    def wanted(tags: Mapping[str, str], column: str = "") -> Iterator[WantedTag]:
        for name, value in tags.items():
            yield WantedTag(name, Relation(database, schema, name.upper()), value, column)

    of_columns = (tag for column, tags in spec.column_tags.items() for tag in wanted(tags, column))
    return (*wanted(spec.tags), *of_columns)


@dataclass(frozen=True, eq=False)
class TagsOn:
    """Tags that a table should have, and its columns as Snowflake spells them, by the spec's names."""

    table: Relation
    tags: tuple[WantedTag, ...]
    columns: Mapping[str, str]

    def __str__(self) -> str:
        return str(self.table)

    @property
    def asked(self) -> tuple[WantedTag, ...]:
        """Those of the table, and of columns that it has."""
        return tuple(tag for tag in self.tags if not tag.column or tag.column in self.columns)


def tags_on_each(connection: SnowflakeConnection, tables: Sequence[TagsOn]) -> list[dict[str, str]]:
    """The values that each table has of its tags, by their labels, in one statement."""
    named = [(of.table, tag.tag, of.columns.get(tag.column, "")) for of in tables for tag in of.asked]
    values = iter(rows(connection, get_tags(named))[0] if named else ())
    shown = [[(tag.label, next(values)) for tag in of.asked] for of in tables]
    return [{label: str(value) for label, value in pairs if value is not None} for pairs in shown]


def tags_on(
    connection: SnowflakeConnection, table: Relation, tags: Sequence[WantedTag], columns: Mapping[str, str]
) -> dict[str, str]:
    """The values that a table has of these tags, by their labels, in one statement.

    Args:
        connection: An open session.
        table: The table.
        tags: Those.
        columns: Its columns as Snowflake spells them, by the spec's names.
    """
    (shown,) = tags_on_each(connection, [TagsOn(table, tuple(tags), columns)])
    return shown


def keep_tags(
    connection: SnowflakeConnection, table: Relation, tags: Sequence[WantedTag], columns: Mapping[str, str]
) -> None:
    """Sets the tags that have another value: one statement for the table, and one for each such column."""
    shown = tags_on(connection, table, tags, columns)
    changed: dict[str, list[tuple[Relation, str]]] = defaultdict(list)
    for tag in tags:
        is_there = not tag.column or tag.column in columns
        if is_there and shown.get(tag.label) != tag.value:
            changed[columns.get(tag.column, "")].append((tag.tag, tag.value))
    for column, values in changed.items():
        rows(connection, set_tags(table, values, column))
