"""Rows past their time go, by metadata where it can be; no other row does, and the books balance."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from pyspark.sql.connect.observation import Observation

from frazil.checks.run import run_check
from frazil.connections import Connections
from frazil.errors import OvertakenError
from frazil.landing.land import land
from frazil.landing.position.ledger import read_ledger
from frazil.landing.position.state import table_states
from frazil.landing.repairs.dead_letters import DeadLetter, survey
from frazil.landing.repairs.redrive import redrive
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.commits.works import EXPIRING
from frazil.tables.spark.session import spark_name
from frazil.upkeep.compaction.run import compact
from frazil.upkeep.kind import Order
from frazil.upkeep.row_expiry.run import Step, expire_rows
from frazil.upkeep.work import WorkReport
from kit.readers.opened import data_files, table_of
from kit.records.topics import MakeTopic, Topic, topic_maker
from kit.tables.branches import make_branch

pytestmark = pytest.mark.usefixtures("rows_are_their_records")

HOUR = 3600
KEPT = timedelta(hours=24)
NOW = int(time.time())
"""All ages are judged at this moment."""


def trade(topic: Topic, quantity: int) -> bytes:
    return topic.encode({"side": "BUY", "quantity": quantity, "symbol": "Z"})


def landed(topic: Topic, **hours_old: Any) -> None:
    """Lands trades: `landed(topic, q1=30)` is a trade of quantity 1, thirty hours old."""
    for name, hours in hours_old.items():
        topic.send([trade(topic, int(name[1:]))], timestamp=int((NOW - hours * HOUR) * 1000))
    land(topic.spec, topic.connections)


def expired(topic: Topic, hours_later: float = 0, on_step: Step = lambda _: None, **order: Any) -> WorkReport:
    now = NOW + hours_later * HOUR
    return expire_rows(topic.spec, topic.connections, now, Order(**order), on_step)


def quantities(topic: Topic) -> list[int]:
    return sorted(row["quantity"] for row in topic.rows())


def position(topic: Topic) -> dict[int, int]:
    ledger = read_ledger(table_of(topic).metadata)
    assert ledger
    return ledger.position


def assert_all_adds_up(topic: Topic) -> None:
    for name in ("row_count", "row_count_deep"):
        result = run_check(name, topic.spec, topic.connections)
        assert result.passed, result.text


def operation(topic: Topic) -> str:
    head = table_of(topic).current_snapshot()
    assert head
    assert head.summary
    return head.summary.operation.value


def spark(topic: Topic, sql: str) -> None:
    topic.connections.spark.sql(sql.format(table=spark_name(topic.things.table))).collect()


def at(step: str, action: Callable[[], object]) -> Callable[[str], None]:
    return lambda done: None if done != step else (action(), None)[1]


@pytest.mark.plain(why="positions are exact")
@pytest.mark.also("glue", why="its commit is another one", nightly=True)
def test_old_rows_go_and_all_others_stay_where_they_are(lake: Connections, fresh_name: str) -> None:
    topic = topic_maker(lake, fresh_name, "upkeep_tests")(keep_rows_for=KEPT)
    landed(topic, q1=60, q2=50)
    landed(topic, q3=49, q4=30, q5=1)
    landed(topic, q6=24, q7=2)
    landed_at = table_states([topic.spec], lake)[0].landed_at

    would = expired(topic, dry_run=True)
    untouched = quantities(topic)
    report = expired(topic, reason="a test")

    assert (would.done, would.dry_run, would.snapshot_id, untouched) == (True, True, None, list(range(1, 8)))
    assert report.text.startswith("Deleted 4 rows older than ")
    assert "1 files by metadata alone, 1 rewritten" in report.text
    assert (report.done, report.numbers["rows"], report.conflicts) == (True, 4, 0)
    assert quantities(topic) == [5, 6, 7]  # 6 is of that very age
    assert position(topic) == {0: 7}
    assert_all_adds_up(topic)
    table = table_of(topic)
    snapshot = table.snapshot_by_id(report.snapshot_id or 0)
    assert snapshot
    assert snapshot.summary
    summary = snapshot.summary.additional_properties
    assert (summary["frazil.expired"], summary["frazil.upkeep"]) == ("4", "row_expiry")
    assert summary["frazil.upkeep-reason"] == "a test"
    assert list(table.metadata.refs) == ["main"]
    assert table_states([topic.spec], lake)[0].landed_at == landed_at
    landed(topic, q8=0)
    assert quantities(topic) == [5, 6, 7, 8]
    assert_all_adds_up(topic)
    assert (expired(topic).done, expired(topic, 30).numbers["rows"]) == (False, 4)
    assert quantities(topic) == []
    assert_all_adds_up(topic)


@pytest.mark.nightly
def test_rows_that_are_sorted_as_they_are_written_again_are_counted_once(make_topic: MakeTopic) -> None:
    topic = make_topic(keep_rows_for=KEPT, sort_by=["quantity"], write={"distribution": "range"})
    landed(topic, q1=60, q2=1, q3=2)

    assert expired(topic).numbers["rows"] == 1
    assert quantities(topic) == [2, 3]


@pytest.mark.nightly
def test_whole_partitions_go_without_a_file_being_opened(make_topic: MakeTopic) -> None:
    topic = make_topic(keep_rows_for=KEPT, partition_by=["bucket(2, symbol)", "day($$timestamp)"])
    landed(topic, q1=100, q2=75, q3=0)
    spark(topic, "ALTER TABLE {table} SET TBLPROPERTIES ('write.metadata.metrics.default' = 'none')")
    landed(topic, q4=101, q5=76, q6=0)
    young = {f for f in data_files(topic) if str(time.strftime("%Y-%m-%d", time.gmtime(NOW))) in f}

    report = expired(topic)

    assert (report.numbers["files"], report.numbers["files_rewritten"]) == (4, 0)
    assert (operation(topic), data_files(topic)) == ("delete", young)
    assert quantities(topic) == [3, 6]
    assert_all_adds_up(topic)


@pytest.mark.nightly
def test_a_file_is_rewritten_once_half_of_it_is_past_and_not_before(make_topic: MakeTopic) -> None:
    topic = make_topic(keep_rows_for=KEPT)
    landed(topic, q1=25, q2=21)
    (file,) = data_files(topic)

    early = expired(topic)
    (same,) = data_files(topic)
    late = expired(topic, 1)

    assert (early.done, early.numbers["files_waiting"], same) == (False, 1, file)
    assert "1 files that hold younger rows, too, wait" in early.text
    assert (late.done, late.numbers["files_rewritten"], quantities(topic)) == (True, 1, [2])
    assert_all_adds_up(topic)


@pytest.mark.nightly
def test_rows_that_a_busy_spark_did_not_count_are_counted_again(
    make_topic: MakeTopic, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = make_topic(keep_rows_for=KEPT)
    landed(topic, q1=50, q2=40, q3=1)
    monkeypatch.setattr(Observation, "get", property(lambda _: {}))  # what the client has then

    report = expired(topic)

    assert (report.done, report.numbers["rows"]) == (True, 2)
    assert quantities(topic) == [3]
    assert_all_adds_up(topic)


@pytest.mark.nightly
def test_a_run_rewrites_no_more_bytes_than_it_may_and_begins_with_the_oldest(make_topic: MakeTopic) -> None:
    topic = make_topic(keep_rows_for=KEPT, upkeep={"max_bytes": 1})
    landed(topic, q1=49, q2=1)
    landed(topic, q3=50, q4=1)

    first, left = expired(topic), quantities(topic)
    second = expired(topic)

    assert (first.numbers["files_rewritten"], first.numbers["files_waiting"], left) == (1, 1, [1, 2, 4])
    assert (second.numbers["files_rewritten"], quantities(topic)) == (1, [2, 4])
    assert_all_adds_up(topic)


@pytest.mark.nightly
@pytest.mark.plain(why="positions are exact")
def test_rows_without_a_timestamp_have_no_age_and_deleted_ones_are_not_counted(make_topic: MakeTopic) -> None:
    topic = make_topic(keep_rows_for=KEPT)
    landed(topic, q1=60, q2=60, q3=60, q4=60)
    landed(topic, q5=0)
    spark(topic, "UPDATE {table} SET `$$timestamp` = NULL WHERE quantity = 1")
    spark(topic, "UPDATE {table} SET `$$timestamp` = timestamp_millis(-1) WHERE quantity = 2")
    spark(topic, "ALTER TABLE {table} SET TBLPROPERTIES ('write.delete.mode' = 'merge-on-read')")
    spark(topic, "DELETE FROM {table} WHERE quantity = 3")
    missed = run_check("row_count", topic.spec, topic.connections)

    report = expired(topic)

    assert "5 offsets of 1 partitions landed != 4 rows" in missed.text
    assert (report.numbers["rows"], quantities(topic)) == (1, [1, 2, 5])
    after = run_check("row_count", topic.spec, topic.connections)
    assert "!= 3 rows + 0 bad or left out + 0 known gaps + 1 expired" in after.text
    assert expired(topic, 30).numbers["rows"] == 1
    assert (expired(topic, 60).done, quantities(topic)) == (False, [1, 2])


@pytest.mark.nightly
@pytest.mark.plain(why="positions are exact")
def test_a_landing_and_a_compaction_in_between_cost_a_try_and_no_row(make_topic: MakeTopic) -> None:
    topic = make_topic(keep_rows_for=KEPT, upkeep={"compact_after": "0s"})
    landed(topic, q1=60, q2=1)
    landed(topic, q3=50, q4=1)
    happened: list[WorkReport] = []

    def quarrel() -> None:
        if not happened:  # what is written anew comes by here again
            landed(topic, q5=70, q6=0)
            happened.append(compact(topic.spec, topic.connections, NOW, Order(everything=True)))

    report = expired(topic, on_step=at("written", quarrel))

    assert (happened[0].done, report.done, report.numbers["rows"]) == (True, True, 3)
    assert report.conflicts >= 1
    assert (quantities(topic), position(topic)) == ([2, 4, 6], {0: 6})
    assert list(table_of(topic).metadata.refs) == ["main"]
    assert_all_adds_up(topic)


@pytest.mark.nightly
def test_a_landing_that_is_under_way_goes_on(make_topic: MakeTopic) -> None:
    topic = make_topic(keep_rows_for=KEPT)
    landed(topic, q1=60, q2=1)
    topic.send([trade(topic, 3)])

    report = land(topic.spec, topic.connections, on_step=at("audited", lambda: expired(topic)))

    assert (report.records, quantities(topic)) == (1, [2, 3])
    assert_all_adds_up(topic)


@pytest.mark.nightly
def test_nothing_is_left_of_a_run_that_fails_and_the_next_landing_drops_what_a_dead_one_left(
    make_topic: MakeTopic,
) -> None:
    topic = make_topic(keep_rows_for=KEPT)
    landed(topic, q1=60, q2=1)
    catalog = topic.connections.catalog

    def fail(step: str) -> None:
        assert step != "written"

    with pytest.raises(AssertionError):
        expired(topic, on_step=fail)
    assert (list(table_of(topic).metadata.refs), quantities(topic)) == (["main"], [1, 2])

    make_branch(catalog, topic.things.table, f"{EXPIRING}{(NOW - 7 * HOUR) * 1000}_{'0' * 8}")
    landed(topic, q3=0)
    assert list(table_of(topic).metadata.refs) == ["main"]


def test_without_keep_rows_for_rows_stay_for_ever(make_topic: MakeTopic) -> None:
    topic = make_topic()
    landed(topic, q1=100)

    report = expired(topic, 1000)

    assert (report.done, quantities(topic)) == (False, [1])
    assert "the spec says nothing of keep_rows_for" in report.text


@pytest.mark.nightly
def test_dead_letters_stay_and_one_whose_row_expired_is_not_redriven_again(make_topic: MakeTopic) -> None:
    topic = make_topic(keep_rows_for=KEPT, on_bad_record="dead_letter")
    for quantity, hours in ((1, 60), (2, 50), (3, 1)):
        value, when = trade(topic, quantity)[:-1], (NOW - hours * HOUR) * 1000
        topic.send([value], timestamp=when)
    landed(topic, q4=0)

    def mended(letter: DeadLetter) -> DeadLetter:
        return replace(letter, raw_value=(letter.raw_value or b"") + b"Z")

    first = redrive(topic.spec, topic.connections, where="offset = 0", repair=mended)
    gone = expired(topic)
    again = redrive(topic.spec, topic.connections, repair=mended)

    assert (first.redriven, gone.numbers["rows"]) == (1, 1)
    assert (again.chosen, again.redriven, again.past) == (3, 1, 2)
    assert quantities(topic) == [3, 4]
    assert survey(TableHandle(topic.connections.catalog, topic.things.table)).rows == 3
    assert_all_adds_up(topic)


@pytest.mark.nightly
def test_a_redrive_that_rows_expire_under_is_dropped_and_may_be_tried_again(make_topic: MakeTopic) -> None:
    topic = make_topic(keep_rows_for=KEPT, on_bad_record="dead_letter")
    topic.send([trade(topic, 1)[:-1]])
    landed(topic, q2=60, q3=0)

    def mended(letter: DeadLetter) -> bytes:
        return (letter.raw_value or b"") + b"Z"

    with pytest.raises(OvertakenError, match="row expiry"):
        redrive(topic.spec, topic.connections, repair=mended, on_step=at("audited", lambda: expired(topic)))

    assert quantities(topic) == [3]
    assert redrive(topic.spec, topic.connections, repair=mended).redriven == 1
    assert quantities(topic) == [1, 3]
    assert_all_adds_up(topic)
