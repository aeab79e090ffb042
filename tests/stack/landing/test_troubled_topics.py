"""Topics that lose, hide or change what they held."""

from __future__ import annotations

import time
from datetime import timedelta

import pytest
from confluent_kafka import Producer

from frazil.checks.run import run_check
from frazil.errors import OffsetsLostError, SuspendedError, TopicChangedError
from frazil.kafka import probe
from frazil.kafka.facts import topic_fact
from frazil.kafka.probe import ONE_RECORD, open_probe
from frazil.landing.arrivals import look_for_arrivals
from frazil.landing.land import land
from frazil.landing.position.state import TableState, table_states
from kit.records.topics import MakeTopic, Topic, make_anew
from kit.runs.waiting import PATIENCE, wait_for

pytestmark = pytest.mark.plain(why="what is lost or hidden is told by offsets")


def state_of(topic: Topic) -> TableState:
    return table_states([topic.spec], topic.connections)[0]


@pytest.fixture
def eaten(topic: Topic) -> Topic:
    """Five records are landed, four more are gone, six wait."""
    topic.trades(5)
    land(topic.spec, topic.connections)
    topic.trades(10)
    topic.delete_records_before(9)
    return topic


def test_records_that_retention_took_are_named_and_nothing_is_landed(eaten: Topic) -> None:
    with pytest.raises(OffsetsLostError, match=r"partition 0: \[5, 9\)"):
        land(eaten.spec, eaten.connections)

    seen = look_for_arrivals([eaten.spec], eaten.connections)
    assert len(eaten.rows()) == 5
    assert (state_of(eaten).state, state_of(eaten).lag) == ("records lost", 6)
    assert "frazil land" in state_of(eaten).reason
    assert (seen.due, list(seen.blocked.values())) == ((), ["records lost"])
    assert not run_check("freshness", eaten.spec, eaten.connections).passed


def test_a_loss_that_is_accepted_is_noted_and_the_rest_is_landed(eaten: Topic) -> None:
    with pytest.raises(OffsetsLostError, match="--accept-loss 0:5-9"):
        land(eaten.spec, eaten.connections, accept_loss={0: (5, 8)})

    report = land(eaten.spec, eaten.connections, accept_loss={0: (5, 9)})

    assert (report.records, report.lost, report.spans) == (6, 4, {0: (9, 15)})
    assert [row["$$offset"] for row in eaten.rows()] == [*range(5), *range(9, 15)]
    for check in ("row_count", "row_count_deep", "freshness"):
        assert run_check(check, eaten.spec, eaten.connections).passed
    assert "4 lost" in run_check("row_count", eaten.spec, eaten.connections).text
    assert land(eaten.spec, eaten.connections).records == 0


@pytest.mark.nightly
def test_a_table_whose_spec_says_so_notes_every_loss_and_goes_on(eaten: Topic) -> None:
    spec = eaten.spec.model_copy(update={"on_lost_records": "record"})
    eaten.delete_records_before(15)

    assert table_states([spec], eaten.connections)[0].state == "current"
    report = land(spec, eaten.connections)

    assert (report.records, report.lost) == (0, 10)
    assert run_check("row_count_deep", spec, eaten.connections).passed
    assert land(eaten.spec, eaten.connections).lost == 0


def test_a_table_that_stops_at_its_very_first_record_remembers_where_it_began(topic: Topic) -> None:
    topic.send([b"bad"])
    topic.trades(3)
    with pytest.raises(SuspendedError, match="offset 0"):
        land(topic.spec, topic.connections)
    topic.delete_records_before(2)

    with pytest.raises(OffsetsLostError, match=r"partition 0: \[0, 2\)"):
        land(topic.spec, topic.connections)
    assert topic.rows() == []


def test_a_first_landing_begins_where_the_topic_begins(topic: Topic) -> None:
    topic.trades(6)
    topic.delete_records_before(4)

    assert land(topic.spec, topic.connections).spans == {0: (4, 6)}
    assert run_check("row_count_deep", topic.spec, topic.connections).passed


def test_a_recreated_topic_is_recognised_by_its_id(topic: Topic) -> None:
    topic.trades(5)
    land(topic.spec, topic.connections)
    make_anew(topic)
    topic.trades(5)

    with pytest.raises(TopicChangedError, match="deleted and recreated"):
        land(topic.spec, topic.connections)
    assert len(topic.rows()) == 5
    assert state_of(topic).state == "topic changed"
    assert not run_check("freshness", topic.spec, topic.connections).passed


def test_a_topic_that_is_made_anew_while_it_is_landed_is_not_published_under_the_old_id(
    topic: Topic,
) -> None:
    topic.trades(5)

    def on_step(step: str) -> None:
        if step == "planned":
            make_anew(topic)
            topic.trades(5)

    with pytest.raises(TopicChangedError, match="deleted and recreated"):
        land(topic.spec, topic.connections, on_step=on_step)
    assert topic.rows() == []
    assert land(topic.spec, topic.connections).records == 5


def test_new_partitions_are_landed_from_their_first_offset(topic: Topic) -> None:
    topic.trades(5)
    land(topic.spec, topic.connections)
    topic.grow(3)
    topic.trades(2, partition=2)

    assert land(topic.spec, topic.connections).spans == {2: (0, 2)}
    assert run_check("row_count_deep", topic.spec, topic.connections).passed


def transactional(topic: Topic) -> Producer:
    servers = topic.connections.settings.kafka.bootstrap_servers
    producer = Producer({"bootstrap.servers": servers, "transactional.id": topic.name})
    producer.init_transactions(30)
    return producer


@pytest.mark.nightly
def test_a_huge_transaction_that_was_aborted_is_read_past_however_long_it_takes(
    topic: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe, "_PATIENCE", 0.05)
    producer, value = transactional(topic), bytes(900_000)
    topic.trades(1)
    producer.begin_transaction()
    for _ in range(100):
        producer.produce(topic.name, value, partition=0)
    producer.flush(PATIENCE)
    producer.abort_transaction(30)
    topic.trades(1)
    wait_for(lambda: topic_fact(topic.connections.admin, topic.name).end == {0: 103})

    report = land(topic.spec, topic.connections)

    assert (report.records, report.gaps) == (2, 101)


@pytest.mark.each_time("rest-milliseconds")
@pytest.mark.parametrize("unit", [10**3, 10**6], ids=["milliseconds", "microseconds"])
def test_records_behind_a_hanging_transaction_are_lag_and_make_the_table_stale(
    make_topic: MakeTopic, unit: int
) -> None:
    """Nothing else told of them: lag 0, state current, freshness passed, for as long as it hangs."""
    topic = make_topic(config={"message.timestamp.after.max.ms": str(2**63 - 1)})
    producer, value = transactional(topic), topic.encode({"side": "BUY", "quantity": 1, "symbol": "Z"})
    spec = topic.spec.model_copy(update={"freshness": timedelta(seconds=1)})
    topic.trades(1)
    land(topic.spec, topic.connections)
    began = time.time()
    producer.begin_transaction()
    producer.produce(topic.name, value, partition=0, timestamp=int(began * unit))
    producer.flush(PATIENCE)
    topic.trades(98)

    wait_for(lambda: time.time() > began + 2)
    (state,) = table_states([spec], topic.connections)
    verdict = run_check("freshness", spec, topic.connections)
    (again,) = look_for_arrivals([spec], topic.connections).states
    due = look_for_arrivals([spec], topic.connections).due
    producer.abort_transaction(30)
    wait_for(lambda: not table_states([spec], topic.connections)[0].held)
    (ended,) = table_states([spec], topic.connections)

    assert (state.lag, state.held, state.readable, state.state) == (99, 99, 0, "behind")
    assert state.open_since == again.open_since
    assert began - 5 < (state.open_since or 0) < began + 5
    assert "99 records wait behind a transaction open since 20" in verdict.text
    assert not verdict.passed
    assert due == ()
    assert (ended.lag, ended.held) == (100, 0)  # the marker of its end is an offset


def test_aborted_records_and_markers_are_known_gaps_and_open_transactions_wait(topic: Topic) -> None:
    producer, value = transactional(topic), topic.encode({"side": "BUY", "quantity": 1, "symbol": "Z"})
    for end in (producer.commit_transaction, producer.abort_transaction, producer.commit_transaction):
        producer.begin_transaction()
        for _ in range(3):
            producer.produce(topic.name, value, partition=0)
        producer.flush(PATIENCE)  # or an abort would drop what was not sent yet
        end(30)
    producer.begin_transaction()
    producer.produce(topic.name, value, partition=0)
    producer.flush(PATIENCE)
    wait_for(lambda: topic_fact(topic.connections.admin, topic.name).end == {0: 12})

    report = land(topic.spec, topic.connections)
    producer.abort_transaction(30)

    assert (report.records, report.gaps, report.spans) == (6, 6, {0: (0, 12)})
    assert run_check("row_count", topic.spec, topic.connections).passed
    assert run_check("row_count_deep", topic.spec, topic.connections).passed
    wait_for(lambda: topic_fact(topic.connections.admin, topic.name).end == {0: 14})
    only_gaps = land(topic.spec, topic.connections)
    assert (only_gaps.records, only_gaps.gaps) == (0, 2)


COMPACTED = {
    "cleanup.policy": "compact", "segment.ms": "100", "min.cleanable.dirty.ratio": "0.001",
    "max.compaction.lag.ms": "1",
}  # fmt: skip


@pytest.mark.parametrize("lake", ["rest"], indirect=True)
def test_records_that_a_compaction_of_the_topic_took_are_known_gaps_also_behind_the_position(
    make_topic: MakeTopic,
) -> None:
    topic = make_topic(config=COMPACTED)
    topic.trades(10)
    first = land(topic.spec, topic.connections)
    topic.trades(10)
    wait_for(lambda: first_of(topic) > 10)  # all have one key

    report = land(topic.spec, topic.connections)

    assert (first.records, report.gaps > 0) == (10, True)
    assert report.records + report.gaps == topic.produced - 10
    assert len(topic.rows()) == 10 + report.records
    for check in ("row_count", "row_count_deep"):
        result = run_check(check, topic.spec, topic.connections)
        assert result.passed, result.text


def first_of(topic: Topic) -> int:
    """The first record that is there; one more is sent, for what is last is not compacted."""
    topic.trades(1)
    with open_probe(topic.connections.settings, topic.name, **ONE_RECORD) as probe:
        return probe.first({0: 0})[0][0]
