"""Shows readers what upkeep changed: the targets follow, if nothing but upkeep happened.

A landing that waits for its checks, or was refused by them, is shown by whoever shows landings, and
the upkeep behind it with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from frazil.connections import Connections
from frazil.publishing.target import Shown
from frazil.publishing.targets import targets_of
from frazil.spec.names import things
from frazil.spec.table import AnyTable
from frazil.tables.catalog import catalog_errors, load_table
from frazil.upkeep.news import only_upkeep_since

if TYPE_CHECKING:
    from pyiceberg.table import Table


__all__ = ["show"]


def show(spec: AnyTable, connections: Connections, *, done: bool) -> Iterator[Shown]:
    """Brings the targets in step that are behind by upkeep only, and gives what they show then.

    Args:
        spec: The table's spec.
        connections: The outside systems.
        done: Whether upkeep changed anything. If not, a target behind another is asked only where that moved.

    Raises:
        PartDownError: A target or the catalog does not answer.
        CommitConflictError: Others kept changing what a target shows.
    """
    moved = {things(spec, connections.settings).iceberg_path}
    for target in targets_of(spec, connections.settings):
        if (done or target.upstream in moved) and _is_behind(spec, target.read(connections), connections):
            moved.add(target.path)
            yield target.sync(connections)


def _is_behind(spec: AnyTable, shown: Shown | None, connections: Connections) -> bool:
    if shown is None:
        return False
    with catalog_errors(connections.settings):
        table = load_table(connections.catalog, things(spec, connections.settings).table)
        return _behind_by_upkeep(table, shown.metadata_location)


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
