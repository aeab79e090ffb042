"""A table is removed with its dead letters, what shows it, and the tables that are made of it.

Its topic stays: with the spec still there, the next landing starts the table over. See docs/reset.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from frazil.connections import Connections
from frazil.derive.computation import computation_of
from frazil.errors import RepairError
from frazil.publishing.target import Shown, Target
from frazil.publishing.targets import targets_of
from frazil.spec.derived import DerivedSpec
from frazil.spec.names import TableName, things, writable
from frazil.spec.table import AnyTable
from frazil.tables.catalogs.catalog import catalog_errors, is_gone
from frazil.tables.catalogs.handle import TableHandle, name_of
from frazil.tables.metadata.snapshots import number_or_none, summary_of
from frazil.tables.metadata.unnamed import give_up, give_up_unnamed
from frazil.upkeep.storage import delete_files, list_files, may_delete_files

if TYPE_CHECKING:
    from pyiceberg.table import Table


@dataclass(frozen=True, slots=True)
class Removed:
    """One Iceberg table that goes.

    Attributes:
        table: Its name.
        rows: How many its newest snapshot has; None if that does not say so.
        files: How many files below its location go; 0 if they stay.
        bytes: Their size.
        shown: What shows it, by the names that it is queried by.
        left: Where files stay of a table that the catalog does not name; empty where there are no such files.
    """

    table: str
    rows: int | None
    files: int = 0
    bytes: int = 0
    shown: tuple[str, ...] = ()
    left: str = ""


@dataclass(frozen=True, slots=True)
class RemovalReport:
    """What goes, in the order in which it goes.

    Attributes:
        removed: The tables.
        fed: Topics that keep the records which removed tables fed to them.
        dry_run: Whether nothing was done.
    """

    removed: tuple[Removed, ...]
    fed: tuple[str, ...] = ()
    dry_run: bool = False


def remove(
    spec: AnyTable,
    connections: Connections,
    derived: Sequence[DerivedSpec],
    *,
    keep_files: bool = False,
    dry_run: bool = False,
) -> RemovalReport:
    """Removes a table, and all that exists because of it. What is gone already is no error: call it again.

    Readers lose a table before its files. A landing, a derivation or upkeep that is under way fails at its
    commit.

    Args:
        spec: The table.
        connections: Its clients.
        derived: All derived tables; those that read it, or one that does, go with it.
        keep_files: Whether data and metadata files stay in the bucket.
        dry_run: Whether to report only.

    Raises:
        ConfigureError: Tableflow keeps the table.
        PartDownError: The catalog, storage or a target does not answer. What went before that is gone.
    """
    writable(spec, connections.settings)
    made = [*reversed(list(made_from(spec, connections, derived)))]
    removed = [
        part for each in (*made, spec) for part in _removed(each, connections, keep_files, dry_run=dry_run)
    ]
    fed = tuple(each.feeds.topic for each in made if each.feeds)
    return RemovalReport(tuple(removed), fed, dry_run)


def made_from(
    spec: AnyTable, connections: Connections, derived: Sequence[DerivedSpec]
) -> Iterator[DerivedSpec]:
    """The tables that read a table, or one of those, each once and behind all that it reads.

    Args:
        spec: The table.
        connections: Its clients.
        derived: All derived tables, each behind those that it reads.
    """
    names = {things(spec, connections.settings).table}
    for each in derived:
        name = things(each, connections.settings).table
        inputs = {TableName.parse(text, name.namespace) for text in computation_of(each).inputs}
        if each.connection == spec.connection and names & inputs:
            names.add(name)
            yield each


def _removed(
    spec: AnyTable, connections: Connections, keep_files: bool, *, dry_run: bool
) -> Iterator[Removed]:
    name = things(spec, connections.settings).table
    shown = [each for each in targets_of(spec, connections.settings) if _is_there(each, connections)]
    for target in () if dry_run else reversed(shown):
        target.drop(connections)
    relations = tuple(relation for target in shown for relation in target.relations)
    for each, own in ((name.dead_letters, ()), (name, relations)):
        with catalog_errors(connections.settings):
            removed = _gone_from_catalog(TableHandle(connections.catalog, each), keep_files, dry_run=dry_run)
            if removed or own:
                yield replace(removed or Removed(str(each), None), shown=own)


def _gone_from_catalog(handle: TableHandle, keep_files: bool, *, dry_run: bool) -> Removed | None:
    """Removes a table, by its name alone where its metadata file is lost. None: there is none."""
    from pyiceberg.exceptions import NoSuchTableError

    try:
        table = handle.load_or_none()
    except OSError as e:
        if not is_gone(e):
            raise
        if dry_run:
            return Removed(str(handle), None)
        with suppress(NoSuchTableError):
            handle.catalog.drop_table(handle.name.identifier)
        return _given_up(handle, dry_run=False) or Removed(str(handle), None)
    if table is None:
        return _given_up(handle, dry_run=dry_run)
    return _dropped(table, keep_files, dry_run=dry_run)


def _given_up(handle: TableHandle, *, dry_run: bool) -> Removed | None:
    """Lets a new table begin where files of one lie that the catalog does not name.

    They stay: where the table was renamed, they are another one's.
    """
    unnamed = give_up_unnamed(handle, dry_run=dry_run)
    return Removed(str(handle), unnamed.rows, left=unnamed.location) if unnamed else None


def _is_there(target: Target, connections: Connections) -> bool:
    """Whether a target shows what Frazil put there; one that can't read the table has it, too."""
    try:
        return _is_ours(target.read(connections))
    except RepairError:
        return True


def _is_ours(shown: Shown | None) -> bool:
    """Whether Frazil made the entry; one that it never wrote is another engine's, or the catalog's own."""
    return shown is not None and shown.put != ""


def _dropped(table: Table, keep_files: bool, *, dry_run: bool) -> Removed:
    from pyiceberg.exceptions import NoSuchTableError

    stays = keep_files or not may_delete_files(table)
    files = [] if stays else list(list_files(table))
    if not dry_run:
        if stays:
            give_up(table.io, table.location(), table.metadata.table_uuid)
        with suppress(NoSuchTableError):  # somebody else was quicker
            table.catalog.drop_table(table.name())
        delete_files(table.io, (file.path for file in files))
    head = table.current_snapshot()
    rows = number_or_none(summary_of(head), "total-records") if head else 0
    return Removed(str(name_of(table)), rows, len(files), sum(file.bytes for file in files))
