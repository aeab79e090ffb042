"""Keeps a Glue entry in step with an Iceberg table, under Glue's version check.

Glue as other engines see it: a table of type ICEBERG whose `metadata_location` is the current one.
Format: the table parameters that Iceberg's own GlueCatalog writes (GlueTableOperations).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import stamina

from frazil.connections import Connections
from frazil.errors import CommitConflictError
from frazil.spec.names import Things
from frazil.tables.catalog import load_table

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyiceberg.types import IcebergType


__all__ = ["GlueState", "glue_type", "read_glue", "sync_glue"]


@dataclass(frozen=True, slots=True)
class GlueState:
    """A Glue entry as it stands."""

    database: str
    table: str
    version_id: str
    metadata_location: str
    changed: bool


class _Stale(Exception):
    """Glue refused a version: somebody else updated the entry."""


def read_glue(client: Any, things: Things) -> GlueState | None:
    """The entry as it stands, or None where there is none."""
    entry = _entry(client, things)
    return _state(things, entry, changed=False) if entry else None


def glue_type(kind: IcebergType) -> str:
    """A column's type as the entry has it."""
    # PyIceberg's own (private, pinned by the lock): what `_table_input` makes.
    from pyiceberg.catalog.glue import _IcebergSchemaToGlueType
    from pyiceberg.schema import visit

    return str(visit(kind, _IcebergSchemaToGlueType()))


def sync_glue(connections: Connections, things: Things) -> GlueState:
    """Makes the Glue database and table if missing, and points the table to the current metadata.

    The entry's version is read before the table's metadata: so an update that Glue accepts never
    moves the pointer back.

    Raises:
        CommitConflictError: Others kept changing the entry for many tries.
    """
    try:
        for attempt in stamina.retry_context(on=_Stale, attempts=8, wait_initial=0.05, wait_max=1.0):
            with attempt:
                return _sync_once(connections, things)
    except _Stale:
        pass
    raise CommitConflictError(
        "The Glue entry was changed by others again and again.",
        where=f"{things.glue_database}.{things.table.table}",
        meaning="The Iceberg table is right; its Glue entry may be behind.",
        todo=f"`frazil sync {things.table}` tries again.",
    )


def _sync_once(connections: Connections, things: Things) -> GlueState:
    client = connections.glue
    _make_database(client, things.glue_database)
    entry = _entry(client, things)
    table = load_table(connections.catalog, things.table)
    if entry and entry["Parameters"].get("metadata_location") == table.metadata_location:
        return _state(things, entry, changed=False)
    wanted = _table_input(things, table, entry)
    try:
        if entry is None:
            client.create_table(DatabaseName=things.glue_database, TableInput=wanted)
        else:
            client.update_table(
                DatabaseName=things.glue_database,
                TableInput=wanted,
                VersionId=entry["VersionId"],
                SkipArchive=True,
            )
    except (
        client.exceptions.AlreadyExistsException,
        client.exceptions.ConcurrentModificationException,
    ) as e:
        raise _Stale from e
    return _state(things, _entry(client, things) or {}, changed=True)


def _make_database(client: Any, database: str) -> None:
    try:
        client.get_database(Name=database)
    except client.exceptions.EntityNotFoundException:
        try:
            client.create_database(DatabaseInput={"Name": database, "Description": "By Frazil."})
        except client.exceptions.AlreadyExistsException:
            return


def _entry(client: Any, things: Things) -> dict[str, Any] | None:
    try:
        found = client.get_table(DatabaseName=things.glue_database, Name=things.table.table)
    except client.exceptions.EntityNotFoundException:
        return None
    entry: dict[str, Any] = found["Table"]
    return entry


def _state(things: Things, entry: dict[str, Any], *, changed: bool) -> GlueState:
    return GlueState(
        database=things.glue_database,
        table=things.table.table,
        version_id=str(entry.get("VersionId", "")),
        metadata_location=entry.get("Parameters", {}).get("metadata_location", ""),
        changed=changed,
    )


def _table_input(things: Things, table: Table, entry: dict[str, Any] | None) -> dict[str, Any]:
    # PyIceberg's own builder (private, pinned by the lock): the same entry as its GlueCatalog makes.
    from pyiceberg.catalog.glue import _construct_table_input

    previous = entry["Parameters"].get("metadata_location") if entry else None
    properties = {k: v for k, v in table.properties.items() if k == "comment"}
    return dict(
        _construct_table_input(
            things.table.table,
            table.metadata_location,
            properties,
            table.metadata,
            entry,
            previous,
        )
    )
