"""What a table's metadata tells of it: its size, its position, and why it stands still. No topic is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from frazil.connections import Connections
from frazil.errors import FrazilError, explain
from frazil.landing.position.interval import ChosenInterval, chosen_interval
from frazil.landing.position.ledger import Ledger, bytes_per_record, ledgers, read_ledger
from frazil.landing.tableflow.position import ledger_of_files, rows_came_at
from frazil.spec.names import TableName
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.catalog import catalog_errors
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.catalogs.pointers import Pointer, load_pointers
from frazil.tables.commits.suspension import PAUSE, SCHEMA, SUSPENDED, SUSPENDED_BY
from frazil.tables.commits.works import started_at
from frazil.tables.metadata.snapshots import made_at, number, rows_in_summary, summary_of

if TYPE_CHECKING:
    from pyiceberg.table.metadata import TableMetadata


@dataclass(frozen=True, slots=True)
class Standing:
    """What a table's metadata tells; the same as long as that has the same `location`."""

    location: str = ""  # empty where there is no such table
    snapshot_id: int | None = None
    rows: int = 0
    files: int = 0
    bytes: int = 0
    delete_files: int = 0
    ledger: Ledger | None = None
    stopped: str = ""  # why it is suspended or paused, or why its position can't be told
    paused: bool = False
    refused_schema: bool = False  # why it is suspended
    compared_at: float = 0.0  # when the registry was last asked whether that is so still
    landed_at: float | None = None
    bytes_per_record: float | None = None
    land_interval: ChosenInterval | None = None

    @property
    def position(self) -> Mapping[int, int]:
        """Per partition the next offset."""
        return self.ledger.position if self.ledger else {}


Standings = dict[TableName, Standing]
"""The standings of some tables, those first that nobody asked for longest."""


def ask_tables(
    specs: Mapping[TableName, TableSpec], connections: Connections, standings: Standings
) -> dict[TableName, FrazilError]:
    """Brings the standings of some tables up to date; which ones could not be asked, and why."""
    if not specs:
        return {}
    landed = [name for name, spec in specs.items() if not spec.is_read_only]
    known = {name: standings[name].location for name in landed if name in standings}
    try:
        with catalog_errors(connections.settings):
            pointers = {p.name: p for p in load_pointers(connections.catalog, landed, known, _tells)}
    except Exception as e:  # noqa: BLE001 - where even that fails, it is so for each table
        return dict.fromkeys(specs, explain(e))
    down: dict[TableName, FrazilError] = {}
    for name, spec in specs.items():
        before = standings.pop(name, None)
        try:
            with catalog_errors(connections.settings):
                standings[name] = (
                    _read_only(spec, TableHandle(connections.catalog, name), before)
                    if spec.is_read_only
                    else _landed(pointers[name], before)
                )
        except Exception as e:  # noqa: BLE001 - one broken table must not hide the others
            down[name] = explain(e)
    return down


def _landed(pointer: Pointer, before: Standing | None) -> Standing:
    if pointer.error:
        raise pointer.error
    same = before if pointer.location and pointer.metadata is None else None
    return same or _standing(pointer)


def _read_only(spec: TableSpec, handle: TableHandle, before: Standing | None) -> Standing:
    """The standing of a table that others land; its manifests tell the position."""
    table = handle.load_or_none()
    if table is None:
        return Standing()
    if before and before.location == table.metadata_location:
        return before
    standing = _standing(Pointer(handle.name, table.metadata_location, table.metadata))
    return replace(
        standing,
        ledger=ledger_of_files(spec, table),
        landed_at=rows_came_at(table.metadata),
        bytes_per_record=standing.bytes / standing.rows if standing.rows else None,
    )


def _tells(summary: Mapping[str, str]) -> bool:
    """Whether a snapshot tells all that a standing has of a ledger, or that it can't be read."""
    try:
        ledger = Ledger.parse(summary) if Ledger.MARK in summary else None
    except FrazilError:
        return True
    return ledger is not None and ledger.is_landing and ledger.read > 0


def _standing(pointer: Pointer) -> Standing:
    metadata = pointer.metadata
    if metadata is None:
        return Standing()
    ledger, unknown = _newest_ledger(metadata)
    head = metadata.current_snapshot()
    summary = summary_of(head)
    return Standing(
        location=pointer.location or "",
        snapshot_id=head.snapshot_id if head else None,
        rows=rows_in_summary(summary),
        files=number(summary, "total-data-files"),
        bytes=number(summary, "total-files-size"),
        delete_files=number(summary, "total-delete-files"),
        ledger=ledger,
        stopped=unknown or metadata.properties.get(SUSPENDED, ""),
        paused=not unknown and metadata.properties.get(SUSPENDED_BY) == PAUSE,
        refused_schema=not unknown and metadata.properties.get(SUSPENDED_BY) == SCHEMA,
        landed_at=_landed_at(metadata, ledger) if ledger else None,
        bytes_per_record=None if unknown else bytes_per_record(metadata),
        land_interval=chosen_interval(metadata.properties),
    )


def _newest_ledger(metadata: TableMetadata) -> tuple[Ledger | None, str]:
    """The table's newest ledger, or why it can't be told."""
    try:
        return read_ledger(metadata), ""
    except FrazilError as e:
        return None, f"{e.what} {e.todo}"


def _landed_at(metadata: TableMetadata, newest: Ledger) -> float:
    """When the newest landing was committed, in seconds since the epoch; where it expired: begun.

    What brings nothing that waits in the topic is no landing.
    """
    for snapshot, ledger in ledgers(metadata):
        if ledger.is_landing:
            return made_at(snapshot)
    return started_at(newest.landing)
