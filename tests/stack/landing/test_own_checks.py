"""Checks of the user's own: a row that fails is told of, kept apart, or stops all, before anyone sees it."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from pydantic import SecretStr

from frazil.checks.own import results_of
from frazil.checks.run import run_check
from frazil.clients import Clients
from frazil.connections import Connections
from frazil.errors import ChecksFailedError
from frazil.landing.halts.resume import resume
from frazil.landing.land import land
from frazil.landing.position.state import table_states
from frazil.landing.repairs.redrive import redrive
from frazil.spec.topic import TableSpec
from kit.records.topics import MakeTopic, Topic, topic_maker

CUSTOMER: dict[str, Any] = {
    "type": "record", "name": "Customer", "fields": [
        {"name": "id", "type": "long"}, {"name": "email", "type": "string"},
        {"name": "credit", "type": ["null", {
            "type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}]},
        {"name": "seen", "type": {"type": "long", "logicalType": "timestamp-micros"}}]}  # fmt: skip
"""A customer."""


@pytest.fixture
def make_topic(lake: Connections, fresh_name: str) -> MakeTopic:
    keys = {"masks": SecretStr("a key of more than sixteen characters")}
    keyed = Clients(lake.settings.with_changes(named_keys=keys), lambda _: lake.spark)
    return topic_maker(keyed, fresh_name, "own_check_tests")


def check(name: str, expect: str, on_failure: str = "warn") -> dict[str, str]:
    return {"name": name, "expect": expect, "on_failure": on_failure}


def customers(make_topic: MakeTopic, *checks: dict[str, str], **spec: Any) -> Topic:
    own = {"checks": checks, "on_bad_record": "dead_letter", "key_format": "string"}
    topic = make_topic(trades=False, **{**own, **spec})
    topic.register(CUSTOMER)
    return topic


def changed(topic: Topic, *checks: dict[str, str]) -> TableSpec:
    return TableSpec.model_validate({**topic.spec.model_dump(exclude_unset=True), "checks": checks})


def sent(topic: Topic, *credit: int | None, first: int = 0, partition: int = 0) -> None:
    values = [
        {"id": n, "email": f"ann{n}@example.com", "credit": None if c is None else Decimal(c), "seen": n}
        for n, c in enumerate(credit, first)
    ]
    topic.send_keyed([(f"k{v['id']}".encode(), topic.encode(v)) for v in values], partition)


def summary(topic: Topic) -> dict[str, str]:
    head = topic.connections.catalog.load_table(topic.things.table.identifier).current_snapshot()
    assert head is not None
    assert head.summary is not None
    return dict(head.summary.additional_properties)


def letters(topic: Topic) -> list[dict[str, Any]]:
    name = topic.things.table.dead_letters.identifier
    rows: list[dict[str, Any]] = topic.connections.catalog.load_table(name).scan().to_arrow().to_pylist()
    return rows


@pytest.mark.each_time("rest-hash")
@pytest.mark.parametrize("distribution", ["none", "hash"])
def test_rows_that_fail_land_or_are_kept_apart_and_are_redriven_by_another_check(
    make_topic: MakeTopic, distribution: str
) -> None:
    topic = customers(
        make_topic,
        check("paid", "credit >= 0", "dead_letter"),
        check("modest", "credit < 1000"),
        check("once", "count(distinct id) = count(*)"),
        check("fresh", "max(seen) <= now() + interval 1 hour", "stop"),
        check("known", "count(credit) >= 0.9 * count(*)"),
        check("placed", "$$partition = 0 or $$offset > 0 and \"$$timestamp-type\" = 'CREATE_TIME'"),
        check("sent", "max($$timestamp) <= now() + interval 1 hour and min($$offset) = 0"),
        partitions=2, columns={"email": {"mask": "hash"}}, keep_raw=True,
        write={"distribution": distribution},
    )  # fmt: skip
    sent(topic, 1, -1, 5000, None)
    sent(topic, 7, 8, first=3, partition=1)

    report = land(topic.spec, topic.connections)

    assert [r["id"] for r in topic.rows()] == [0, 2, 3, 3, 4]
    assert [(r["offset"], r["reason_code"], r["reason"]) for r in letters(topic)] == [
        (1, "check:paid", "check paid fails: credit >= 0")
    ]
    outcomes = {each.name: each for each in report.checks}
    assert {name: each.failing for name, each in outcomes.items()} == {
        "paid": 1, "modest": 1, "once": 1, "fresh": 0, "known": 1, "placed": 1, "sent": 0,
    }  # fmt: skip
    assert outcomes["modest"].shown == ("partition 0, offset 2 (key = k2)",)
    assert outcomes["once"].values == {"count(DISTINCT id)": 4, "count(1)": 5}
    assert outcomes["known"].values == {"count(credit)": 4, "count(1)": 5}
    assert summary(topic)["frazil.failing"] == '{"known":1,"modest":1,"once":1,"paid":1,"placed":1}'
    results = list(results_of(topic.spec, topic.connections.settings, report.checks))
    assert [(r.check, r.severity, r.failed) for r in results][:2] == [
        ("check_paid", "WARN", True), ("check_modest", "WARN", True),
    ]  # fmt: skip
    assert "ann" not in str(report)

    if distribution == "none":
        of_whole_tables(topic)

    still = redrive(topic.spec, topic.connections)
    assert (still.redriven, still.still_bad) == (0, {"check:paid": 1})
    done = redrive(changed(topic, check("paid", "credit >= -10", "dead_letter")), topic.connections)
    assert (done.redriven, [r["id"] for r in topic.rows()]) == (1, [0, 1, 2, 3, 3, 4])


def of_whole_tables(topic: Topic) -> None:
    for name, failing in (("modest", 1), ("once", 1), ("fresh", 0), ("known", 1), ("paid", 0), ("placed", 1)):
        whole = run_check(f"check_{name}", topic.spec, topic.connections)
        assert whole.numbers["failing"] == failing, whole.text
    assert run_check("row_count_deep", topic.spec, topic.connections).passed


@pytest.mark.each_time("rest-credit >= 0-credit >= 0: false for 2 of 4 rows; the first: partition 0, offset")
@pytest.mark.parametrize(
    ("expect", "says"),
    [
        ("credit >= 0", "credit >= 0: false for 2 of 4 rows; the first: partition 0, offset"),
        ("sum(credit) > 0", "sum(credit) > 0: is false for 4 rows; sum(credit) is -2.00"),
    ],
)
def test_a_check_that_stops_publishes_nothing_until_it_is_another(
    make_topic: MakeTopic, expect: str, says: str
) -> None:
    topic = customers(make_topic, check("paid", expect, "stop"), columns={"email": {"mask": "redact"}})
    sent(topic, 4, first=10)
    land(topic.spec, topic.connections)
    before = summary(topic)
    sent(topic, 1, -4, -2, 3)

    with pytest.raises(ChecksFailedError, match="fail check paid") as stopped:
        land(topic.spec, topic.connections)

    assert [r["id"] for r in topic.rows()] == [10]
    assert summary(topic) == before
    assert says in stopped.value.where
    (state,) = table_states([topic.spec], topic.connections)
    assert (state.state, state.reason) == ("suspended", stopped.value.where)
    assert [each.failing > 0 for each in stopped.value.outcomes] == [True]

    report = resume(changed(topic, check("paid", expect)), topic.connections)

    assert (report.records, [r["id"] for r in topic.rows()]) == (4, [10, 0, 1, 2, 3])
    assert table_states([topic.spec], topic.connections)[0].state != "suspended"


@pytest.mark.nightly
@pytest.mark.parametrize("lane", ["tasks", "spark"])
def test_changes_by_key_are_asked_and_deletes_are_not(make_topic: MakeTopic, lane: str) -> None:
    by_spark = {"write": {"distribution": "range"}, "sort_by": ["zorder(id, seen)"]}
    more: dict[str, Any] = {} if lane == "tasks" else by_spark
    topic = customers(
        make_topic, check("paid", "credit >= 0 and email is not null", "dead_letter"),
        check("few", "count(*) <= 2"), check("late", "$$offset > 1000"),
        mode="upsert", key_fields=["id"], key_format="none", **more,
    )  # fmt: skip
    sent(topic, 5, 6)
    land(topic.spec, topic.connections)
    sent(topic, 7, -6, 9)

    report = land(topic.spec, topic.connections)

    assert sorted((r["id"], int(r["credit"])) for r in topic.rows()) == [(0, 7), (1, 6), (2, 9)]
    assert [r["reason_code"] for r in letters(topic)] == ["check:paid"]
    assert {each.name: (each.failing, each.rows) for each in report.checks} == {
        "paid": (1, 3), "few": (0, 3), "late": (3, 3),
    }  # fmt: skip
    assert run_check("check_paid", topic.spec, topic.connections).passed
    whole = run_check("check_few", topic.spec, topic.connections)
    assert (whole.status, whole.numbers["count(1)"]) == ("failed", "3")
