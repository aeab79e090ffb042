"""Weeks of landings, great and small, under the real plans of compaction and expiry: storage is bounded.

The model has files and snapshots only: ten minutes between two landings, a compaction after every
second one, and a hundred snapshots at most, which are gone in half a day.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import ceil

import pytest
from pyiceberg.table.metadata import TableMetadataV2
from pyiceberg.table.refs import SnapshotRef, SnapshotRefType
from pyiceberg.table.snapshots import Operation, Snapshot, Summary

from frazil.spec.upkeep import Upkeep
from frazil.tables.metadata.files import LiveFile
from frazil.upkeep.compaction.bins import Rule
from frazil.upkeep.compaction.plan import plan_rounds, read_copies
from frazil.upkeep.expiry.retention import plan_expiry
from frazil.upkeep.work import MB

TARGET = 128 * MB
UPKEEP = Upkeep(max_snapshots=100)
RULE = Rule.of(UPKEEP, TARGET)
START, MINUTE = 1_800_000_000.0, 60.0
DAY, WEEK = 24 * 6, 7 * 24 * 6
"""In landings."""


@dataclass
class Lake:
    """A table as its metadata tells it, and every file that snapshots may still hold."""

    partitions: int = 1
    now: float = START
    head: int = 0
    files: dict[str, LiveFile] = field(default_factory=dict)
    snapshots: list[Snapshot] = field(default_factory=list)
    removed: list[tuple[int, int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.metadata = TableMetadataV2.model_construct(
            snapshots=self.snapshots, refs={}, snapshot_log=[], properties={}
        )

    @property
    def ideal(self) -> int:
        return self.partitions * ceil(self.live / self.partitions / TARGET)

    @property
    def live(self) -> int:
        return sum(f.bytes for f in self.files.values())

    @property
    def old(self) -> int:
        """Bytes that are stored for the sake of older snapshots."""
        kept = [s.snapshot_id for s in self.snapshots]
        return sum(
            size for since, until, size in self.removed if bisect_left(kept, since) < bisect_left(kept, until)
        )

    def land(self, size: int) -> None:
        self._commit(Operation.APPEND, [], [(size // self.partitions, (p,)) for p in range(self.partitions)])

    def compact(self) -> int:
        """Gives how many files it rewrote."""
        files, copies = self.files.values(), read_copies(self.metadata)
        bins = [b for r in plan_rounds(files, 0, RULE, int(UPKEEP.max_bytes), copies) for b in r.bins]
        gone = [f for b in bins for f in b.files]
        if gone:
            made = [(b.bytes // b.into, b.files[0].partition) for b in bins for _ in range(b.into)]
            self._commit(Operation.REPLACE, gone, made)
        return len(gone)

    def expire(self) -> None:
        gone = set(plan_expiry(self.metadata, UPKEEP, self.now))
        self.snapshots[:] = [s for s in self.snapshots if s.snapshot_id not in gone]

    def live_on(self, landings: int, size: int) -> Iterator[int]:
        """Lands, compacts and expires; gives the number of each landing after what follows it."""
        for number in range(1, landings + 1):
            self.now += 10 * MINUTE
            self.land(size)
            if number % 2 == 0:
                self.compact()
            if number % 6 == 0:
                self.expire()
            yield number

    def rest(self, days: int) -> None:
        """Upkeep goes on, though nothing is landed."""
        for _ in range(days * 4):
            self.now += 6 * 60 * MINUTE
            self.expire()
            self.compact()

    def _commit(
        self, operation: Operation, gone: list[LiveFile], made: list[tuple[int, tuple[int, ...]]]
    ) -> None:
        parent, self.head = self.head or None, self.head + 1
        summary = {"removed-files-size": str(sum(f.bytes for f in gone))} if gone else {}
        self.snapshots.append(
            Snapshot(
                **{"snapshot-id": self.head, "parent-snapshot-id": parent, "sequence-number": self.head},
                **{"timestamp-ms": int(self.now * 1000), "manifest-list": f"s3://lake/{self.head}.avro"},
                summary=Summary(operation, **summary),
            )
        )
        main = SnapshotRef(**{"snapshot-id": self.head, "type": SnapshotRefType.BRANCH})
        self.metadata.refs["main"] = main
        for file in gone:
            del self.files[file.path]
            self.removed.append((file.snapshot_id or 0, self.head, file.bytes))
        for n, (size, partition) in enumerate(made):
            path = f"{self.head}-{n}"
            self.files[path] = LiveFile(path, size, 1, partition, sequence=self.head, snapshot_id=self.head)


@dataclass(frozen=True)
class Week:
    """A table that lived for a week, with its live and old bytes after every hour."""

    lake: Lake
    stored: list[tuple[int, int]]


@pytest.fixture(
    scope="module",
    params=[
        (50_000, 1),
        pytest.param((500_000, 1), marks=pytest.mark.nightly),  # in between
        (5_000_000, 1),
        pytest.param((50_000_000, 1), marks=pytest.mark.nightly),  # as 10 partitions of 5 GB
        (5_000_000, 10),
    ],
    ids=["50 MB a week", "500 MB a week", "5 GB a week", "50 GB a week", "10 partitions"],
)
def week(request: pytest.FixtureRequest) -> Week:
    size, partitions = request.param
    lake = Lake(partitions)
    return Week(lake, [(lake.live, lake.old) for n in lake.live_on(WEEK, size) if n % 6 == 0])


def test_storage_is_bounded_every_day_and_settles_below_one_and_a_half(week: Week) -> None:
    lake, last_day = week.lake, week.stored[-24:]

    assert all(old <= live + TARGET for live, old in week.stored)  # a young table's bytes are written twice
    assert all(old <= 0.5 * live + TARGET for live, old in last_day)
    assert len(lake.files) <= 2 * lake.ideal + lake.partitions * UPKEEP.max_snapshots // 3


def test_a_quiet_table_comes_to_rest_with_few_files(week: Week) -> None:
    lake = week.lake

    lake.rest(days=14)

    assert lake.compact() == 0
    assert lake.old <= 0.5 * lake.live + TARGET
    assert len(lake.files) <= 2 * lake.ideal + 1
