"""A rolled-back table is what it was, and lands again to exactly what its topic holds."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from frazil.checks.run import run_check
from frazil.connections import Connections
from frazil.errors import MissingError, OffsetsLostError, OvertakenError, RepairError
from frazil.landing.land import land
from frazil.landing.position.ledger import ledger_of, read_ledger
from frazil.landing.repairs.dead_letters import DeadLetter, survey
from frazil.landing.repairs.redrive import redrive
from frazil.landing.repairs.rollback import roll_back
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.commits.commit import set_properties
from frazil.tables.commits.suspension import SUSPENDED
from frazil.upkeep.compaction.run import compact
from frazil.upkeep.kind import Order
from frazil.upkeep.row_expiry.run import expire_rows
from kit.readers.opened import data_files, table_of
from kit.readers.targets import sync_glue
from kit.records.topics import MakeTopic, Topic, topic_maker
from kit.tables.branches import make_branch

pytestmark = [
    pytest.mark.plain(why="positions are exact"),
    pytest.mark.usefixtures("rows_are_their_records"),
]

DAY = 86400
NOW = int(time.time())


def landed(topic: Topic, count: int = 3) -> int:
    """Lands so many trades; the snapshot that holds them."""
    topic.trades(count)
    return land(topic.spec, topic.connections).snapshot_id or 0


def rolled_back(topic: Topic, to: int | datetime, **more: Any) -> Any:
    return roll_back(topic.spec, topic.connections, to, **more)


def quantities(topic: Topic) -> list[int]:
    return sorted(row["quantity"] for row in topic.rows())


def head(topic: Topic) -> int:
    snapshot = table_of(topic).current_snapshot()
    assert snapshot
    return snapshot.snapshot_id


def moment_of(topic: Topic, snapshot_id: int, later_ms: int = 0) -> datetime:
    snapshot = table_of(topic).snapshot_by_id(snapshot_id)
    assert snapshot
    return datetime.fromtimestamp(snapshot.timestamp_ms / 1000, UTC) + timedelta(milliseconds=later_ms)


def assert_all_adds_up(topic: Topic) -> None:
    for name in ("row_count", "row_count_deep"):
        result = run_check(name, topic.spec, topic.connections)
        assert result.passed, result.text


def trade(topic: Topic, quantity: int) -> bytes:
    return topic.encode({"side": "BUY", "quantity": quantity, "symbol": "Z"})


def mended(letter: DeadLetter) -> bytes:
    return (letter.raw_value or b"") + b"Z"


@pytest.mark.also("glue", why="the head goes back by another request", nightly=True)
def test_the_next_landing_continues_from_the_position_of_the_snapshot(
    lake: Connections, fresh_name: str
) -> None:
    topic = topic_maker(lake, fresh_name, "upkeep_tests")()
    first = landed(topic)
    last = landed(topic)
    set_properties(TableHandle(lake.catalog, topic.things.table), {SUSPENDED: "a record", "mine": "kept"})

    report = rolled_back(topic, first)

    metadata = table_of(topic).metadata
    ledger, expected = read_ledger(metadata), ledger_of(table_of(topic).snapshot_by_id(first))  # type: ignore[arg-type]
    assert (report.done, report.snapshot_id, report.from_snapshot_id) == (True, first, last)
    assert (report.position, report.offsets_again, report.records_lost) == ({0: 3}, 3, 0)
    assert (report.rows_before, report.rows) == (6, 3)
    assert (head(topic), quantities(topic), ledger) == (first, [0, 1, 2], expected)
    assert ledger
    assert ledger.properties().items() <= metadata.properties.items()
    assert (SUSPENDED in metadata.properties, metadata.properties["mine"]) == (False, "kept")
    assert f"Glue and Snowflake show it after `frazil sync {topic.things.table}`" in report.text
    sync_glue(lake, topic.things)
    assert run_check("glue_pointer", topic.spec, lake).passed
    assert_all_adds_up(topic)
    again = land(topic.spec, lake)
    assert (again.records, again.spans) == (3, {0: (3, 6)})
    landed(topic, 1)
    assert quantities(topic) == list(range(7))
    assert_all_adds_up(topic)


def test_a_time_means_the_newest_snapshot_that_is_not_younger(topic: Topic) -> None:
    first, second = landed(topic), landed(topic)

    to_second = rolled_back(topic, moment_of(topic, second))
    between = rolled_back(topic, moment_of(topic, second, -1))

    assert (to_second.done, to_second.snapshot_id) == (False, second)
    assert "already" in to_second.text
    assert (between.done, between.snapshot_id, quantities(topic)) == (True, first, [0, 1, 2])
    assert rolled_back(topic, datetime.now(UTC)).done is False


def test_what_can_not_be_rolled_back_to_is_told_with_what_can_be(topic: Topic) -> None:
    first = landed(topic)
    make_branch(topic.connections.catalog, topic.things.table, "unrelated")
    table_of(topic).append(table_of(topic).scan().to_arrow(), branch="unrelated")
    second = landed(topic)
    unrelated = table_of(topic).metadata.refs["unrelated"].snapshot_id

    for to, words in (
        (unrelated, "is no ancestor of main"),
        (12345, "has no snapshot 12345; it may have expired"),
        (datetime(2020, 1, 1, tzinfo=UTC), "is as old as 2020-01-01"),
    ):
        with pytest.raises(MissingError, match=words) as error:
            rolled_back(topic, to)
        assert str(second) in error.value.where
        assert str(first) in error.value.where
    assert head(topic) == second


def test_to_before_the_first_landing_nothing_is_left_and_everything_is_landed_again(topic: Topic) -> None:
    landed(topic)
    empty = table_of(topic).metadata.snapshots[0].snapshot_id

    report = rolled_back(topic, empty)

    properties = table_of(topic).properties
    assert (report.position, report.offsets_again, quantities(topic)) == ({}, 3, [])
    assert [name for name in properties if name.startswith("frazil.") and "upkeep" not in name] == []
    assert run_check("row_count", topic.spec, topic.connections).text.startswith("Nothing was landed yet")
    assert (land(topic.spec, topic.connections).records, quantities(topic)) == (3, [0, 1, 2])
    assert_all_adds_up(topic)


@pytest.mark.nightly
def test_over_a_compaction_and_a_row_expiry_every_row_is_back(make_topic: MakeTopic) -> None:
    topic = make_topic(keep_rows_for=timedelta(days=1), upkeep={"compact_after": "0s"})
    topic.send([trade(topic, n) for n in (1, 2)], timestamp=(NOW - 2 * DAY) * 1000)
    topic.send([trade(topic, 3)])
    first = land(topic.spec, topic.connections).snapshot_id or 0
    topic.send([trade(topic, 4)])
    second = land(topic.spec, topic.connections).snapshot_id or 0
    files = data_files(topic)
    compacted = compact(topic.spec, topic.connections, NOW, Order(everything=True))
    expired = expire_rows(topic.spec, topic.connections, NOW)
    assert (compacted.done, expired.numbers["rows"], quantities(topic)) == (True, 2, [3, 4])

    to_compaction = rolled_back(topic, compacted.snapshot_id or 0)
    all_rows, position = quantities(topic), to_compaction.position
    rolled_back(topic, second)
    same_files = data_files(topic)
    rolled_back(topic, first)

    assert (all_rows, position, to_compaction.offsets_again) == ([1, 2, 3, 4], {0: 4}, 0)
    assert (same_files, quantities(topic)) == (files, [1, 2, 3])
    assert_all_adds_up(topic)
    assert land(topic.spec, topic.connections).records == 1
    assert quantities(topic) == [1, 2, 3, 4]
    assert expire_rows(topic.spec, topic.connections, NOW).numbers["rows"] == 2
    assert_all_adds_up(topic)


@pytest.mark.nightly
def test_dead_letters_of_what_is_rolled_back_are_kept_once(make_topic: MakeTopic) -> None:
    topic = make_topic(on_bad_record="dead_letter")
    first = landed(topic, 1)
    values = [trade(topic, n) for n in range(3)]
    topic.send([values[0], values[1][:-1], values[2][:-1]])
    second = land(topic.spec, topic.connections).snapshot_id or 0
    one = redrive(topic.spec, topic.connections, where="offset = 2", repair=mended)

    rolled_back(topic, second)
    after_second = redrive(topic.spec, topic.connections, repair=mended)
    rolled_back(topic, first)
    early = redrive(topic.spec, topic.connections, repair=mended)
    again = land(topic.spec, topic.connections)

    def letters() -> int:
        return survey(TableHandle(topic.connections.catalog, topic.things.table)).rows

    assert (one.redriven, after_second.redriven) == (1, 2)
    assert early.chosen == 0  # they lie behind the position: the landing meets them first
    assert (again.records, again.dead_letters, letters()) == (1, 2, 2)
    assert_all_adds_up(topic)
    assert redrive(topic.spec, topic.connections, repair=mended).redriven == 2
    assert (len(topic.rows()), letters()) == (4, 2)
    assert_all_adds_up(topic)


@pytest.mark.nightly
def test_a_landing_that_is_under_way_is_dropped_and_one_in_between_goes_with_the_rest(topic: Topic) -> None:
    first = landed(topic)
    landed(topic)
    topic.trades(3)

    with pytest.raises(OvertakenError):
        land(topic.spec, topic.connections, on_step=at("audited", lambda: rolled_back(topic, first)))

    assert (head(topic), quantities(topic)) == (first, [0, 1, 2])
    assert (land(topic.spec, topic.connections).records, quantities(topic)) == (6, list(range(9)))
    assert_all_adds_up(topic)


def test_records_that_the_topic_no_longer_holds_are_given_up_on_demand_only(topic: Topic) -> None:
    first, second = landed(topic), landed(topic)
    topic.delete_records_before(5)

    with pytest.raises(OffsetsLostError, match="no longer holds 2 offsets") as error:
        rolled_back(topic, first)
    untouched = head(topic)
    report = rolled_back(topic, first, accept_loss=True)

    assert untouched == second
    assert "--accept-loss" in error.value.todo
    assert (report.done, report.records_lost, quantities(topic)) == (True, 2, [0, 1, 2])
    assert "2 of them are gone from the topic" in report.text


@pytest.mark.nightly
def test_a_snapshot_whose_position_nothing_tells_is_refused(make_topic: MakeTopic) -> None:
    topic = make_topic(upkeep={"compact_after": "0s"})
    landings = [landed(topic), landed(topic)]
    compacted = compact(topic.spec, topic.connections, NOW, Order(everything=True)).snapshot_id or 0
    last = landed(topic)
    make_branch(topic.connections.catalog, topic.things.table, "unrelated")
    forget(topic, {s.snapshot_id for s in table_of(topic).snapshots()} - {compacted, last})
    assert not {*landings} & {s.snapshot_id for s in table_of(topic).snapshots()}

    with pytest.raises(RepairError, match="is no longer known") as error:
        rolled_back(topic, compacted)

    assert str(last) in error.value.todo
    assert head(topic) == last


def forget(topic: Topic, snapshots: set[int]) -> None:
    """Expires snapshots as somebody might who does not know what positions are."""
    ids = ", ".join(f"{i}L" for i in snapshots)
    topic.connections.spark.sql(
        f"CALL frazil.system.expire_snapshots(table => '{topic.things.table}', "
        f"snapshot_ids => array({ids}), older_than => TIMESTAMP '1970-01-01 00:00:00')"
    ).collect()


def at(step: str, action: Callable[[], object]) -> Callable[[str], None]:
    return lambda done: None if done != step else (action(), None)[1]
