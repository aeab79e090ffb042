"""Tags of a spec on the Iceberg table in Snowflake, where an administrator made tags of these names.

A masking policy of such a tag then protects the table's columns (docs.snowflake.com, "Tag-based masking
policies").
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from frazil.publishing.snowflake.connection import rows
from frazil.publishing.snowflake.statements import Relation, get_tags, set_tags
from frazil.settings.profile import Settings
from frazil.spec.table import AnyTable

if TYPE_CHECKING:
    from snowflake.connector import SnowflakeConnection


def tags_of(spec: AnyTable, settings: Settings) -> dict[str, Relation]:
    """Snowflake's tag for each of the spec's; none where the settings name no schema for them."""
    schema = settings.snowflake.tag_schema
    if schema is None:
        return {}
    database, name = schema.upper().split(".")
    return {tag: Relation(database, name, tag.upper()) for tag in spec.tags}


def tags_on(connection: SnowflakeConnection, table: Relation, tags: Mapping[str, Relation]) -> dict[str, str]:
    """The values that a table has of these tags, by their names in the spec, in one statement."""
    if not tags:
        return {}
    (values,) = rows(connection, get_tags(table, list(tags.values())))
    return {name: str(value) for name, value in zip(tags, values, strict=True) if value is not None}


def keep_tags(
    connection: SnowflakeConnection, table: Relation, tags: Mapping[str, Relation], wanted: Mapping[str, str]
) -> None:
    """Sets the tags that have another value."""
    shown = tags_on(connection, table, tags)
    if values := [(tag, wanted[name]) for name, tag in tags.items() if shown.get(name) != wanted[name]]:
        rows(connection, set_tags(table, values))
