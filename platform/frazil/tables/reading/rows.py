"""Rows of single data files, read by PyIceberg."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from frazil.exact import shown_rows
from frazil.tables.metadata.manifests import HeadReader

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyiceberg.manifest import DataFile, ManifestEntry
    from pyiceberg.schema import Schema
    from pyiceberg.table import Table

_FILES_NAMED = 500  # by the manifests that are opened


def batches_in(table: Table, columns: Schema, files: Iterable[DataFile]) -> Iterator[RecordBatch]:
    """Some columns of data files, one file after the other. Delete files are not looked at."""
    from pyiceberg.expressions import AlwaysTrue
    from pyiceberg.io.pyarrow import ArrowScan
    from pyiceberg.table import FileScanTask

    scan = ArrowScan(table.metadata, table.io, columns, AlwaysTrue())
    for file in files:
        yield from scan.to_record_batches([FileScanTask(file)])


def newest_rows(table: Table, columns: Collection[str], count: int) -> list[dict[str, Any]]:
    """At most `count` rows of one data file, for people: the smallest of the newest ones.

    None where delete files take rows of every one, and of files that stand in very long manifests.
    """
    head = HeadReader().read(table, most=_FILES_NAMED)
    if head is None or not head.whole:
        return []
    file = min(head.whole, key=_newest_and_smallest).data_file
    rows: list[dict[str, Any]] = []
    for batch in batches_in(table, table.schema().select(*columns), [file]):
        rows += shown_rows(batch.slice(0, count - len(rows)))
        if len(rows) == count:
            break
    return rows


def _newest_and_smallest(entry: ManifestEntry) -> tuple[int, int]:
    return -(entry.sequence_number or 0), entry.data_file.file_size_in_bytes
