"""The position of a derived table: what it says, what is new behind it, when it means nothing any more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadata, TableMetadataV2
from pyiceberg.table.refs import SnapshotRef, SnapshotRefType
from pyiceberg.table.snapshots import Operation, Snapshot, Summary
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER

from frazil.derive.positions.inputs import (
    at_head,
    increment,
    inputs_cover,
    is_unmoved,
    none_went_back,
    standing,
    whole,
)
from frazil.derive.positions.ledger import DerivedLedger, Position
from frazil.errors import MissingError, PositionLostError

UUID_ = "11111111-1111-1111-1111-111111111111"
LEDGER = DerivedLedger(
    inputs={"ns.a": Position(UUID_, 5, 5), "ns.b": Position(UUID_, 9, 2)},
    query="0123456789abcdef",
    derivation="deriving_1795293641642_68c60ad6",
    rows=7,
    removed=2,
    bad=1,
    late=3,
    total_rows=70,
    total_bad=10,
    total_late=30,
    watermark=1_800_000_000_000_000,
    now=1_800_000_000.25,
    run_id="a run",
    version="0.1.0",
)


@dataclass
class History:
    """A table's snapshots, numbered from 1; each follows the head."""

    snapshots: list[Snapshot] = field(default_factory=list)
    head: int | None = None
    properties: dict[str, str] = field(default_factory=dict)
    uuid: str = UUID_

    def commit(self, operation: Operation = Operation.APPEND, rows: int = 0, **summary: str) -> History:
        number = len(self.snapshots) + 1
        totals = {"added-records": str(rows), "added-files-size": str(100 * rows), "total-records": "50"}
        self.snapshots.append(
            Snapshot(
                **{"snapshot-id": number, "parent-snapshot-id": self.head, "sequence-number": number},
                **{"timestamp-ms": number, "manifest-list": f"s3://lake/{number}.avro"},
                summary=Summary(operation, **totals, **summary),
            )
        )
        self.head = number
        return self

    @property
    def metadata(self) -> TableMetadata:
        return TableMetadataV2(
            location="s3://lake/table",
            **{"table-uuid": UUID(self.uuid), "last-column-id": 0, "last-sequence-number": 99},
            schemas=[Schema()],
            **{"current-schema-id": 0, "partition-specs": [PartitionSpec()], "default-spec-id": 0},
            **{"sort-orders": [UNSORTED_SORT_ORDER], "default-sort-order-id": 0},
            **{"current-snapshot-id": self.head},
            snapshots=self.snapshots,
            refs={"main": _ref(self.head)} if self.head else {},
            properties=self.properties,
        )

    @property
    def table(self) -> Any:
        """As little of a table as positions look at."""
        metadata = self.metadata
        return SimpleNamespace(metadata=metadata, properties=metadata.properties, name=lambda: ("ns", "a"))

    def expire(self, *numbers: int) -> None:
        self.snapshots = [s for s in self.snapshots if s.snapshot_id not in numbers]


def _ref(snapshot: int) -> SnapshotRef:
    return SnapshotRef(**{"snapshot-id": snapshot}, type=SnapshotRefType.BRANCH)


@pytest.fixture
def history() -> History:
    """A head without rows, as every table of Frazil's has, and three appends."""
    made = History().commit()
    for rows in (10, 20, 30):
        made.commit(rows=rows)
    return made


def at(number: int) -> Position:
    return Position(UUID_, number, number)


def test_a_ledger_says_what_it_is_told() -> None:
    assert DerivedLedger.parse(LEDGER.properties()) == LEDGER
    bare = DerivedLedger({}, "q", "d")
    assert DerivedLedger.parse(bare.properties()) == bare


def test_totals_follow_those_before_and_begin_anew_where_there_are_none() -> None:
    assert LEDGER.following(LEDGER).total_rows == 70 + 7 - 2
    assert (LEDGER.following(LEDGER).total_bad, LEDGER.following(LEDGER).total_late) == (11, 33)
    first = LEDGER.following(None)
    assert (first.total_rows, first.total_bad, first.total_late) == (7, 1, 3)


def test_the_newest_ledger_counts_whatever_upkeep_did_behind_it() -> None:
    history = History().commit().commit(**LEDGER.properties()).commit(Operation.REPLACE)

    assert DerivedLedger.newest(history.metadata) == LEDGER
    assert [s.snapshot_id for s, _ in DerivedLedger.all(history.metadata)] == [2]


@pytest.mark.parametrize(("expired", "expected"), [((1, 2), LEDGER), ((2, 3), None)])
def test_the_copy_counts_only_where_snapshots_that_would_tell_are_gone(
    expired: tuple[int, ...], expected: DerivedLedger | None
) -> None:
    history = History(properties=LEDGER.properties()).commit().commit().commit(Operation.REPLACE)
    history.head = 1 if expected is None else 3
    history.expire(*expired)

    assert DerivedLedger.newest(history.metadata) == expected


def test_what_is_new_are_the_rows_that_were_appended(history: History) -> None:
    history.commit(Operation.REPLACE, rows=60)
    history.commit(Operation.OVERWRITE, rows=5, **{"frazil.upkeep": "row_expiry"})

    new = increment(history.table, at(2))

    assert (new.since, new.to, new.snapshots, new.rows, new.bytes) == (2, at(6), 4, 50, 5000)
    assert increment(history.table, at(6)).is_due is False
    assert whole(history.table).rows == 50


@pytest.mark.parametrize("operation", [Operation.OVERWRITE, Operation.DELETE])
def test_rows_that_others_changed_can_not_be_told(history: History, operation: Operation) -> None:
    history.commit(operation, rows=1)

    with pytest.raises(PositionLostError, match=r"changed or deleted.*\n.*snapshot 5, "):
        increment(history.table, at(4))
    assert increment(history.table, at(5)).rows == 0


def test_rows_that_change_by_a_key_are_counted_as_landings_say_and_else_at_most(history: History) -> None:
    history.properties = {"frazil.key": '["id"]'}
    landed = {"frazil.inserted": "1", "frazil.updated": "4", "frazil.deleted": "2"}
    history.commit(Operation.OVERWRITE, rows=40, **landed)
    history.commit(Operation.OVERWRITE, rows=5, **{"frazil.upkeep": "row_expiry", "deleted-records": "9"})
    history.commit(Operation.OVERWRITE, rows=7, **{"frazil.upkeep": "forgetting"})

    new = increment(history.table, at(3), follows=True)

    assert (new.since, new.rows, new.changed) == (3, 30 + 1 + 4 + 2 + 9, True)
    assert not increment(history.table, at(6), follows=True).changed


def test_rows_of_a_derived_table_are_followed_where_its_ledger_says_that_they_change(
    history: History,
) -> None:
    changing = replace(LEDGER, changing=1).properties()
    history.commit(Operation.OVERWRITE, rows=7, **{"deleted-records": "9"}, **changing)
    assert increment(history.table, at(4), follows=True).changed
    assert increment(history.table, at(4), follows=True).rows == 9

    history.commit(Operation.OVERWRITE, rows=7, **LEDGER.properties())

    with pytest.raises(PositionLostError, match="changed or deleted"):
        increment(history.table, at(4), follows=True)


def test_that_late_totals_were_left_out_is_known_until_all_is_made_anew() -> None:
    late = replace(LEDGER, left_out=1)
    assert (LEDGER.following(late).left_out, LEDGER.following(None).left_out) == (1, 0)


@pytest.mark.parametrize("gone", ["the key", "the snapshot that was read"])
def test_rows_that_change_by_a_key_are_lost_where_nothing_tells_them(history: History, gone: str) -> None:
    history.properties = {} if gone == "the key" else {"frazil.key": '["id"]'}
    history.commit(Operation.OVERWRITE)
    if "snapshot" in gone:
        history.expire(1, 2, 3, 4)

    with pytest.raises(PositionLostError, match="changed or deleted"):
        increment(history.table, at(4), follows=True)


def test_an_input_without_new_rows_is_followed_after_a_while_lest_the_position_expires(
    history: History,
) -> None:
    for _ in range(4):
        history.commit(Operation.REPLACE)
    assert not increment(history.table, at(4)).is_due
    assert increment(history.commit(Operation.REPLACE).table, at(4)).is_due
    assert is_unmoved(history.table, at(4))
    assert not is_unmoved(history.table, at(3))


def test_a_position_is_held_as_long_as_all_behind_it_is_there(history: History) -> None:
    assert standing(at(3), history.table) == "held"
    history.expire(1, 2, 3)
    assert [standing(at(n), history.table) for n in (4, 3, 2)] == ["held", "held", "expired"]


def test_a_position_on_what_a_rollback_left_behind_went_back(history: History) -> None:
    history.head = 2
    history.commit(rows=1)

    assert [standing(at(n), history.table) for n in (1, 2, 3, 4, 5)] == [
        "held", "held", "rolled_back", "rolled_back", "held",
    ]  # fmt: skip
    history.expire(1, 2)
    assert standing(at(4), history.table) == "expired"  # may have been one of those that are gone


def test_another_table_of_the_same_name_is_no_input(history: History) -> None:
    other = Position("22222222-2222-2222-2222-222222222222", 4, 4)

    assert standing(other, history.table) == "recreated"


def test_all_inputs_must_hold_and_none_may_have_gone_back(history: History) -> None:
    inputs: Mapping[str, Any] = {"ns.a": history.table}
    assert inputs_cover({"ns.a": at(3)}, inputs)
    assert not inputs_cover({}, inputs)
    assert not inputs_cover({"ns.a": at(7)}, inputs)
    assert not none_went_back({"ns.a": at(7)}, inputs)
    history.expire(1, 2)
    assert none_went_back({"ns.a": at(1)}, {"ns.a": history.table})


def test_an_input_without_any_snapshot_has_no_position() -> None:
    with pytest.raises(MissingError, match="no snapshot yet"):
        at_head(History().table)
