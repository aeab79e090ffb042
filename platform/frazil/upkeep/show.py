"""Shows readers what upkeep changed: Glue's and Snowflake's pointers follow, if only upkeep moved on.

A landing that waits for its checks, or was refused by them, is shown by whoever shows landings, and
the upkeep behind it with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil.connections import Connections
from frazil.errors import MissingError
from frazil.formats.columns import metadata_names
from frazil.publishing.glue import GlueState, read_glue, sync_glue
from frazil.publishing.snowflake.tables import SnowflakeState
from frazil.spec.names import things
from frazil.spec.table import AnyTable
from frazil.tables.catalog import catalog_errors, load_table
from frazil.upkeep.news import only_upkeep_since

if TYPE_CHECKING:
    from pyiceberg.table import Table


__all__ = ["show_in_glue", "show_in_snowflake"]


def show_in_glue(spec: AnyTable, connections: Connections) -> GlueState | None:
    """Points Glue to the table's current metadata; None where nothing is to be done.

    Raises:
        PartDownError: Glue or the catalog does not answer.
        CommitConflictError: Others kept changing the entry.
    """
    if "glue" not in spec.publish:
        return None
    names = things(spec, connections.settings)
    with catalog_errors(connections.settings):
        entry = read_glue(connections.glue, names)
        table = load_table(connections.catalog, names.table)
        if entry is None or not _behind_by_upkeep(table, entry.metadata_location):
            return None
        return sync_glue(connections, names)


def show_in_snowflake(spec: AnyTable, connections: Connections) -> SnowflakeState | None:
    """Refreshes Snowflake's table behind Glue; None where nothing is to be done.

    Raises:
        PartDownError: Snowflake or the catalog does not answer.
    """
    from frazil.publishing.snowflake.tables import publish_table, read_table

    if "snowflake" not in spec.publish:
        return None
    names = things(spec, connections.settings)
    try:
        shown = read_table(connections, names).metadata_location
    except MissingError:
        return None
    with catalog_errors(connections.settings):
        if not _behind_by_upkeep(load_table(connections.catalog, names.table), shown):
            return None
    return publish_table(connections, names, metadata_names(spec))


def _behind_by_upkeep(table: Table, shown: str) -> bool:
    """Whether the metadata shown is an older one, and nothing but upkeep happened since.

    Glue and Snowflake may name anything: what is no neighbour of the table's own metadata is not read.
    """
    from pyiceberg.serializers import FromInputFile

    folder, own = (location.rpartition("/")[0] for location in (shown, table.metadata_location))
    if shown == table.metadata_location or folder != own:
        return False
    try:
        seen = FromInputFile.table_metadata(table.io.new_input(shown))
    except FileNotFoundError:
        return False
    return only_upkeep_since(table.metadata, seen.current_snapshot_id)
