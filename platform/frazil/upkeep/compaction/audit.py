"""The audit of a compaction's values: the new files hold as many in each column as the old ones did."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from frazil.spec.names import TableName
from frazil.tables.manifests import Head
from frazil.tables.presence import moved_wrongly, values_told
from frazil.tables.pyiceberg import live_entries
from frazil.tables.replacement import Replacement
from frazil.tables.stage import audit_failed

if TYPE_CHECKING:
    from pyiceberg.manifest import DataFile
    from pyiceberg.table import Table


def audit_values(name: TableName, table: Table, head: Head, what: Replacement) -> None:
    """Compares what manifests say of the old files and of the new ones.

    Of files with deleted rows nobody says how many values those had; then there are as many at most.

    Raises:
        AuditFailedError: A column has other numbers of values; nothing of the round is visible.
    """
    old = values_told(_with_statistics(table, head, what.paths), table.schema())
    new = values_told(what.added, table.schema())
    deleted = any(f.deletes for f in head.files if f.path in what.paths)
    if lost := moved_wrongly(old, new, fewer=deleted):
        raise audit_failed(f"A compaction of {name}", lost)


def _with_statistics(table: Table, head: Head, paths: Collection[str]) -> Iterator[DataFile]:
    """Some files of a head, manifest by manifest: `Head` has no statistics of them."""
    for manifest in head.manifests:
        named = head.named.get(manifest.manifest_path, ())
        if any(e.data_file.file_path in paths for e in named):
            yield from (
                e.data_file for e in live_entries(table.io, manifest) if e.data_file.file_path in paths
            )
