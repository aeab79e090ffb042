"""One table in Glue and in Snowflake, by its names alone."""

from __future__ import annotations

from frazil.connections import Connections
from frazil.publishing.glue import Glue
from frazil.publishing.snowflake.tables import Snowflake
from frazil.publishing.target import Shown
from frazil.spec.names import AssetPath, Things
from frazil.spec.topic import TableSpec


def glue_path(names: Things) -> AssetPath:
    """Of the Glue entry's asset, under the default settings."""
    return ("glue", *names.table.identifier)


def snowflake_path(names: Things) -> AssetPath:
    """Of the Snowflake table's asset, under the default settings."""
    return ("snowflake", "frazil", *names.table.identifier)


def sync_glue(connections: Connections, names: Things) -> Shown:
    """Brings the Glue entry in step."""
    return Glue(_spec(names), connections.settings).sync(connections)


def read_glue(connections: Connections, names: Things) -> Shown | None:
    """What Glue shows."""
    return Glue(_spec(names), connections.settings).read(connections)


def sync_snowflake(connections: Connections, names: Things) -> Shown:
    """Brings Snowflake's table in step."""
    return Snowflake(_spec(names), connections.settings).sync(connections)


def read_snowflake(connections: Connections, names: Things) -> Shown | None:
    """What Snowflake shows."""
    return Snowflake(_spec(names), connections.settings).read(connections)


def _spec(names: Things) -> TableSpec:
    return TableSpec(topic="any", namespace=names.table.namespace, table=names.table.table)
