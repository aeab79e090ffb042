"""A census of one table: its files, snapshots and manifests, from metadata alone."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from frazil.spec.table import AnyTable
from frazil.spec.upkeep import Upkeep
from frazil.tables.commits.leftovers import dead_branches
from frazil.tables.metadata.files import Deletes
from frazil.tables.metadata.manifests import Head, HeadReader, files_named, rows_named
from frazil.tables.metadata.snapshots import ancestors, number, summary_of
from frazil.upkeep.compaction.bins import Rule, waiting
from frazil.upkeep.compaction.partitions import PartitionCensus, SizeClass, by_size, partitions_of
from frazil.upkeep.compaction.plan import Plan, plan_bins, read_copies
from frazil.upkeep.facts import read_left
from frazil.upkeep.work import LastWork, Number, last_works

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyiceberg.table.metadata import TableMetadata

FILES_READ = 2_000
"""Data files into which a landing looks, to tell how its table stands: a tenth of a second of CPU.

Those that came last, in 180 manifests at most. A compaction leaves manifests of more files than that; upkeep
itself reads all.
"""


@dataclass(frozen=True, slots=True)
class DeadBranch:
    """A branch whose work ended without publishing it; its files are nobody's once it is dropped."""

    name: str
    age: float  # seconds since its work began
    files: int  # data files that its newest commit added
    bytes: int


@dataclass(frozen=True, slots=True)
class Census:
    """How one table stands."""

    table: str
    at: float  # when it was taken, in seconds since the epoch
    head: int | None  # snapshot that was looked at; None where there is none
    target: int  # size in bytes that data files should have
    files: int
    bytes: int
    records: int
    not_looked_into: int  # data files of which no more is known than that they are among these
    waiting: int  # bytes of small files that wait for a compaction; what the last one left does not wait
    sizes: tuple[SizeClass, ...]
    partitions: tuple[PartitionCensus, ...]
    deletes: Deletes
    idle_deletes: int  # delete files that take no row away any more
    manifests: int
    manifest_bytes: int
    metadata_bytes: int  # size of the metadata file, which every commit writes again
    snapshots: int
    oldest: float | None  # age of the oldest snapshot in seconds
    copies: int  # bytes that only older snapshots hold, most of them of files that a compaction replaced
    most_copies: int  # how many such bytes there may be; with more, a compaction spares what one has written
    unreachable: int  # snapshots that no branch and no tag leads to
    dead_branches: tuple[DeadBranch, ...]
    last: Mapping[str, LastWork]

    @property
    def small_files(self) -> int:
        """Data files that a compaction takes for small."""
        return sum(p.small_files for p in self.partitions)

    @property
    def small_bytes(self) -> int:
        """Their bytes."""
        return sum(p.small_bytes for p in self.partitions)

    @property
    def ideal(self) -> int:
        """Data files that a compaction would leave."""
        return sum(p.ideal for p in self.partitions) + self.not_looked_into

    @property
    def saved(self) -> int:
        """Files fewer by a compaction."""
        return sum(p.gain.saved for p in self.partitions)

    @property
    def deleted_share(self) -> float:
        """Rows that delete files take away per row; those of equality deletes are not known."""
        return min(1.0, self.deletes.rows / self.records) if self.records else 0.0

    @property
    def most_deletes(self) -> int:
        """Delete files that a reader must open for one data file, at most."""
        return max((p.delete_files for p in self.partitions), default=0)

    @property
    def numbers(self) -> dict[str, Number]:
        """The census in numbers, to be plotted."""
        return {
            "files": self.files,
            "files_not_looked_into": self.not_looked_into,
            "files_after_compaction": self.ideal,
            "bytes": self.bytes,
            "small_files": self.small_files,
            "small_bytes": self.small_bytes,
            "delete_files": self.deletes.files,
            "delete_files_of_one_file": self.most_deletes,
            "idle_delete_files": self.idle_deletes,
            "deleted_rows": self.deletes.rows,
            "deleted_share": round(self.deleted_share, 6),
            "manifests": self.manifests,
            "manifest_bytes": self.manifest_bytes,
            "metadata_bytes": self.metadata_bytes,
            "snapshots": self.snapshots,
            "oldest_snapshot_seconds": round(self.oldest or 0.0, 3),
            "old_copies_bytes": self.copies,
            "unreachable_snapshots": self.unreachable,
            "dead_branches": len(self.dead_branches),
        }


def take_census(
    table: Table, upkeep: Upkeep, target: int, now: float, *, sorts: bool = False, most: float = math.inf
) -> Census:
    """Reads the table's metadata and manifests; opens no data file.

    Data files should have `target` bytes; a compaction that sorts cuts files where it likes. Of more than
    `most` files only those that came last are looked into; of the others there are numbers in all.
    """
    metadata, head = table.metadata, HeadReader().read(table, most)
    left, files = _left(head), head.files if head else ()
    rule = Rule.of(upkeep, target, sorts=sorts)
    plan = plan_bins(files, table.spec().spec_id, rule, read_copies(metadata))
    return Census(
        table=".".join(table.name()),
        at=now,
        head=head.snapshot.snapshot_id if head else None,
        target=target,
        files=len(files) + left.files,
        bytes=sum(f.bytes for f in files) + left.bytes,
        records=sum(f.records for f in files) + left.records,
        not_looked_into=left.files,
        waiting=_waiting(plan, rule, metadata),
        sizes=(*by_size(f.bytes for f in files), *left.sizes),
        partitions=partitions_of(table, files, rule, plan),
        deletes=left.deletes or (head.deletes if head else Deletes()),
        idle_deletes=len(head.deletions.idle()) if head and not head.unread else 0,
        manifests=len(head.manifests) if head else 0,
        manifest_bytes=sum(m.manifest_length for m in head.manifests) if head else 0,
        metadata_bytes=len(table.io.new_input(table.metadata_location)),
        snapshots=len(metadata.snapshots),
        oldest=_oldest(metadata, now),
        copies=plan.copies,
        most_copies=plan.allowed,
        unreachable=_unreachable(metadata),
        dead_branches=tuple(_dead_branches(metadata, now)),
        last=last_works(metadata),
    )


@dataclass(frozen=True, slots=True)
class _Left:
    """Data files that were not looked into, and the delete files as the head's summary counts them."""

    files: int = 0
    bytes: int = 0
    records: int = 0
    deletes: Deletes | None = None  # None where all of them were read

    @property
    def sizes(self) -> tuple[SizeClass, ...]:
        """Where there are any, a class of their own."""
        return (SizeClass("not looked into", self.files, self.bytes),) if self.files else ()


def _left(head: Head | None) -> _Left:
    """What the list of manifests and the summary tell of manifests that were not read."""
    from pyiceberg.manifest import ManifestContent

    if head is None or not head.unread:
        return _Left()
    summary = summary_of(head.snapshot)
    data = [m for m in head.unread if m.content == ManifestContent.DATA]
    deletes = Deletes(number(summary, "total-delete-files"), rows=number(summary, "total-position-deletes"))
    return _Left(
        files=sum(map(files_named, data)),
        bytes=max(0, number(summary, "total-files-size") - head.bytes - head.deletes.bytes),
        records=sum(map(rows_named, data)),
        deletes=deletes if len(data) < len(head.unread) else None,
    )


def census_of(spec: AnyTable, table: Table, now: float, *, most: float = math.inf) -> Census:
    """The census of a spec's table; see `take_census`."""
    target = int(spec.write.target_file_size)
    return take_census(table, spec.upkeep, target, now, sorts=bool(spec.sort_by), most=most)


def _waiting(plan: Plan, rule: Rule, metadata: TableMetadata) -> int:
    """Bytes of small files that the last compaction did not leave."""
    left_over = read_left(metadata)
    return sum(waiting(each, rule, left_over) for bins in plan.bins.values() for each in bins)


def _oldest(metadata: TableMetadata, now: float) -> float | None:
    times = [snapshot.timestamp_ms for snapshot in metadata.snapshots]
    return max(0.0, now - min(times) / 1000) if times else None


def _unreachable(metadata: TableMetadata) -> int:
    """Snapshots that no branch and no tag leads to."""
    reachable = {s.snapshot_id for ref in metadata.refs for s in ancestors(metadata, ref)}
    return len(metadata.snapshots) - len(reachable)


def _dead_branches(metadata: TableMetadata, now: float) -> Iterator[DeadBranch]:
    for name, age in sorted(dead_branches(metadata, now).items()):
        yield _dead_branch(metadata, name, age)


def _dead_branch(metadata: TableMetadata, name: str, age: float) -> DeadBranch:
    tip, main = metadata.refs[name].snapshot_id, metadata.refs.get("main")
    unwritten = main is not None and main.snapshot_id == tip
    added = {} if unwritten else summary_of(metadata.snapshot_by_id(tip))
    return DeadBranch(name, age, number(added, "added-data-files"), number(added, "added-files-size"))
