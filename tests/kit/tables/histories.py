"""Histories of a table's metadata, with the true position of every snapshot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadataV2
from pyiceberg.table.refs import SnapshotRef, SnapshotRefType
from pyiceberg.table.snapshots import Operation, Snapshot, SnapshotLogEntry, Summary
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER

from frazil.landing.position.ledger import Ledger, read_ledger
from frazil.spec.upkeep import Upkeep
from frazil.upkeep.expiry.retention import plan_expiry

HOUR = 3600.0


START = 1_800_000_000.0


@dataclass
class History:
    """A table's metadata as landings and others leave it, with the true position of every snapshot."""

    now: float = START
    snapshots: list[Snapshot] = field(default_factory=list)
    refs: dict[str, SnapshotRef] = field(default_factory=dict)
    log: list[SnapshotLogEntry] = field(default_factory=list)
    properties: dict[str, str] = field(default_factory=dict)
    truth: dict[int, int] = field(default_factory=dict)
    forgets_parents: bool = False

    @property
    def metadata(self) -> TableMetadataV2:
        schema = Schema()
        main = self.refs.get("main")
        return TableMetadataV2(
            location="s3://lake/table",
            **{"last-column-id": 0, "last-sequence-number": len(self.truth)},
            schemas=[schema],
            **{"current-schema-id": 0, "partition-specs": [PartitionSpec()], "default-spec-id": 0},
            **{"sort-orders": [UNSORTED_SORT_ORDER], "default-sort-order-id": 0},
            **{"current-snapshot-id": main.snapshot_id if main else None, "snapshot-log": self.log},
            snapshots=self.snapshots,
            refs=self.refs,
            properties=self.properties,
        )

    @property
    def ids(self) -> list[int]:
        return [s.snapshot_id for s in self.snapshots]

    @property
    def head(self) -> int | None:
        return self.refs["main"].snapshot_id if "main" in self.refs else None

    def commit(
        self,
        operation: Operation = Operation.APPEND,
        ref: str | None = "main",
        summary: Mapping[str, str] = MappingProxyType({}),
    ) -> int:
        """Adds a snapshot behind the head of `main`, and moves a ref to it."""
        parent, number = self.head, len(self.truth) + 1
        self.snapshots.append(
            Snapshot(
                **{"snapshot-id": number, "parent-snapshot-id": parent, "sequence-number": number},
                **{"timestamp-ms": int(self.now * 1000), "manifest-list": f"s3://lake/table/{number}.avro"},
                summary=Summary(operation, **summary),
            )
        )
        self.truth[number] = self.truth[parent] if parent else 0
        if ref:
            self.point(ref, number)
        return number

    def point(self, ref: str, snapshot_id: int, kind: str = "branch", least: int | None = None) -> None:
        rules = {"type": SnapshotRefType(kind), "min-snapshots-to-keep": least}
        self.refs[ref] = SnapshotRef(**{"snapshot-id": snapshot_id, **rules})
        if ref == "main":
            entry = {"snapshot-id": snapshot_id, "timestamp-ms": int(self.now * 1000)}
            self.log.append(SnapshotLogEntry(**entry))

    def land(self) -> int:
        """A landing of one record: a snapshot on its branch, and one on `main` that says the position."""
        at = self.truth[self.head] if self.head else 0
        self.commit(ref=None, summary={"frazil.plan": "{}"})
        ledger = Ledger("t", "id", spans={0: (at, at + 1)}, start={0: 0}, records=1).properties()
        number = self.commit(summary=ledger)
        self.truth[number] = at + 1
        self.properties.update(ledger)
        return number

    def compact(self) -> int:
        """A compaction: a snapshot on its branch, and one on `main`; neither says a position."""
        self.commit(Operation.REPLACE, ref=None)
        return self.commit(Operation.REPLACE, summary={"frazil.upkeep": "compaction"})

    def expire(self, upkeep: Upkeep) -> tuple[int, ...]:
        """What a catalog does with the plan: some forget the parents that are gone, as PyIceberg does."""
        gone = plan_expiry(self.metadata, upkeep, self.now)
        self.snapshots = [self._orphaned(s, gone) for s in self.snapshots if s.snapshot_id not in gone]
        log: list[SnapshotLogEntry] = []
        for entry in self.log:  # as Iceberg does: a gap removes what was before it
            log = [] if entry.snapshot_id in gone else [*log, entry]
        self.log = log
        return gone

    def _orphaned(self, snapshot: Snapshot, gone: tuple[int, ...]) -> Snapshot:
        forgotten = self.forgets_parents and snapshot.parent_snapshot_id in gone
        return snapshot.model_copy(update={"parent_snapshot_id": None}) if forgotten else snapshot

    def position_at(self, snapshot_id: int) -> int:
        """Where a landing would go on after a rollback."""
        refs = {**self.refs, "main": SnapshotRef(**{"snapshot-id": snapshot_id, "type": "branch"})}
        ledger = read_ledger(self.metadata.model_copy(update={"refs": refs}))
        return ledger.position[0] if ledger else 0

    def once_on_main(self) -> list[int]:
        seen = {entry.snapshot_id for entry in self.log}
        return [i for i in self.ids if i in seen]

    def hours(self, number: float) -> None:
        self.now += number * HOUR
