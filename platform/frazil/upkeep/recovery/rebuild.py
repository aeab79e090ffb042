"""Every table below a prefix of a bucket comes back in the catalog, at its newest sound state."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

from frazil.connections import Connections
from frazil.errors import MissingError, RepairError, UsageError, explain
from frazil.spec.names import TableName
from frazil.tables.catalogs.catalog import catalog_errors
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.catalogs.pyiceberg import storage_of
from frazil.tables.metadata.stored import list_below
from frazil.tables.metadata.unnamed import note_of
from frazil.upkeep.recovery.moves import UNMOVED, Moves
from frazil.upkeep.recovery.places import Bucket, Place, look_below
from frazil.upkeep.recovery.registration import Registrar, finished_table, is_probe, names_there
from frazil.upkeep.recovery.relocation import UNMADE, relocated
from frazil.upkeep.recovery.report import RebuildReport, Rebuilt, report_of
from frazil.upkeep.recovery.soundness import soundness_of
from frazil.upkeep.recovery.states import Line, Metadata, State, line_at, states_until
from frazil.upkeep.storage import delete_files

if TYPE_CHECKING:
    from pyiceberg.table import Table

_AT_ONCE = 8

_TIMES = "its snapshots have the time of the rebuild: the catalog takes none that are older"


@dataclass(frozen=True)
class Order:
    """What is to be rebuilt.

    Attributes:
        prefix: Where to look: a bucket, or a folder of it.
        tables: Only these, each with its dead letters; none: all.
        as_of: The newest state that is not younger; None: the newest of all.
        dry_run: Whether to look only.
        moves: Where the files are that tables name elsewhere.
    """

    prefix: str
    tables: Collection[TableName] = field(default=frozenset())
    as_of: datetime | None = None
    dry_run: bool = False
    moves: Moves = UNMOVED


def rebuild_catalog(connections: Connections, order: Order) -> RebuildReport:
    """Registers what lies in a bucket. A table that the catalog has is left alone: call it again at will.

    What one table meets ends no other.

    Raises:
        UsageError: The prefix is no address.
        MissingError: There is no table below it, or none of a name that was given.
        PartDownError: Storage or the catalog does not answer.
    """
    began = time.monotonic()
    if "://" not in order.prefix:
        raise UsageError(f"{order.prefix!r} is no place of a bucket.", todo="Write s3://bucket/prefix.")
    with catalog_errors(connections.settings):
        rebuild = _Rebuild.look(connections, order)
        with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="rebuild") as pool:
            tables = tuple(pool.map(rebuild.one, rebuild.places))
    counts = Counter(each.outcome for each in tables)
    return RebuildReport(order.prefix, tables, round(time.monotonic() - began, 3), order.dry_run, counts)


@dataclass(frozen=True)
class _Rebuild:
    """One rebuild, after the listing."""

    connections: Connections
    order: Order
    bucket: Bucket
    places: Mapping[TableName, tuple[Place, ...]]
    there: Collection[TableName]
    registrar: Registrar

    @classmethod
    def look(cls, connections: Connections, order: Order) -> _Rebuild:
        """Lists the bucket and the catalog."""
        catalog, prefix = connections.catalog, order.prefix.rstrip("/")
        bucket = look_below(prefix, list_below(storage_of(catalog, prefix), prefix))
        places = _chosen(bucket, order)
        first, *_ = places
        folder = places[first][0].location.rpartition("/")[0]
        registrar = Registrar(catalog, folder, first.namespace)
        there = names_there(catalog, (name.namespace for name in places))
        if not order.dry_run:
            registrar.sweep(there, bucket.places)
        if not order.dry_run and places.keys() - there:
            registrar.ask()
        return cls(connections, order, bucket, places, there, registrar)

    def one(self, name: TableName) -> Rebuilt:
        """Rebuilds one table, and says what became of it."""
        location = self.places[name][0].location
        try:
            with catalog_errors(self.connections.settings):
                return self._one(TableHandle(self.connections.catalog, name))
        except Exception as e:  # noqa: BLE001 - it is the result of this table
            return Rebuilt(str(name), location, "failed", error=explain(e))

    def _one(self, handle: TableHandle) -> Rebuilt:
        metadata = Metadata(handle.catalog, self.order.moves)
        place, line = self._newest(handle, metadata)
        if handle.name in self.there and (table := finished_table(handle)):
            return Rebuilt(str(handle), place.location, "there", unproven=_another(table, line))
        state, doubts = self._sound(handle, place, line, metadata)
        if self.order.dry_run:
            return replace(report_of(handle.name, state, "found", doubts), location=place.location)
        state = relocated(handle.catalog, state, self.order.moves)
        self.registrar.bring(handle, state)
        self._take_back(handle, state)
        times = () if self.registrar.reads else (_TIMES,)
        return report_of(handle.name, state, "rebuilt", (*doubts, *times))

    def _take_back(self, handle: TableHandle, state: State) -> None:
        """Drops the note that the table may stay unnamed, if there is one."""
        note = note_of(state.metadata.location, state.metadata.table_uuid)
        if self.bucket.has(note):
            delete_files(storage_of(handle.catalog, note), [note])

    def _newest(self, handle: TableHandle, metadata: Metadata) -> tuple[Place, Line]:
        """Of places that come to one name that which has the newest state."""
        lines = [(place, line_at(place, metadata)) for place in self.places[handle.name]]
        return max(lines, key=lambda pair: pair[1].head.metadata.last_updated_ms if pair[1].head else 0)

    def _sound(
        self, handle: TableHandle, place: Place, line: Line, metadata: Metadata
    ) -> tuple[State, tuple[str, ...]]:
        """The newest state of which all files are there, and what is to be said of it."""
        faults: list[str] = []
        io = storage_of(handle.catalog, place.location)
        for state in states_until(line, place, metadata, self.order.as_of):
            sound = soundness_of(state, place, self.bucket, io, self.order.moves)
            if faults and state.is_bare:
                break  # an empty table in the place of one with rows is none that came back
            if not sound.fault:
                passed = tuple(f"a newer state was passed over: {fault}" for fault in faults)
                return state, (*line.doubts, *passed, *sound.doubts)
            faults.append(f"{state.path}: {sound.fault}")
        raise _unsound(handle, place, line, faults, self.order.as_of)


def _chosen(bucket: Bucket, order: Order) -> dict[TableName, tuple[Place, ...]]:
    """The places below the prefix by the names of their tables."""
    places = defaultdict[TableName, list[Place]](list)
    for place in bucket.places:
        if not is_probe(place.name):
            places[place.name].append(place)
    if not places:
        raise MissingError(
            f"There is no table below {bucket.prefix}.",
            where=f"{len(bucket.keys):,} files, none of them in a folder metadata or data",
            todo="Name the bucket, or the folder in which the tables' folders lie, one for each namespace.",
        )
    if missing := {name for name in order.tables if name not in places}:
        raise MissingError(
            f"There is no table {', '.join(map(str, missing))} below {bucket.prefix}.",
            where=f"there are {', '.join(map(str, sorted(places, key=str)[:20]))}",
            todo="`frazil rebuild-catalog --dry-run` without --table lists all that is there.",
        )
    chosen = (name for name in places if not order.tables or {name, name.owner} & {*order.tables})
    return {name: tuple(places[name]) for name in sorted(chosen, key=str)}


def _another(table: Table, line: Line) -> tuple[str, ...]:
    """What is to be said where files of another table than the catalog's lie in the bucket."""
    states = (line.head, *line.others) if line.head else ()
    strange = [state for state in states if state.metadata.table_uuid != table.metadata.table_uuid]
    if not strange:
        return ()
    at = max(state.at for state in strange)
    return (f"another table of that name lies in the bucket, its last state is of {at:%F %T} UTC",)


def _unsound(
    handle: TableHandle, place: Place, line: Line, faults: list[str], as_of: datetime | None
) -> RepairError:
    if not place.metadata:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(place.others.items()))
        return RepairError(
            f"Table {handle} has no metadata file any more.",
            where=f"{place.location}: {kinds} files",
            meaning=UNMADE + " Rows are there, but nothing says which of them are the table's.",
            todo="`frazil undelete` brings metadata files back where the bucket keeps versions. Or land its "
            "topic into a table of another name.",
        )
    if as_of and not faults and line.head:
        return RepairError(
            f"Nothing tells any more what table {handle} was at {as_of:%F %T} UTC.",
            where=f"{place.location}: its metadata files",
            meaning=UNMADE,
            todo=f"Its newest state is of {line.head.at:%F %T} UTC: take a later moment, or none.",
        )
    return RepairError(
        f"Table {handle} has no state of which all files are there.",
        where="; ".join([*line.doubts, *faults][:5]),
        meaning=UNMADE,
        todo="`frazil undelete` brings back what is missing where the bucket keeps versions; then try again.",
    )
