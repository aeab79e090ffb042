"""The audit tells a duplicate from a loss."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import DataFrame

from frazil.errors import AuditFailedError
from frazil.landing import write
from frazil.landing.land import land
from frazil.landing.source import read_slices
from frazil.tables.commits.stage import RECORD_TIMES
from kit.readers.opened import table_of
from kit.records.topics import TRADE, MakeTopic, Topic

Place = tuple[int, int]
"""Partition and offset."""


@pytest.fixture
def topic(make_topic: MakeTopic) -> Topic:
    """Two partitions of five records each."""
    topic = make_topic(partitions=2)
    for partition in range(2):
        topic.trades(5, partition)
    return topic


def at(place: Place) -> str:
    return f"partition = {place[0]} AND offset = {place[1]}"


def read_wrongly(lost: Place, doubled: Place) -> Callable[..., DataFrame]:
    """A reader that loses one record and gives another one twice."""

    def read(*args: Any) -> DataFrame:
        right = read_slices(*args)
        return right.where(f"NOT ({at(lost)})").unionAll(right.where(at(doubled)))

    return read


@pytest.mark.each_time("rest-in another partition")
@pytest.mark.parametrize(
    ("lost", "doubled"),
    [((0, 2), (0, 3)), ((0, 4), (0, 0)), ((0, 2), (1, 2)), ((1, 0), (1, 1))],
    ids=["next to each other", "last and first", "in another partition", "the first one"],
)
def test_a_loss_and_a_duplicate_do_not_cancel_out(
    topic: Topic, lost: Place, doubled: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("frazil.landing.source.read_slices", read_wrongly(lost, doubled))

    with pytest.raises(AuditFailedError, match="the topic holds 10 records"):
        land(topic.spec, topic.connections)

    assert topic.rows() == []


def test_a_column_that_spark_shuffles_as_null_is_not_published(
    make_topic: MakeTopic, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = make_topic(partition_by=["side"], write={"distribution": "hash"})
    right, note = write.columns_sql, {"name": "note", "type": ["null", "string"], "default": None}
    topic.register({**TRADE, "fields": [*TRADE["fields"], note]})
    trade = {"side": "BUY", "quantity": 1, "symbol": "Z"}
    topic.send([topic.encode({**trade, "note": text}) for text in ("a", None, "b")])

    def losing(*args: Any) -> list[str]:
        return ["CAST(NULL AS STRING) AS `note`" if c.endswith("`note`") else c for c in right(*args)]

    monkeypatch.setattr(write, "columns_sql", losing)

    with pytest.raises(AuditFailedError, match="does not add up") as raised:
        land(topic.spec, topic.connections)

    assert "column note has 0 values in the files, and 2 were decoded" in raised.value.where
    assert topic.rows() == []


@pytest.mark.nightly
def test_a_landing_that_is_sorted_by_range_counts_each_record_once(make_topic: MakeTopic) -> None:
    topic = make_topic(sort_by=["quantity"], write={"distribution": "range"})
    topic.trades(500)

    report = land(topic.spec, topic.connections)

    assert (report.records, len(topic.rows())) == (500, 500)


@pytest.mark.parametrize("more", [{}, {"sort_by": ["quantity"], "write": {"distribution": "range"}}])
def test_a_snapshot_says_when_half_and_nearly_all_of_its_records_came(
    make_topic: MakeTopic, more: dict[str, Any]
) -> None:
    """By tasks that write themselves, and by Spark, which sorts over all of them."""
    topic = make_topic(partitions=2, **more)
    now, trade = 1_000 * int(time.time()), topic.encode({"side": "BUY", "quantity": 1, "symbol": "Z"})
    for number, (records, late) in enumerate([(2, 90), (4, 57), (34, 30), (20, 1)]):
        topic.send([trade] * records, partition=number % 2, timestamp=now - 1_000 * late)

    report = land(topic.spec, topic.connections)

    head = table_of(topic).current_snapshot()
    assert head
    assert head.summary
    assert head.summary[RECORD_TIMES] == f"{now - 30_000},{now - 57_000},{now - 90_000}"
    assert (report.median_timestamp, report.max_timestamp) == (now - 30_000, now - 1_000)
