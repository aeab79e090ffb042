"""The files that tell two snapshots of a table apart: what one of them has, or reads with other deletes.

Their rows are all that can have changed in between, whichever engine wrote the snapshots, and however.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from copy import copy
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from frazil.tables.format_v3.fields import delete_key
from frazil.tables.metadata.manifests import Entries, delete_manifests, manifests_of, read_entries
from frazil.tables.reading.delete_files import deletes_by_file
from frazil.tables.reading.frame import live_frame

if TYPE_CHECKING:
    from pyiceberg.manifest import ManifestEntry, ManifestFile
    from pyiceberg.table import Table
    from pyiceberg.table.snapshots import Snapshot
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class Side:
    """Files that one of two snapshots has, and the other has not as it reads them."""

    table: Table  # at that snapshot
    entries: Entries

    def rows(
        self, spark: SparkSession, columns: Collection[str] | None = None, *, moves: bool = False
    ) -> DataFrame:
        """Their rows, without those that are deleted, in the columns that the table has now: `live_frame`."""
        return live_frame(spark, self.table, self.entries, columns, moves=moves)


def touched(table: Table, before: Snapshot, after: Snapshot) -> tuple[Side, Side]:
    """The files of two snapshots whose rows may tell them apart.

    Raises:
        OSError: A file of metadata is gone: the snapshot expired meanwhile.
    """
    from pyiceberg.manifest import ManifestContent

    views = _at(table, before), _at(table, after)
    lists = [manifests_of(view, view.current_snapshot(), ManifestContent.DATA) for view in views]
    if delete_manifests(views[0]) != delete_manifests(views[1]):
        one, two = (_as_read(view, each) for view, each in zip(views, lists, strict=True))
    else:
        shared = {m.manifest_path for m in lists[0]} & {m.manifest_path for m in lists[1]}
        one, two = (_by_path(table, (m for m in each if m.manifest_path not in shared)) for each in lists)
    return (
        Side(views[0], tuple(one[key] for key in one.keys() - two.keys())),
        Side(views[1], tuple(two[key] for key in two.keys() - one.keys())),
    )


WithDeletes = Mapping[tuple[object, ...], "ManifestEntry"]
"""Data files, by all that tells what is read of them."""


def _at(table: Table, snapshot: Snapshot) -> Table:
    """A table as it was, with its present columns."""
    view = copy(table)
    view.metadata = table.metadata.model_copy(update={"current_snapshot_id": snapshot.snapshot_id})
    return view


def _by_path(table: Table, manifests: Iterable[ManifestFile]) -> WithDeletes:
    return {(e.data_file.file_path,): e for e in chain(*read_entries(table.io, manifests, ()))}


def _as_read(view: Table, manifests: Iterable[ManifestFile]) -> WithDeletes:
    """The files with the delete files that apply to them."""
    entries = [*chain(*read_entries(view.io, manifests, ()))]
    applying = deletes_by_file(view, entries)
    return {
        (entry.data_file.file_path, *sorted(map(delete_key, deletes), key=repr)): entry
        for entry, (_, deletes) in zip(entries, applying, strict=True)
    }
