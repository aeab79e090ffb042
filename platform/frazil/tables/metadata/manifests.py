"""Reading manifests: the files of a snapshot, and which manifest names each. No data file is opened."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

from frazil.tables.catalogs.pyiceberg import columns_in, live_entries, may_match
from frazil.tables.format_v3.fields import ROW_ID_OF_LIST, has_field, has_row_ids, is_vector
from frazil.tables.format_v3.reading import read_list
from frazil.tables.metadata.deletions import NO_BURDEN, Deletions
from frazil.tables.metadata.files import Deletes, LiveFile, deletes_of, leaner, live_file
from frazil.tables.metadata.named import side_by_side

if TYPE_CHECKING:
    from pyiceberg.expressions import BooleanExpression
    from pyiceberg.io import FileIO
    from pyiceberg.manifest import DataFile, ManifestEntry, ManifestFile
    from pyiceberg.table import Table
    from pyiceberg.table.snapshots import Snapshot

Entries = tuple["ManifestEntry", ...]


_OPENING = 10  # files that could be read in the time that it takes to open a manifest

_SMALL = 4 * 2**20  # half of the size that Iceberg aims at


@dataclass(frozen=True)
class Head:
    """The files of the head of `main`."""

    snapshot: Snapshot
    manifests: tuple[ManifestFile, ...]  # its manifests that name live files
    named: Mapping[str, Entries]  # the data files that each data manifest names, by the manifest's path
    deleting: Entries  # the delete files
    layout: int  # id of the partition spec that new files have
    unread: tuple[ManifestFile, ...] = ()  # manifests whose files are not among these

    @property
    def deletes(self) -> Deletes:
        """The delete files in numbers."""
        return deletes_of(self.deleting)

    @cached_property
    def files(self) -> tuple[LiveFile, ...]:
        """The data files in numbers."""
        burdens, every = self.deletions.burdens, chain(*self.named.values())
        borne = ((e, burdens.get(e.data_file.file_path, NO_BURDEN)) for e in every)
        return tuple(live_file(e, of.files, of.rows) for e, of in borne)

    @cached_property
    def entries(self) -> dict[str, ManifestEntry]:
        """The data files by path."""
        return {e.data_file.file_path: e for e in chain(*self.named.values())}

    @cached_property
    def deletions(self) -> Deletions:
        """Which delete files apply to which data files; only of those that were read."""
        return Deletions(tuple(self.entries.values()), self.deleting)

    @property
    def whole(self) -> Entries:
        """The data files to which no delete file applies."""
        burdens = self.deletions.burdens
        return tuple(entry for path, entry in self.entries.items() if path not in burdens)

    @property
    def bytes(self) -> int:
        """Bytes of all data files."""
        return sum(f.bytes for f in self.files)

    def rows_left(self, paths: Iterable[str]) -> tuple[int, bool]:
        """The rows of some files that are not deleted, and whether that is exact: vectors alone tell it."""
        rows = sum(self.entries[path].data_file.record_count for path in paths)
        burdens = self.deletions.burdens
        deleted = sum(burdens.get(path, NO_BURDEN).rows for path in paths)
        exact = all(is_vector(entry.data_file) for entry in self.deleting)
        return (rows - deleted, True) if exact else (rows, False)

    @property
    def delete_manifests(self) -> frozenset[str]:
        """Paths of the manifests that name delete files."""
        return frozenset(m.manifest_path for m in self.manifests) - self.named.keys()

    @property
    def small_manifests(self) -> list[str]:
        """Paths of data manifests that would better be put together."""
        small = (m.manifest_path for m in self.manifests if m.manifest_length < _SMALL)
        return [path for path in small if path in self.named]


class HeadReader:
    """Reads one table's heads, one after the other, and each manifest once: they never change.

    Statistics are kept of the given columns only. Entries with those of 200 columns take 52 kB each.
    """

    def __init__(self, columns: Collection[int] = ()) -> None:
        self._columns = frozenset(columns)
        self._known: dict[tuple[str, int | None], Entries] = {}

    def read(self, table: Table, most: float = math.inf) -> Head | None:
        """The files of the present head; None where there is no head.

        Of more than `most` files, about `most` of the newest are read; manifests that name more are skipped.
        """
        from pyiceberg.manifest import ManifestContent

        head = table.current_snapshot()
        if head is None:
            return None
        every = manifests_of(table, head)
        manifests, unread = _newest(every, most)
        new = [m for m in manifests if _key(m) not in self._known]
        self._known |= {_key(m): e for m, e in zip(new, self._read(table.io, new), strict=True)}
        of = {content: [m for m in manifests if m.content == content] for content in ManifestContent}
        return Head(
            snapshot=head,
            manifests=every,
            named={m.manifest_path: self._known[_key(m)] for m in of[ManifestContent.DATA]},
            deleting=tuple(chain(*(self._known[_key(m)] for m in of[ManifestContent.DELETES]))),
            layout=table.spec().spec_id,
            unread=unread,
        )

    def _read(self, io: FileIO, manifests: Iterable[ManifestFile]) -> list[Entries]:
        return read_entries(io, manifests, self._columns)


def _key(manifest: ManifestFile) -> tuple[str, int | None]:
    """What a manifest's entries are known by: a list from before an upgrade gives their rows no ids."""
    return manifest.manifest_path, manifest[ROW_ID_OF_LIST] if has_field(manifest) else None


def _newest(
    manifests: Sequence[ManifestFile], most: float
) -> tuple[tuple[ManifestFile, ...], tuple[ManifestFile, ...]]:
    """The newest manifests that name `most` files together, each counted as ten more; and the others.

    Both in their order.
    """
    chosen: set[str] = set()
    for manifest in sorted(manifests, key=lambda m: m.sequence_number, reverse=True):
        if (cost := files_named(manifest) + _OPENING) <= most:
            chosen.add(manifest.manifest_path)
            most -= cost
    others = tuple(m for m in manifests if m.manifest_path not in chosen)
    return tuple(m for m in manifests if m.manifest_path in chosen), others


def files_named(manifest: ManifestFile) -> int:
    """How many live files a manifest names."""
    return (manifest.added_files_count or 0) + (manifest.existing_files_count or 0)


def rows_named(manifest: ManifestFile) -> int:
    """How many rows its live files have."""
    return (manifest.added_rows_count or 0) + (manifest.existing_rows_count or 0)


def delete_manifests(table: Table) -> frozenset[str]:
    """Paths of the manifests that name delete files of the head: those of other engines."""
    from pyiceberg.manifest import ManifestContent

    deletes = manifests_of(table, table.current_snapshot(), ManifestContent.DELETES)
    return frozenset(manifest.manifest_path for manifest in deletes)


def manifests_of(
    table: Table, snapshot: Snapshot | None, content: int | None = None
) -> tuple[ManifestFile, ...]:
    """The manifests of a snapshot that name files which are there, and not only some that were removed.

    `content` is a `ManifestContent`; None: those of data files and those of delete files.
    """
    manifests = _manifests(table, snapshot) if snapshot else ()
    live = (m for m in manifests if m.has_added_files() or m.has_existing_files())
    return tuple(m for m in live if content is None or m.content == content)


def _manifests(table: Table, snapshot: Snapshot) -> Sequence[ManifestFile]:
    if has_row_ids(table):
        return read_list(table.io, snapshot.manifest_list)
    return snapshot.manifests(table.io)


def read_entries(
    io: FileIO, manifests: Iterable[ManifestFile], columns: Collection[int] | None = None
) -> list[Entries]:
    """The live entries of some manifests, with the statistics of some columns; None: of all."""

    def read(manifest: ManifestFile) -> Entries:
        entries = live_entries(io, manifest)
        return tuple(entries if columns is None else (leaner(entry, columns) for entry in entries))

    return list(side_by_side(read, manifests))


def data_files(table: Table, snapshot: Snapshot) -> Iterator[DataFile]:
    """The data files that one snapshot holds."""
    from pyiceberg.manifest import ManifestContent

    manifests = manifests_of(table, snapshot, ManifestContent.DATA)
    return (e.data_file for e in chain(*read_entries(table.io, manifests, ())))


def added_files(table: Table, snapshot: Snapshot) -> Iterator[DataFile]:
    """The data files that one snapshot added."""
    from pyiceberg.manifest import ManifestContent, ManifestEntryStatus

    data = manifests_of(table, snapshot, ManifestContent.DATA)
    own = [m for m in data if m.added_snapshot_id == snapshot.snapshot_id]
    entries = chain(*read_entries(table.io, own))
    return (e.data_file for e in entries if e.status == ManifestEntryStatus.ADDED)


@dataclass(frozen=True, slots=True)
class Candidates:
    """Data files of a head that can hold certain rows."""

    entries: Entries
    # All live entries of the manifests that were read for it, by the manifest's path
    named: Mapping[str, Entries]

    @property
    def rows(self) -> dict[str, int]:
        """How many rows each has, by path."""
        return {e.data_file.file_path: e.data_file.record_count for e in self.entries}

    @property
    def bytes(self) -> int:
        """Bytes of all of them."""
        return sum(e.data_file.file_size_in_bytes for e in self.entries)


def files_matching(table: Table, where: BooleanExpression) -> Candidates:
    """The data files of the head that may hold a row for which `where` is true, as statistics tell."""
    from pyiceberg.manifest import ManifestContent

    data = manifests_of(table, table.current_snapshot(), ManifestContent.DATA)
    judges = {i: may_match(table, i, where) for i in {m.partition_spec_id for m in data}}
    chosen = [m for m in data if judges[m.partition_spec_id].manifest(m)]
    entries = read_entries(table.io, chosen, columns_in(table, where))
    named = dict(zip((m.manifest_path for m in chosen), entries, strict=True))
    fitting = (e for e in chain(*named.values()) if judges[e.data_file.spec_id].file(e.data_file))
    return Candidates(tuple(fitting), named)
