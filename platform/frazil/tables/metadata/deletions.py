"""Which delete files a reader must open for each data file, and which of them take no row away any more.

Which apply is told by https://iceberg.apache.org/spec/#scan-planning: those of the data file's partition that
are no older than it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from frazil.tables.format_v3.fields import DeleteKey, delete_key
from frazil.tables.metadata.files import delete_bounds

if TYPE_CHECKING:
    from pyiceberg.manifest import DataFile, ManifestEntry

_EVERYWHERE = (-1, "")
"""Where deletes by equality apply that are of no partition."""


@dataclass(frozen=True, slots=True)
class Burden:
    """What a reader of one data file has to apply to it.

    Attributes:
        files: Delete files.
        rows: Rows that those by position take away. Where one is of several data files, each of these bears a
            share by its rows: nothing tells more without reading.
    """

    files: int = 0
    rows: int = 0


NO_BURDEN = Burden()


@dataclass(frozen=True)
class Deletions:
    """The delete files of a head, and the data files that they may apply to."""

    data: tuple[ManifestEntry, ...]
    deleting: tuple[ManifestEntry, ...]

    @cached_property
    def burdens(self) -> Mapping[str, Burden]:
        """What is to be applied to each data file, by its path; those to which nothing is are left out."""
        files, rows = Counter[str](), Counter[str]()
        for entry in self._by_position if self.deleting else ():
            hit = self._hit(entry)
            records = max(1, sum(e.data_file.record_count for e in hit))
            for each in (e.data_file for e in hit):
                files[each.file_path] += 1
                rows[each.file_path] += entry.data_file.record_count * each.record_count // records
        later = {place: sorted(map(_sequence, of)) for place, of in self._by_equality.items()}
        for entry in self.data if later else ():
            for numbers in (later.get(_place(entry.data_file), []), later.get(_EVERYWHERE, [])):
                files[entry.data_file.file_path] += len(numbers) - bisect_right(numbers, _sequence(entry))
        return {path: Burden(count, rows[path]) for path, count in files.items() if count}

    def applying(self, unpartitioned: Collection[int]) -> Mapping[str, tuple[DataFile, ...]]:
        """What is to be applied to each data file, by its path.

        `unpartitioned` are the layouts without partitions: their deletes by equality apply everywhere.
        """
        by_file: defaultdict[str, list[DataFile]] = defaultdict(list)
        for deletes in self._by_position if self.deleting else ():
            for hit in self._hit(deletes):
                by_file[hit.data_file.file_path].append(deletes.data_file)
        for entry in self.data if self._by_equality else ():
            place = _place(entry.data_file)
            near = [*self._by_equality.get(place, ()), *self._by_equality.get(_EVERYWHERE, ())]
            by_file[entry.data_file.file_path] += [
                each.data_file
                for each in near
                if _sequence(each) > _sequence(entry)
                and (each.data_file.spec_id in unpartitioned or _place(each.data_file) == place)
            ]
        return {entry.data_file.file_path: tuple(by_file[entry.data_file.file_path]) for entry in self.data}

    def idle(self, anew: Collection[str] = (), sequence: int = 0) -> frozenset[DeleteKey]:
        """The delete files that take no row away any more.

        Args:
            anew: Paths of data files that are written anew without the rows that are deleted in them.
            sequence: Number that the new files bear: what was deleted up to there is applied.
        """
        idle = {
            delete_key(entry.data_file)
            for entry in self._by_position
            if all(e.data_file.file_path in anew for e in self._hit(entry))
        }
        oldest = self._oldest(anew, sequence) if self._by_equality else {}
        for place, entries in self._by_equality.items():
            least = oldest.get(place, float("inf"))
            idle |= {delete_key(e.data_file) for e in entries if _sequence(e) <= least}
        return frozenset(idle)

    def _oldest(self, anew: Collection[str], sequence: int) -> dict[tuple[int, str], float]:
        """The least sequence number of the data files of each partition, and of all."""
        oldest: defaultdict[tuple[int, str], float] = defaultdict(lambda: float("inf"))
        for entry in self.data:
            own = max(sequence, _sequence(entry)) if entry.data_file.file_path in anew else _sequence(entry)
            for place in (_place(entry.data_file), _EVERYWHERE):
                oldest[place] = min(oldest[place], own)
        return oldest

    def _hit(self, deletes: ManifestEntry) -> list[ManifestEntry]:
        """The data files that a position delete file may name: they were there when it was written."""
        lower, upper = delete_bounds(deletes.data_file)
        if lower and lower == upper:  # of one data file, as Iceberg's ContentFileUtil tells
            near = [e for e in (self._paths.get(lower.decode()),) if e]
        else:
            near = self._places.get(_place(deletes.data_file), [])
        there = (e for e in near if (e.file_sequence_number or 0) <= _sequence(deletes))
        return [e for e in there if not lower or not upper or lower <= _name(e) <= upper]

    @cached_property
    def _by_position(self) -> tuple[ManifestEntry, ...]:
        from pyiceberg.manifest import DataFileContent

        return tuple(e for e in self.deleting if e.data_file.content == DataFileContent.POSITION_DELETES)

    @cached_property
    def _by_equality(self) -> Mapping[tuple[int, str], list[ManifestEntry]]:
        """Deletes by equality, by the partition that they hold for."""
        from pyiceberg.manifest import DataFileContent

        deletes = (e for e in self.deleting if e.data_file.content == DataFileContent.EQUALITY_DELETES)
        return _grouped(deletes, everywhere=True)

    @cached_property
    def _places(self) -> Mapping[tuple[int, str], list[ManifestEntry]]:
        return _grouped(self.data)

    @cached_property
    def _paths(self) -> Mapping[str, ManifestEntry]:
        return {e.data_file.file_path: e for e in self.data}


def _grouped(
    entries: Iterable[ManifestEntry], *, everywhere: bool = False
) -> dict[tuple[int, str], list[ManifestEntry]]:
    groups: defaultdict[tuple[int, str], list[ManifestEntry]] = defaultdict(list)
    for entry in entries:
        file = entry.data_file
        of_none = all(file.partition[i] is None for i in range(len(file.partition)))
        groups[_EVERYWHERE if everywhere and of_none else _place(file)].append(entry)
    return dict(groups)


def _place(file: DataFile) -> tuple[int, str]:
    """A file's partition, with its layout."""
    return file.spec_id, repr(file.partition)


def _name(entry: ManifestEntry) -> bytes:
    return entry.data_file.file_path.encode()


def _sequence(entry: ManifestEntry) -> int:
    return entry.sequence_number or 0
