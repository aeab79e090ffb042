"""Rows that move into new files keep their values: whatever loses one on the way publishes nothing."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from pyspark.sql import functions as F

from frazil.clients import Clients
from frazil.errors import AuditFailedError
from frazil.landing.land import land
from frazil.landing.replay.run import replay
from frazil.settings.profile import Settings
from frazil.tables.rewrites import moved
from frazil.tables.rewrites.moved import Parted
from frazil.tables.writing.presence import ValueCounts
from frazil.upkeep.forgetting.condition import condition_of
from frazil.upkeep.forgetting.forget import forget
from frazil.upkeep.kind import Order
from frazil.upkeep.row_expiry.run import expire_rows
from kit.readers.opened import table_of
from kit.records.topics import TRADE, Topic, topic_maker
from kit.records.upserts import Upserts, upserts

HOUR = 3_600_000
SCHEMA = {
    **TRADE,
    "fields": [f | {"type": ["null", "string"]} if f["name"] == "symbol" else f for f in TRADE["fields"]],
}
"""Trades whose symbol may be null."""


def expired(topic: Topic) -> None:
    spec = topic.spec.model_copy(update={"keep_rows_for": timedelta(hours=24)})
    expire_rows(spec, topic.connections, time.time(), Order())


def forgotten(topic: Topic) -> None:
    condition = condition_of(table_of(topic).schema(), "quantity = 0")
    forget(topic.spec, topic.connections, condition, (), after=0.0)


def replayed(topic: Topic) -> None:
    replay(topic.spec, topic.connections, {0: (0, 2)})


def changed(topic: Topic) -> None:
    changes = Upserts(topic)
    changes.send([("k0", 100)])
    land(topic.spec, topic.connections)


def trades(connections: Clients, name: str) -> Topic:
    """Five; each second one is young."""
    topic = topic_maker(connections, name, "upkeep_tests")()
    topic.schema = SCHEMA
    now = int(time.time() * 1000)
    for n, hours in enumerate((60, 1, 60, 1, 60)):
        record = topic.encode({"side": "BUY", "quantity": n, "symbol": "Z"})
        topic.send([record], timestamp=now - hours * HOUR)
    land(topic.spec, topic.connections)
    return topic


def keys(connections: Clients, name: str, **spec: Any) -> Topic:
    """Five, each with a key."""
    made = upserts(topic_maker(connections, name, "upkeep_tests"), partitions=1, **spec)
    made.topic.schema = SCHEMA
    made.send((f"k{n}", n) for n in range(5))
    land(made.topic.spec, made.topic.connections)
    return made.topic


def loses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values of some rows that stay become null."""
    whole = Parted.__init__

    def losing(parted: Parted, *of: Any, **more: Any) -> None:
        whole(parted, *of, **more)
        parted.rows = parted.rows.withColumn("symbol", F.expr("CASE WHEN quantity IN (0, 3) THEN symbol END"))

    monkeypatch.setattr(Parted, "__init__", losing)


@pytest.mark.each_time("trades-expired-left0")
@pytest.mark.parametrize(
    ("make", "work", "left"),
    [
        (trades, expired, [1, 3]),
        (trades, forgotten, [1, 2, 3, 4]),
        (trades, replayed, [0, 1, 2, 3, 4]),
        (partial(keys, partition_by=[]), changed, [1, 2, 3, 4, 100]),
    ],
)
def test_what_spark_writes_anew_is_not_published_where_a_value_became_null(
    stack: Settings,
    fresh_name: str,
    monkeypatch: pytest.MonkeyPatch,
    make: Callable[..., Topic],
    work: Callable[[Topic], None],
    left: list[int],
) -> None:
    topic = make(Clients(stack), fresh_name)
    before = topic.rows()
    monkeypatch.setattr("frazil.landing.land.UpsertLane.write", lambda *_: None)
    monkeypatch.setattr("frazil.landing.upsert.merge.keep_by_columns", lambda *_: None)

    with monkeypatch.context() as spoiled:
        loses(spoiled)
        with pytest.raises(
            AuditFailedError, match=r"column symbol has \d values in the new files, and \d in"
        ):
            work(topic)
    assert topic.rows() == before

    work(topic)

    assert sorted(row["quantity"] for row in topic.rows()) == left
    assert {row["symbol"] for row in topic.rows()} == {"Z"}


@pytest.mark.each_time("layout2")
@pytest.mark.parametrize("layout", [{}, {"partition_by": []}, {"partition_by": ["truncate(10, quantity)"]}])
def test_what_tasks_merge_is_not_published_where_files_told_of_more_values(
    stack: Settings, fresh_name: str, monkeypatch: pytest.MonkeyPatch, layout: dict[str, Any]
) -> None:
    """By the upsert lane, and by columns beside a branch: what such a task loses, `test_lane.py` shows."""
    topic = keys(Clients(stack), fresh_name, **layout)
    before = topic.rows()

    with monkeypatch.context() as spoiled:
        for name in ("wrong_columns", "moved_wrongly"):
            spoiled.setattr(moved, name, with_one_more(getattr(moved, name)))
        with pytest.raises(AuditFailedError, match=r"column symbol has .* of which 1 went; [01] came"):
            changed(topic)
    assert topic.rows() == before

    land(topic.spec, topic.connections)

    assert sorted(row["quantity"] for row in topic.rows()) == [1, 2, 3, 4, 100]


def test_statistics_that_are_wrong_refuse_nothing(
    stack: Settings, fresh_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = keys(Clients(stack), fresh_name)
    monkeypatch.setattr(moved, "wrong_columns", with_one_more(moved.wrong_columns))

    changed(topic)

    assert sorted(row["quantity"] for row in topic.rows()) == [1, 2, 3, 4, 100]


def with_one_more(judge: Callable[..., Any]) -> Callable[..., Any]:
    """A judge who is told of one more value in old files."""

    def judged(old: ValueCounts, *of: Any) -> Any:
        return judge(replace(old, values={**old.values, "symbol": old.values["symbol"] + 1}), *of)

    return judged
