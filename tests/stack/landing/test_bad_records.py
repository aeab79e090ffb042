"""A bad record costs exactly what the table's owner chose."""

from __future__ import annotations

import pytest

from frazil.checks.run import run_check
from frazil.errors import SuspendedError
from frazil.landing.arrivals import look_for_arrivals
from frazil.landing.land import land
from frazil.landing.position.state import table_states
from kit.records.producing import BESIDE
from kit.records.topics import MakeTopic, Topic


def trade(topic: Topic, quantity: int = 1) -> bytes:
    return topic.encode({"side": "BUY", "quantity": quantity, "symbol": "Z"})


def damaged(topic: Topic) -> dict[str, bytes | None]:
    good = trade(topic)
    return {
        "too_short": b"\0\0",
        "magic_byte": b"\1" + good[1:],
        "schema_id": b"\0\x7f\xff\xff\xff" + good[5:],
        "truncated": good[:-1],
        "trailing_bytes": good + b"\0",
        "null_value": None,
    }


def test_by_default_the_table_stops_before_it_and_says_where_and_why(topic: Topic) -> None:
    good = trade(topic)
    topic.send([good, good, good[:-1], good])

    with pytest.raises(SuspendedError, match="partition 0, offset 2: the payload ends early"):
        land(topic.spec, topic.connections)
    with pytest.raises(SuspendedError, match="offset 2"):
        land(topic.spec, topic.connections)

    assert [r["$$offset"] for r in topic.rows()] == [0, 1]
    state = table_states([topic.spec], topic.connections)[0]
    assert (state.state, state.lag) == ("suspended", 2 + BESIDE)
    assert "offset 2: the payload ends early" in state.reason
    assert look_for_arrivals([topic.spec], topic.connections).due == ()
    assert run_check("row_count", topic.spec, topic.connections).passed


def test_a_suspended_table_goes_on_when_its_owner_chooses_otherwise(topic: Topic) -> None:
    good = trade(topic)
    topic.send([good, b"bad", good])
    with pytest.raises(SuspendedError):
        land(topic.spec, topic.connections)

    report = land(topic.spec.model_copy(update={"on_bad_record": "skip"}), topic.connections)

    assert (report.records, report.skipped) == (1, 1)
    assert table_states([topic.spec], topic.connections)[0].state == "current"
    assert run_check("row_count_deep", topic.spec, topic.connections).passed


def test_skipped_records_are_counted(make_topic: MakeTopic) -> None:
    topic = make_topic(on_bad_record="skip")
    topic.send([trade(topic), *damaged(topic).values(), trade(topic)])

    report = land(topic.spec, topic.connections)

    assert (report.records, report.skipped, report.dead_letters) == (2, 6, 0)
    assert run_check("row_count", topic.spec, topic.connections).passed


def test_dead_letters_keep_the_record_and_the_reason(make_topic: MakeTopic) -> None:
    topic = make_topic(on_bad_record="dead_letter")
    bad = damaged(topic)
    topic.send([trade(topic), *bad.values(), trade(topic)], headers=[("h", b"1")])

    report = land(topic.spec, topic.connections)
    letters = topic.connections.catalog.load_table(("landing_tests", f"{topic.name}__dead_letters"))
    rows = sorted(letters.scan().to_arrow().to_pylist(), key=lambda r: r["offset"])

    assert (report.records, report.dead_letters) == (2, 6)
    assert [r["reason_code"] for r in rows] == list(bad)
    assert [r["raw_value"] for r in rows] == list(bad.values())
    assert {(r["topic"], r["raw_key"], dict(r["headers"])["h"]) for r in rows} == {
        (topic.name, b"ZTEST", b"1")
    }
    assert all(r["reason"] for r in rows)
    assert {(r["timestamp_type"], r["leader_epoch"]) for r in rows} == {(0, 0)}
    assert {r["landing"] for r in rows} == {letters.properties["frazil.landing"]}
    assert [r["schema_id"] for r in rows][2] == 0x7FFFFFFF
    assert run_check("row_count", topic.spec, topic.connections).passed
    assert run_check("row_count_deep", topic.spec, topic.connections).passed


def test_later_dead_letters_join_the_earlier_ones(make_topic: MakeTopic) -> None:
    topic = make_topic(on_bad_record="dead_letter")
    for _ in range(2):
        topic.send([trade(topic), b"bad"])
        land(topic.spec, topic.connections)

    letters = topic.connections.catalog.load_table(("landing_tests", f"{topic.name}__dead_letters"))
    assert sorted(r["offset"] for r in letters.scan().to_arrow().to_pylist()) == [1, 3 + BESIDE]
