"""A table gets Iceberg's format version 3, with ids for all of its rows, in one commit.

No data file is written: the list of manifests says which id the first row of each manifest has.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from frazil.connections import Connections
from frazil.errors import ConfigureError
from frazil.spec.table import AnyTable
from frazil.tables.catalogs.catalog import catalog_errors
from frazil.tables.catalogs.handle import TableHandle, name_of, writable_handle
from frazil.tables.catalogs.pyiceberg import transaction
from frazil.tables.commits.commit import commit
from frazil.tables.commits.stage import append_files
from frazil.tables.commits.staging import upgrade_format
from frazil.tables.format_v3.fields import has_row_ids
from frazil.tables.metadata.rows import stored_rows
from frazil.tables.writing.unwritable import refuse_taken_names

if TYPE_CHECKING:
    from pyiceberg.table import Table, Transaction


@dataclass(frozen=True, slots=True)
class UpgradeReport:
    """What an upgrade did, or would do.

    Attributes:
        rows: Rows that get an id.
        shown: Targets that show the table.
        snapshot_id: The snapshot that gives the ids; None where nothing was done.
    """

    table: str
    before: int
    after: int
    rows: int
    shown: tuple[str, ...]
    dry_run: bool
    snapshot_id: int | None = None


def upgrade(
    spec: AnyTable, connections: Connections, read_by: Collection[str] = (), *, dry_run: bool = False
) -> UpgradeReport:
    """Makes a table one of version 3; one that is of it stays as it is.

    Args:
        read_by: Targets of which somebody knows that all who read there read version 3.

    Raises:
        ConfigureError: A column or a target stands against it; nothing was done.
        CommitConflictError: Others committed time and again.
    """
    with catalog_errors(connections.settings):
        handle = writable_handle(spec, connections)
        table = handle.load()
        _refuse(spec, table, frozenset(read_by))
        before, rows = table.metadata.format_version, stored_rows(table, table.current_snapshot())
        report = UpgradeReport(str(handle), before, max(3, before), rows, spec.publish, dry_run)
        return report if dry_run or has_row_ids(table) else _upgraded(handle, report)


def _upgraded(handle: TableHandle, report: UpgradeReport) -> UpgradeReport:
    def stage(table: Table) -> Transaction | None:
        if has_row_ids(table):
            return None
        refuse_taken_names(table, to=3)
        tx = transaction(table)
        upgrade_format(tx, 3)
        append_files(tx, (), {"frazil.upgraded": "3"})
        return tx

    done = commit(handle, stage, work="upgrade")
    rows = stored_rows(done.table, done.table.current_snapshot())
    return replace(report, snapshot_id=done.snapshot_id, rows=rows)


def _refuse(spec: AnyTable, table: Table, read_by: frozenset[str]) -> None:
    refuse_taken_names(table, to=3)
    # Who reads the views reads the table itself, in its own catalog.
    if missing := [target for target in spec.publish if target not in (*read_by, "views")]:
        why = f"{' and '.join(missing)} {'show' if len(missing) > 1 else 'shows'} it"
        options = " ".join(f"--read-by {target}" for target in missing)
        raise ConfigureError(
            f"Table {name_of(table)} can't be upgraded to format version 3: {why}.",
            where="no table goes back to version 2",
            meaning="Nothing was done; the table is as it was.",
            todo=f"Ask who reads there. If all of them read version 3, add {options}; else leave it at 2.",
        )
