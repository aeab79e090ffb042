"""Rows that another engine deleted, lawfully, and that stay deleted."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from frazil.checks.result import CheckResult
from frazil.checks.run import run_check
from frazil.errors import ConfigureError, PositionLostError, RowsLostError
from frazil.landing.land import land
from frazil.landing.position.ledger import read_ledger
from frazil.landing.repairs.acceptance import accept, foreign_commits
from frazil.landing.repairs.dead_letters import DeadLetter
from frazil.landing.repairs.redrive import redrive
from frazil.landing.repairs.rollback import roll_back
from frazil.tables.spark.session import spark_name
from frazil.upkeep.compaction.run import compact
from frazil.upkeep.expiry.expiry import expire
from frazil.upkeep.kind import Order
from kit.derived.made import make_made
from kit.readers.opened import table_of
from kit.records.producing import BESIDE
from kit.records.topics import MakeTopic, Topic

also = pytest.mark.also("glue", why="another engine commits to Glue itself", nightly=True)
"""Where it makes no difference who owns the table."""


def check(topic: Topic, name: str, **changed: Any) -> CheckResult:
    return run_check(name, topic.spec.model_copy(update=changed), topic.connections)


def spark(topic: Topic, sql: str) -> None:
    topic.connections.spark.sql(sql.format(table=spark_name(topic.things.table))).collect()


@pytest.mark.each_time("rest-merge-on-read")
@also
@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
def test_rows_that_another_engine_deleted_lawfully_are_counted_in_once_they_are_accepted(
    landed: Topic, mode: str
) -> None:
    spark(landed, f"ALTER TABLE {{table}} SET TBLPROPERTIES ('write.delete.mode' = '{mode}')")
    spark(landed, "DELETE FROM {table} WHERE quantity IN (4, 7)")
    (foreign,) = foreign_commits(table_of(landed).metadata)
    text = check(landed, "row_count").text

    report = accept(landed.spec, landed.connections, foreign.snapshot_id, "GDPR")

    assert f"frazil accept {landed.things.table} --snapshot {foreign.snapshot_id} --because" in text
    assert (report.rows, report.because) == (2, "GDPR")
    assert check(landed, "row_count").passed
    assert check(landed, "row_count_deep").passed
    assert "+ 2 deleted by others" in check(landed, "row_count").text
    with pytest.raises(ConfigureError, match="none does"):
        accept(landed.spec, landed.connections, foreign.snapshot_id, "again")
    landed.trades(3)
    assert land(landed.spec, landed.connections).records == 3
    assert check(landed, "row_count_deep").passed


@pytest.mark.nightly
def test_rows_that_another_engine_brought_can_not_be_accepted(landed: Topic) -> None:
    spark(landed, "INSERT INTO {table} SELECT * FROM {table} WHERE quantity = 5")
    (foreign,) = foreign_commits(table_of(landed).metadata)

    with pytest.raises(ConfigureError, match="it brought 1 rows"):
        accept(landed.spec, landed.connections, foreign.snapshot_id, "no")


def mended(letter: DeadLetter) -> bytes:
    assert letter.raw_value
    return letter.raw_value + b"Z"


@pytest.mark.nightly
@pytest.mark.parametrize("accepted", [False, True])
def test_a_redriven_row_that_another_engine_deleted_is_not_redriven_again(
    make_topic: MakeTopic, accepted: bool
) -> None:
    topic = make_topic(on_bad_record="dead_letter")
    good = topic.encode({"side": "BUY", "quantity": 1, "symbol": "Z"})
    topic.send([good, good[:-1]])
    land(topic.spec, topic.connections)
    assert redrive(topic.spec, topic.connections, repair=mended).redriven == 1
    spark(topic, "DELETE FROM {table} WHERE `$$offset` = 1")
    if accepted:
        (foreign,) = foreign_commits(table_of(topic).metadata)
        accept(topic.spec, topic.connections, foreign.snapshot_id, "GDPR")

    again = redrive(topic.spec, topic.connections, repair=mended)
    topic.send([good[:-1]])
    land(topic.spec, topic.connections)
    later = redrive(topic.spec, topic.connections, repair=mended)

    assert (again.redriven, again.past) == (0, 1)
    assert (later.redriven, later.past) == (1, 1)


@pytest.mark.nightly
def test_a_foreign_delete_stops_no_landing_and_no_upkeep_and_the_check_says_whose_it_is(
    landed: Topic,
) -> None:
    spark(landed, "DELETE FROM {table} WHERE quantity IN (4, 7)")
    (foreign,) = foreign_commits(table_of(landed).metadata)
    landed.trades(3)

    assert land(landed.spec, landed.connections).records == 3
    compact(landed.spec, landed.connections, time.time(), Order(everything=True))
    expire(landed.spec, landed.connections, time.time())
    failed = check(landed, "row_count")

    assert not failed.passed
    assert f"snapshot {foreign.snapshot_id} of " in failed.text
    assert "(overwrite by spark 4" in failed.text
    assert "; 10 rows out, 8 in)" in failed.text


def test_an_acceptance_says_who_and_why_and_a_rollback_past_it_forgets_it(landed: Topic) -> None:
    before = table_of(landed).metadata.current_snapshot_id
    spark(landed, "DELETE FROM {table} WHERE quantity = 4")
    (foreign,) = foreign_commits(table_of(landed).metadata)
    accept(landed.spec, landed.connections, foreign.snapshot_id, "GDPR", by="ann")
    position = table_of(landed).properties["frazil.spans"]
    ledger = read_ledger(table_of(landed).metadata)

    roll_back(landed.spec, landed.connections, before or 0)

    assert ledger
    assert (ledger.accepted_by, ledger.because, ledger.position) == ("ann", "GDPR", {0: 10 + BESIDE})
    assert f'"0":[{10 + BESIDE},{10 + BESIDE}]' in position
    assert (again := read_ledger(table_of(landed).metadata))
    assert again.total_accepted == 0
    assert check(landed, "row_count").passed


def test_a_delete_whose_parent_has_expired_can_still_be_accepted(landed: Topic) -> None:
    spark(landed, "DELETE FROM {table} WHERE quantity = 4")
    (foreign,) = foreign_commits(table_of(landed).metadata)
    table_of(landed).maintenance.expire_snapshots().by_id(foreign.parent_snapshot_id or 0).commit()

    assert accept(landed.spec, landed.connections, foreign.snapshot_id, "GDPR").rows == 1
    assert check(landed, "row_count").passed


@pytest.mark.nightly
def test_a_table_made_of_rows_that_others_deleted_is_made_anew_once_that_is_accepted(
    landed: Topic, tmp_path: Path
) -> None:
    name = landed.things.table
    made = make_made(landed.connections, tmp_path, f"{name.table}_out", f"SELECT quantity FROM {name}")
    made.derive()
    spark(landed, "DELETE FROM {table} WHERE quantity = 4")
    (foreign,) = foreign_commits(table_of(landed).metadata)
    with pytest.raises(PositionLostError, match="--rebuild"):
        made.derive()
    with pytest.raises(RowsLostError, match=": 1 of 10 rows"):
        made.derive(rebuild=True)

    accept(landed.spec, landed.connections, foreign.snapshot_id, "GDPR")
    made.derive(rebuild=True)
    landed.trades(1)
    land(landed.spec, landed.connections)

    assert made.derive().rows == 1
    assert sorted(made.rows("quantity")) == [(n,) for n in range(11) if n != 4]
