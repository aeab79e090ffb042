"""The snapshot of a replacement, in PyIceberg's terms. Import it where it is used: it loads PyIceberg.

PyIceberg 0.12 knows no operation replace: `update_snapshot_summaries` refuses it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

from pyiceberg.manifest import (
    DataFileContent,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
)
from pyiceberg.table import Transaction
from pyiceberg.table.snapshots import Operation, Summary
from pyiceberg.table.update.snapshot import _SnapshotProducer
from pyiceberg.typedef import EMPTY_DICT

from frazil.tables.manifests import names_live
from frazil.tables.rewrite import Replacement
from frazil.tables.snapshots import summary_of

__all__ = ["ReplaceFiles"]

_ENTRIES = 5_000
"""Of one manifest: with statistics of twenty columns about the 8 MB that Iceberg aims at."""


class ReplaceFiles(_SnapshotProducer[Any]):
    """Writes the manifests of a replacement; the head's other manifests stay as they are.

    Args:
        tx: The transaction that it is part of.
        what: Upon the head of the transaction's table.
        says: Properties of its summary.
    """

    def __init__(self, tx: Transaction, what: Replacement, says: Mapping[str, str]) -> None:
        super().__init__(Operation.REPLACE, tx, tx._table.io, snapshot_properties=dict(says))
        self._what = what
        self._dropped: list[ManifestEntry] = []

    def _deleted_entries(self) -> list[ManifestEntry]:
        return [self._entry(ManifestEntryStatus.DELETED, e) for e in self._what.removed]

    def _existing_manifests(self) -> list[ManifestFile]:
        added = (self._entry(ManifestEntryStatus.ADDED, e) for e in self._what.added)
        kept = (self._entry(ManifestEntryStatus.EXISTING, e) for e in self._what.kept)
        head = self._transaction._table.current_snapshot()
        others = head.manifests(self._io) if head else []
        untouched = [m for m in others if m.manifest_path not in self._what.gone and names_live(m)]
        data = [m for m in untouched if m.content == ManifestContent.DATA]
        deletes = [m for m in untouched if m.content == ManifestContent.DELETES]
        return [*self._written(added), *self._written(kept), *data, *self._applicable(deletes, data)]

    def _applicable(
        self, deletes: Iterable[ManifestFile], data: Iterable[ManifestFile]
    ) -> list[ManifestFile]:
        """Delete manifests but those older than all data: nothing they name applies any more (as in Java)."""
        what = self._what
        numbers = [m.min_sequence_number for m in data] + [e.sequence_number or 0 for e in what.kept]
        oldest = min(numbers + [what.sequence] * bool(what.added), default=0)
        found = []
        for manifest in deletes:
            entries = manifest.fetch_manifest_entry(self._io)
            if all((e.sequence_number or 0) < oldest for e in entries):
                self._dropped += entries
            else:
                found.append(manifest)
        return found

    def _written(self, entries: Iterable[ManifestEntry]) -> Iterator[ManifestFile]:
        """By partition, so that a filter on it leaves most manifests closed."""
        ordered = sorted(entries, key=lambda e: (e.data_file.spec_id, repr(e.data_file.partition)))
        for spec_id, of_spec in groupby(ordered, key=lambda e: e.data_file.spec_id):
            every = list(of_spec)
            for start in range(0, len(every), _ENTRIES):
                with self.new_manifest_writer(self.spec(spec_id)) as writer:
                    for entry in every[start : start + _ENTRIES]:
                        writer.add_entry(entry)
                yield writer.to_manifest_file()

    def _entry(self, status: ManifestEntryStatus, entry: ManifestEntry) -> ManifestEntry:
        added = status == ManifestEntryStatus.ADDED
        existing = status == ManifestEntryStatus.EXISTING
        return ManifestEntry.from_args(
            status=status,
            snapshot_id=entry.snapshot_id if existing else self._snapshot_id,
            sequence_number=self._what.sequence if added else entry.sequence_number,
            file_sequence_number=None if added else entry.file_sequence_number,
            data_file=entry.data_file,
        )

    def _summary(self, snapshot_properties: dict[str, str] = EMPTY_DICT) -> Summary:
        before = summary_of(self._transaction._table.current_snapshot())
        plus, minus, dropped = map(_sums, (self._what.added, self._what.removed, self._dropped))
        by_position = _sums(
            e for e in self._dropped if e.data_file.content == DataFileContent.POSITION_DELETES
        )
        counts = {
            "added-data-files": plus[0], "added-records": plus[1], "added-files-size": plus[2],
            "deleted-data-files": minus[0], "deleted-records": minus[1],
            "removed-files-size": minus[2] + dropped[2], "removed-delete-files": dropped[0],
            "removed-position-deletes": by_position[1],
            "removed-equality-deletes": dropped[1] - by_position[1],
        }  # fmt: skip
        changes = {
            "total-data-files": plus[0] - minus[0],
            "total-records": plus[1] - minus[1],
            "total-files-size": plus[2] - counts["removed-files-size"],
            "total-delete-files": -dropped[0],
            "total-position-deletes": -counts["removed-position-deletes"],
            "total-equality-deletes": -counts["removed-equality-deletes"],
        }
        totals = {k: str(int(v) + changes.get(k, 0)) for k, v in before.items() if k.startswith("total-")}
        changed = {k: str(n) for k, n in counts.items() if n}
        return Summary(Operation.REPLACE, **changed, **totals, **snapshot_properties)


def _sums(entries: Iterable[ManifestEntry]) -> tuple[int, int, int]:
    files = [e.data_file for e in entries]
    return len(files), sum(f.record_count for f in files), sum(f.file_size_in_bytes for f in files)
