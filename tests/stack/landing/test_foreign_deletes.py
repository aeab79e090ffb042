"""Rows that another engine deleted, lawfully, and that stay deleted."""

from __future__ import annotations

from typing import Any

import pytest

from frazil.checks.result import CheckResult
from frazil.checks.run import run_check
from frazil.errors import ConfigureError
from frazil.landing.acceptance import accept, foreign_commits
from frazil.landing.dead_letters import DeadLetter
from frazil.landing.land import land
from frazil.landing.redrive import redrive
from frazil.tables.spark import spark_name
from kit.opened import table_of
from kit.topics import MakeTopic, Topic

only_rest = pytest.mark.parametrize("lake", ["rest"], indirect=True)
"""Where it makes no difference who owns the table."""


def check(topic: Topic, name: str, **changed: Any) -> CheckResult:
    return run_check(name, topic.spec.model_copy(update=changed), topic.connections)


def spark(topic: Topic, sql: str) -> None:
    topic.connections.spark.sql(sql.format(table=spark_name(topic.things.table))).collect()


@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
def test_rows_that_another_engine_deleted_lawfully_are_counted_in_once_they_are_accepted(
    landed: Topic, mode: str
) -> None:
    spark(landed, f"ALTER TABLE {{table}} SET TBLPROPERTIES ('write.delete.mode' = '{mode}')")
    spark(landed, "DELETE FROM {table} WHERE quantity IN (4, 7)")
    (foreign,) = foreign_commits(table_of(landed).metadata)
    told = check(landed, "row_count").text

    report = accept(landed.spec, landed.connections, foreign.snapshot_id, "GDPR")

    assert f"frazil accept {landed.things.table} --snapshot {foreign.snapshot_id} --because" in told
    assert (report.rows, report.because) == (2, "GDPR")
    assert check(landed, "row_count").passed
    assert check(landed, "row_count_deep").passed
    assert "+ 2 deleted by others" in check(landed, "row_count").text
    with pytest.raises(ConfigureError, match="none does"):
        accept(landed.spec, landed.connections, foreign.snapshot_id, "again")
    landed.trades(3)
    assert land(landed.spec, landed.connections).records == 3
    assert check(landed, "row_count_deep").passed


@only_rest
def test_rows_that_another_engine_brought_can_not_be_accepted(landed: Topic) -> None:
    spark(landed, "INSERT INTO {table} SELECT * FROM {table} WHERE quantity = 5")
    (foreign,) = foreign_commits(table_of(landed).metadata)

    with pytest.raises(ConfigureError, match="it brought 1 rows"):
        accept(landed.spec, landed.connections, foreign.snapshot_id, "no")


def mended(letter: DeadLetter) -> bytes:
    assert letter.raw_value
    return letter.raw_value + b"Z"


@only_rest
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
