"""The one producer of snapshots that replace files. Import it where it is used: it loads PyIceberg.

PyIceberg knows no operation `replace`; and its own `overwrite` finds files of partitioned tables again by
a filter over their partitions, and reads every manifest twice. Here the manifests that name them are known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from itertools import groupby

from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    ManifestWriter,
)
from pyiceberg.table import Table, Transaction
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.snapshots import Operation, Summary
from pyiceberg.typedef import EMPTY_DICT

from frazil.tables.catalogs.pyiceberg import live_entries
from frazil.tables.commits.replacement import Replacement, overtaken
from frazil.tables.commits.stage import audit_failed
from frazil.tables.format_v3.fields import FIRST_ROW_ID, ROW_ID, bytes_of, field_of, has_row_ids
from frazil.tables.format_v3.producer import Producer
from frazil.tables.metadata.manifests import manifests_of
from frazil.tables.metadata.snapshots import summary_of

_ENTRIES = 5_000  # of one manifest: with statistics of twenty columns about the 8 MB that Iceberg aims at


def stage_same_rows(tx: Transaction, what: Replacement, says: Mapping[str, str]) -> int:
    """Adds a snapshot to a transaction that holds the same rows in other files; returns its id."""
    return _staged(_Rewrite(tx, what, says, Operation.REPLACE))


def stage_new_rows(tx: Transaction, what: Replacement, says: Mapping[str, str]) -> int:
    """Adds a snapshot to a transaction that holds other rows than before; returns its id."""
    return _staged(_Rewrite(tx, what, says, Operation.OVERWRITE if what.added else Operation.DELETE))


def _staged(snapshot: _Rewrite) -> int:
    snapshot.commit()
    return snapshot.snapshot_id


class _Rewrite(Producer):
    """Writes the manifests of a replacement; the head's other manifests stay as they are."""

    def __init__(
        self,
        tx: Transaction,
        what: Replacement,
        says: Mapping[str, str],
        operation: Operation,
    ) -> None:
        super().__init__(operation, tx, tx._table.io, snapshot_properties=dict(says), branch=MAIN_BRANCH)
        _refuse_without_ids(tx._table, what)
        self._what = what
        self._dropped: list[ManifestEntry] = []

    def _deleted_entries(self) -> list[ManifestEntry]:
        removed = () if self._what.untold else self._what.removed
        return [self._entry(ManifestEntryStatus.DELETED, e) for e in removed]

    def _existing_manifests(self) -> list[ManifestFile]:
        table, gone = self._transaction._table, self._what.gone
        others = [m for m in manifests_of(table, table.current_snapshot()) if m.manifest_path not in gone]
        data = [m for m in others if m.content == ManifestContent.DATA]
        deletes = [m for m in others if m.content == ManifestContent.DELETES]
        added = [self._added(file) for file in self._what.added]
        return [
            *self._written(added, added),
            *self._written(self._what.kept, self._read_again()),
            *data,
            *self._applicable(deletes, data),
            *self._new_vectors(),
        ]

    def _new_vectors(self) -> Iterator[ManifestFile]:
        """Manifests of vectors, one for each layout of partitions."""
        ordered = sorted(self._what.vectors, key=lambda file: file.spec_id)
        for spec_id, files in groupby(ordered, key=lambda file: file.spec_id):
            with self.manifest(self.spec(spec_id), ManifestContent.DELETES) as writer:
                for file in files:
                    writer.add_entry(self._added(file))
            yield writer.to_manifest_file()

    def _read_again(self) -> Iterator[ManifestEntry]:
        """The files of manifests that go, one by one, with the statistics of all columns."""
        table = self._transaction._table
        data = manifests_of(table, table.current_snapshot(), ManifestContent.DATA)
        for manifest in data if self._what.kept else ():
            if manifest.manifest_path in self._what.gone:
                for entry in live_entries(table.io, manifest):
                    yield self._entry(ManifestEntryStatus.EXISTING, entry)

    def _applicable(
        self, deletes: Iterable[ManifestFile], data: Iterable[ManifestFile]
    ) -> list[ManifestFile]:
        """Delete manifests without the files that take no row away any more.

        Those are known to be such, or older than all data, by whole manifests, as in Java.
        """
        what, manifests = self._what, []
        numbers = [m.min_sequence_number for m in data] + [e.sequence_number or 0 for e in what.kept]
        newest = self._transaction.table_metadata.next_sequence_number()
        new = newest if what.sequence is None else what.sequence
        oldest = min(numbers + [new] * bool(what.added), default=0)
        for manifest in deletes:
            entries = list(live_entries(self._io, manifest))
            old = all((e.sequence_number or 0) < oldest for e in entries)
            left = [] if old else [e for e in entries if not what.drops(e.data_file)]
            if len(left) == len(entries):
                manifests.append(manifest)
                continue
            self._dropped += [e for e in entries if old or what.drops(e.data_file)]
            if left:
                manifests.append(self._deletes_left(manifest, left))
        return manifests

    def _deletes_left(self, manifest: ManifestFile, left: Iterable[ManifestEntry]) -> ManifestFile:
        spec = self.spec(manifest.partition_spec_id)
        with self.manifest(spec, ManifestContent.DELETES) as writer:
            for entry in left:
                writer.add_entry(self._entry(ManifestEntryStatus.EXISTING, entry))
        return writer.to_manifest_file()

    def _written(
        self, wanted: Iterable[ManifestEntry], entries: Iterable[ManifestEntry]
    ) -> list[ManifestFile]:
        """The wanted ones of some entries, by partition: a filter on it then leaves most manifests closed.

        All manifests are open at once, so that no entry has to wait for another one; each from its first on,
        for PyIceberg leaves an empty one open, and says so instead of what went wrong.
        """
        places: dict[str, tuple[int, int]] = {}
        for number, (spec_id, paths) in enumerate(_by_partition(wanted)):
            places |= dict.fromkeys(paths, (number, spec_id))
        writers: dict[tuple[int, int], ManifestWriter] = {}
        with ExitStack() as stack:
            for entry in entries:
                if not (place := places.pop(entry.data_file.file_path, None)):
                    continue
                if place not in writers:
                    writers[place] = stack.enter_context(self.new_manifest_writer(self.spec(place[1])))
                writers[place].add_entry(entry)
            if places:
                raise overtaken(self._transaction._table, f"{len(places)} files are no longer there")
        return [writers[place].to_manifest_file() for place in sorted(writers)]

    def _added(self, file: DataFile) -> ManifestEntry:
        return ManifestEntry.from_args(
            status=ManifestEntryStatus.ADDED,
            snapshot_id=self.snapshot_id,
            sequence_number=self._what.sequence,
            file_sequence_number=None,
            data_file=file,
        )

    def _entry(self, status: ManifestEntryStatus, entry: ManifestEntry) -> ManifestEntry:
        return ManifestEntry.from_args(
            status=status,
            snapshot_id=entry.snapshot_id if status == ManifestEntryStatus.EXISTING else self.snapshot_id,
            sequence_number=entry.sequence_number,
            file_sequence_number=entry.file_sequence_number,
            data_file=entry.data_file,
        )

    def _summary(self, snapshot_properties: dict[str, str] = EMPTY_DICT) -> Summary:
        parent = self._parent_snapshot_id
        before = summary_of(self._transaction.table_metadata.snapshot_by_id(parent) if parent else None)
        dropped = [e.data_file for e in self._dropped]
        plus, gone, vectors = _sums(self._what.added), _sums(dropped), _sums(self._what.vectors)
        minus = _sums(e.data_file for e in self._what.removed)
        by_position = _sums(f for f in dropped if f.content == DataFileContent.POSITION_DELETES)
        counts = {
            "added-data-files": plus[0], "added-records": plus[1],
            "added-files-size": plus[2] + vectors[2], "added-delete-files": vectors[0],
            "added-dvs": vectors[0], "added-position-deletes": vectors[1],
            "deleted-data-files": minus[0], "deleted-records": minus[1],
            "removed-files-size": minus[2] + gone[2], "removed-delete-files": gone[0],
            "removed-position-deletes": by_position[1],
            "removed-equality-deletes": gone[1] - by_position[1],
            "removed-dvs": sum(f.file_format == FileFormat.PUFFIN for f in dropped),
        }  # fmt: skip
        changes = {
            "total-data-files": plus[0] - minus[0],
            "total-records": plus[1] - minus[1],
            "total-files-size": counts["added-files-size"] - counts["removed-files-size"],
            "total-delete-files": vectors[0] - gone[0],
            "total-position-deletes": vectors[1] - counts["removed-position-deletes"],
            "total-equality-deletes": -counts["removed-equality-deletes"],
        }
        totals = {k: str(int(v) + changes.get(k, 0)) for k, v in before.items() if k.startswith("total-")}
        changed = {k: str(n) for k, n in counts.items() if n}
        return Summary(self._operation, **changed, **totals, **snapshot_properties)


def _refuse_without_ids(table: Table, what: Replacement) -> None:
    """Raises where rows would get other ids by moving into other files.

    Raises:
        AuditFailedError: New files have no column of ids.
        OvertakenError: The old files got ids since they were read.
    """
    if not has_row_ids(table) or not what.removed:
        return
    name, head = ".".join(table.name()), table.current_snapshot()
    if bare := [f.file_path for f in what.added if ROW_ID not in (f.column_sizes or {})]:
        numbers = f"{len(bare)} new files have no row ids, such as {bare[0]}"
        raise audit_failed(f"A change of {name}", numbers)
    unknown = any(field_of(e.data_file, FIRST_ROW_ID) is None for e in what.removed)
    if unknown and head and head.first_row_id is not None:
        raise overtaken(table, "the rows of the files to be replaced got ids")


def _by_partition(entries: Iterable[ManifestEntry]) -> Iterator[tuple[int, list[str]]]:
    """Paths of the files of one manifest each, and its partition spec."""
    ordered = sorted(entries, key=lambda e: (e.data_file.spec_id, repr(e.data_file.partition)))
    for spec_id, of_spec in groupby(ordered, key=lambda e: e.data_file.spec_id):
        paths = [e.data_file.file_path for e in of_spec]
        for start in range(0, len(paths), _ENTRIES):
            yield spec_id, paths[start : start + _ENTRIES]


def _sums(files: Iterable[DataFile]) -> tuple[int, int, int]:
    every = list(files)
    return len(every), sum(f.record_count for f in every), sum(map(bytes_of, every))
