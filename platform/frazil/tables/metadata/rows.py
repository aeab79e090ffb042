"""How many rows a snapshot has, and how many it brought: by its summary, or by manifests."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from frazil.tables.format_v3.fields import is_vector
from frazil.tables.metadata.manifests import (
    added_files,
    data_files,
    manifests_of,
    read_entries,
    rows_named,
)
from frazil.tables.metadata.snapshots import summary_of

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyiceberg.table.snapshots import Snapshot


def stored_rows(table: Table, snapshot: Snapshot | None) -> int:
    """Rows in the data files of a snapshot, as its summary says, or its manifests where that does not."""
    if snapshot is None:
        return 0
    total = summary_of(snapshot).get("total-records")
    return sum(file.record_count for file in data_files(table, snapshot)) if total is None else int(total)


def rows_left(table: Table, snapshot: Snapshot) -> int | None:
    """Rows of a snapshot that vectors leave; None where other delete files take some: only reading tells."""
    from pyiceberg.manifest import ManifestContent

    deletes = manifests_of(table, snapshot, ManifestContent.DELETES)
    deleting = [entry.data_file for entry in chain(*read_entries(table.io, deletes, ()))]
    if not all(map(is_vector, deleting)):
        return None
    data = manifests_of(table, snapshot, ManifestContent.DATA)
    return sum(map(rows_named, data)) - sum(file.record_count for file in deleting)


def rows_added(table: Table, snapshot: Snapshot) -> int:
    """Rows in the data files that a snapshot added. Summaries with totals leave out zeros."""
    summary = summary_of(snapshot)
    tells = "added-records" in summary or ("total-records" in summary and "added-data-files" not in summary)
    if tells:
        return int(summary.get("added-records", 0))
    return sum(file.record_count for file in added_files(table, snapshot))
