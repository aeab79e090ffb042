"""versions: all: a history is what the records say, whatever is late, killed, cut or taken back."""

from __future__ import annotations

import random
import signal
from dataclasses import replace
from typing import Any

import pytest

from frazil.checks.run import VERIFIED, run_check
from frazil.connections import Connections
from frazil.landing.cut.create import begin_cut
from frazil.landing.land import land
from frazil.landing.repairs.rollback import roll_back
from frazil.tables.spark.session import spark_name
from kit.readers.opened import table_of
from kit.records.envelopes import captured
from kit.records.topics import MakeTopic, Topic, topic_maker
from kit.records.upserts import by_key
from kit.records.versions import History, versions_of
from kit.runs.waiting import PATIENCE
from kit.tables.commits import position
from kit.wires.killed import upsert_process


@pytest.fixture
def make_one(connections: Connections, fresh_name: str) -> MakeTopic:
    """Makes topics whose tables the REST catalog has: what is tested does not depend on the catalog."""
    return topic_maker(connections, fresh_name, "landing_tests")


def history_of(make_topic: MakeTopic, **spec: Any) -> History:
    """A topic of changes that becomes a history."""
    return History(captured(make_topic, config={"retention.ms": "-1"}, versions="all", **spec))


def sound(topic: Topic) -> bool:
    """Whether all checks of the rows and the columns pass."""
    checks = ("row_count", "row_count_deep", "schema", VERIFIED)
    results = [run_check(check, topic.spec, topic.connections) for check in checks]
    assert all(f.status == "passed" for f in results), [f.text for f in results]
    return True


def row_ids(topic: Topic) -> dict[tuple[int, int], int]:
    """The id of each version, by its record's place."""
    columns = "`$$partition`, `$$offset`, _row_id"
    rows = topic.connections.spark.sql(f"SELECT {columns} FROM {spark_name(topic.things.table)}").collect()
    actual = by_key(((row[0], row[1]), row[2]) for row in rows)
    assert len({*actual.values()}) == len(actual)
    return actual


def beside(history: History) -> Topic:
    """The same topic as a table of what holds now."""
    topic = history.topic
    return replace(
        topic, spec=topic.spec.model_copy(update={"table": f"{topic.name}_now", "versions": "last"})
    )


def current(rows: list[dict[str, Any]]) -> dict[str, tuple[int, str]]:
    """What rows say that holds now; of a table without a history that is all of them."""
    return by_key((r["key"], (r["quantity"], r["note"])) for r in rows if r.get("$$current", True))


@pytest.mark.nightly
def test_a_history_has_all_versions_and_what_holds_now_is_what_the_source_has(make_one: MakeTopic) -> None:
    checks = [
        {"name": "keys", "expect": "count(distinct key) <= 4"},
        {"name": "big", "expect": "quantity < 5"},
    ]
    history, chance = history_of(make_one, checks=checks, format_version=3), random.Random(3)
    topic, now = history.topic, beside(history)
    for number in range(26):  # a key stays in its partition
        key, quantity = chance.choice("abcd"), chance.choice((number, number, None))
        history.send(key, quantity, 10 * number + chance.choice((0, -15)))
        if number == 19 or chance.random() < 0.1:
            history.truncate(10 * number + 5, partition=number % 2)
    reports = []
    while len(history.sent) > sum(r.records for r in reports):
        reports.append(land(topic.spec, topic.connections, max_records=15))
    assert history.versions() == versions_of(history.sent)
    assert any(r.updated for r in reports)
    begun = row_ids(topic)
    assert {(c.name, c.failing > 0) for c in reports[-1].checks} == {("keys", False), ("big", True)}
    land(now.spec, topic.connections)
    assert current(topic.rows()) == current(now.rows())

    history.send("a", 7, 55, partition=0)  # late, and in another partition than all others of its key
    history.send("e", 7, 190, partition=0)  # older than a truncate of the other partition, landed long ago
    land(topic.spec, topic.connections)

    assert history.versions() == versions_of(history.sent)
    assert ("e", 195) in {(key, until) for key, _, _, _, until, _ in history.versions()}
    assert row_ids(topic).items() >= begun.items()
    assert sound(topic)


@pytest.mark.nightly
def test_a_truncate_ends_versions_whatever_is_landed_with_it(make_one: MakeTopic) -> None:
    history = history_of(make_one)
    topic, now = history.topic, beside(history)
    history.truncate(5, partition=1)  # nothing is there yet
    assert land(topic.spec, topic.connections).records == 1
    for at, key in enumerate("abcabd"):
        history.send(key, at, 10 * at)
        if at == 2:
            history.truncate(25, partition=0)  # what it ends comes with it
    report = land(topic.spec, topic.connections)
    assert (report.inserted, report.updated) == (6, 0)
    assert history.versions() == versions_of(history.sent)
    history.send("c", None, 70)
    land(topic.spec, topic.connections)

    history.truncate(100, partition=1)
    report = land(topic.spec, topic.connections)
    land(now.spec, now.connections)

    assert (report.records, report.inserted, report.updated) == (1, 0, 3)
    assert history.versions() == versions_of(history.sent)
    assert current(topic.rows()) == current(now.rows()) == {}
    assert sound(topic)
    history.send("e", 1, 2)  # in the partition of the first truncate, behind it
    history.send("f", 1, 3)  # in the other one, and older than all of them
    history.send("g", 1, 110)
    land(topic.spec, topic.connections)
    assert history.versions() == versions_of(history.sent)
    assert {key for key, *_, holds in history.versions() if holds} == {"g"}
    assert sound(topic)


@pytest.mark.nightly
def test_a_history_that_a_kill_and_a_rollback_interrupt_is_the_same(make_one: MakeTopic) -> None:
    history = history_of(make_one)
    topic = history.topic
    for at, key in enumerate("abab"):
        history.send(key, at, 10 * at)
    land(topic.spec, topic.connections)
    first = table_of(topic).metadata.current_snapshot_id
    history.send("c", 9, 54, partition=0)  # after the rollback it is landed before the truncate
    history.send("a", 8, 52)
    history.truncate(55, partition=1)
    history.send("a", 7, 15, partition=0)
    history.send("b", None, 50)
    history.send("a", 9, 60)
    process = upsert_process(topic.spec, topic.connections.settings, "audited")
    assert process.wait(PATIENCE) == -signal.SIGKILL, process.stderr and process.stderr.read()

    assert land(topic.spec, topic.connections).records == 7
    assert history.versions() == versions_of(history.sent)
    roll_back(topic.spec, topic.connections, first or 0)
    assert history.versions() == versions_of(history.sent[:4])
    while land(topic.spec, topic.connections, max_records=2).records:
        done = position(table_of(topic))
        landed = [t for t in history.sent if t.offset < done[t.partition]]
        assert history.versions() == versions_of(landed), done

    assert history.versions() == versions_of(history.sent)
    assert sound(topic)


def test_a_cut_has_a_history_and_what_holds_now_as_of_one_moment(make_one: MakeTopic) -> None:
    history = history_of(make_one)
    topic, now = history.topic, beside(history)
    for at, key in enumerate("abab"):
        history.send(key, at, 10 * at)
    for one in (topic, now):
        land(one.spec, one.connections)
    history.send("a", None, 50)
    history.truncate(52, partition=1)
    begin_cut("month", "shop", [topic.spec, now.spec], topic.connections)
    records = list(history.sent)
    history.send("b", 7, 60)
    for one in (topic, now):
        land(one.spec, one.connections)

    of_cut = [table_of(one).scan().use_ref("cut_month").to_arrow().to_pylist() for one in (topic, now)]

    assert history.versions(of_cut[0]) == versions_of(records)
    assert current(of_cut[0]) == current(of_cut[1]) == {}
    for one in (topic, now):
        land(one.spec, one.connections)
    assert history.versions() == versions_of(history.sent)
    assert current(topic.rows()) == current(now.rows()) == {"b": (7, "n7")}
    assert sound(topic)
    assert sound(now)
