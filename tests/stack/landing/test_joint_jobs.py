"""Small landings share a Spark job, and each ends as it would by itself."""

from __future__ import annotations

import signal
import time
from collections.abc import Sequence

import pytest

from frazil.checks.run import run_check
from frazil.connections import Connections
from frazil.errors import FrazilError, MissingError, OffsetsLostError, SuspendedError
from frazil.landing.land import land
from frazil.landing.lane import joint
from frazil.landing.many import land_many
from frazil.landing.position.ledger import read_ledger
from frazil.landing.report import LandingReport
from frazil.landing.source import Logs
from frazil.upkeep.orphans import remove_orphans
from kit.readers.opened import table_of
from kit.records.producing import BESIDE
from kit.records.topics import MakeTopic, Topic
from kit.records.upserts import Upserts, upserts
from kit.runs.waiting import PATIENCE
from kit.wires.killed import joint_process

MONTH = 30 * 86400.0
OTHER = {
    "type": "record",
    "name": "Other",
    "fields": [
        {"name": "price", "type": ["null", "double"]},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
    ],
}


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The topics of each of Spark's jobs; none leaves because others are slow."""
    topics: list[list[str]] = []
    run = joint.run_together

    def noted(parts: Sequence[joint.Part], logs: Logs) -> object:
        topics.append(sorted(part.reading.topic for part in parts))
        return run(parts, logs)

    monkeypatch.setattr(joint, "run_together", noted)
    monkeypatch.setattr(joint, "PATIENCE", PATIENCE)
    return topics


def adds_up(topic: Topic) -> bool:
    return all(
        run_check(name, topic.spec, topic.connections).passed for name in ("row_count", "row_count_deep")
    )


def test_topics_of_different_formats_and_schemas_land_in_one_job(
    make_topic: MakeTopic, jobs: list[list[str]]
) -> None:
    trades = make_topic(partitions=2)
    trades.trades(20, partition=0)
    trades.trades(10, partition=1)
    other = make_topic(trades=False, partition_by=["day($$timestamp)"])
    other.register(OTHER)
    other.send([other.encode({"price": price, "tags": ["a", "ü"]}) for price in (1.5, None, -2.0)])
    text = make_topic(trades=False, value_format="string")
    text.send([b"one", b"two", None, b"\xff"], headers=[("h", b"v")])
    damaged = make_topic(on_bad_record="dead_letter")
    damaged.trades(3)
    damaged.send([b"bad", b"worse"])
    refused = make_topic(trades=False)  # nobody has registered its schema
    refused.send([b"unknown"])
    topics = [trades, other, text, damaged, refused]
    text.spec = text.spec.model_copy(update={"on_bad_record": "skip"})

    outcomes = {s.topic: o for s, o in land_many([t.spec for t in topics], trades.connections)}

    assert jobs == [sorted(t.name for t in topics[:-1])]
    assert isinstance(outcomes.pop(refused.name), MissingError)
    reports = {topic: counts(outcome) for topic, outcome in outcomes.items()}
    assert reports == {trades.name: (30, 0), other.name: (3, 0), text.name: (2, 0), damaged.name: (3, 2)}
    assert [row["quantity"] for row in trades.rows()] == list(range(30))
    assert [(row["price"], row["tags"]) for row in other.rows()] == [
        (price, ["a", "ü"]) for price in (1.5, None, -2.0)
    ]
    assert [(row["value"], row["$$headers"]) for row in text.rows()] == [
        (value, [("h", b"v")]) for value in ("one", "two")
    ]
    assert {row["$$topic"] for row in damaged.rows()} == {damaged.name}
    assert all(adds_up(topic) for topic in topics[:-1])


@pytest.fixture
def by_key(make_topic: MakeTopic) -> list[Upserts]:
    """Tables of 40 keys, which hold something: an empty one has no files to merge changes into."""
    made = [upserts(make_topic, on_bad_record=word) for word in ("suspend", "dead_letter", "suspend")]
    for each in made:
        each.send((f"k{n}", n) for n in range(40))
        land(each.topic.spec, each.topic.connections)
    return made


@pytest.mark.nightly
def test_tables_by_key_share_a_job_with_each_other_and_with_those_that_append(
    make_topic: MakeTopic, by_key: list[Upserts], jobs: list[list[str]]
) -> None:
    trades = make_topic()
    trades.trades(20)
    for number, each in enumerate(by_key):
        each.send([("k1", 100 + number), ("k2", None), ("new", number), ("k1", 200 + number)])
    by_key[1].topic.send_keyed([(b"k3", b"bad")])
    by_key[2].topic.send_keyed([(b"k3", b"bad")])
    topics = [trades, *(each.topic for each in by_key)]

    outcomes = {s.topic: o for s, o in land_many([t.spec for t in topics], trades.connections)}

    assert jobs[0] == sorted(t.name for t in topics)
    stopped = outcomes.pop(by_key[2].topic.name)
    assert isinstance(stopped, SuspendedError)
    assert {counts(outcomes[each.topic.name]) for each in by_key[:2]} == {(4, 0), (4, 1)}
    assert counts(outcomes[trades.name]) == (20, 0)
    assert all(each.rows_by_key() == each.rows for each in by_key)
    assert all(adds_up(topic) for topic in topics)


@pytest.mark.nightly
def test_where_one_table_by_key_lacks_a_file_the_others_of_its_job_land(
    make_topic: MakeTopic, by_key: list[Upserts], jobs: list[list[str]]
) -> None:
    trades, broken = make_topic(), by_key[0]
    trades.trades(5)
    for each in by_key:
        each.send([(f"k{n}", None) for n in range(20)])
    table = table_of(broken.topic)
    for task in table.scan().plan_files():
        table.io.delete(task.file.file_path)
    topics = [trades, *(each.topic for each in by_key)]

    outcomes = {s.topic: o for s, o in land_many([t.spec for t in topics], trades.connections)}

    assert jobs[0] == sorted(t.name for t in topics)
    assert sorted(jobs[1:])[0] != jobs[0]
    assert isinstance(outcomes[broken.topic.name], FrazilError)
    assert all(isinstance(outcomes[t.name], LandingReport) for t in topics if t is not broken.topic)
    assert all(each.rows_by_key() == each.rows for each in by_key[1:])


def counts(outcome: object) -> tuple[int, int]:
    assert isinstance(outcome, LandingReport), outcome
    return outcome.records, outcome.dead_letters


@pytest.mark.nightly
def test_a_topic_that_loses_records_in_between_ends_as_by_itself_and_the_others_land(
    make_topic: MakeTopic, jobs: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    topics = [make_topic() for _ in range(3)]
    for topic in topics:
        topic.trades(8)
    lost, run = topics[1], joint.run_together

    def lose(parts: Sequence[joint.Part], logs: Logs) -> object:
        lost.delete_records_before(3)
        return run(parts, logs)

    monkeypatch.setattr(joint, "run_together", lose)

    outcomes = {s.topic: o for s, o in land_many([t.spec for t in topics], lost.connections)}

    assert jobs[0] == sorted(t.name for t in topics)
    assert sorted(jobs[1:]) == sorted([t.name] for t in topics)
    error = outcomes[lost.name]
    assert isinstance(error, OffsetsLostError)
    assert error.what == f"Records of topic {lost.name} vanished while they were read."
    for topic in (topics[0], topics[2]):
        ledger = read_ledger(table_of(topic).metadata)
        assert ledger
        assert (ledger.topic, dict(ledger.spans), ledger.records) == (topic.name, {0: (0, 8 + BESIDE)}, 8)
        assert [row["quantity"] for row in topic.rows()] == list(range(8))
        assert adds_up(topic)


@pytest.mark.nightly
@pytest.mark.parametrize("step", ["written", "published"])
def test_landings_of_one_job_that_are_killed_half_way_land_every_record_once(
    make_topic: MakeTopic, step: str
) -> None:
    topics = [make_topic(on_bad_record="dead_letter") for _ in range(3)]
    for topic in topics:
        topic.trades(6)
        topic.send([b"bad"])
    connections: Connections = topics[0].connections
    process = joint_process([t.name for t in topics], connections.settings, step)
    assert process.wait(PATIENCE) == -signal.SIGKILL, process.stderr and process.stderr.read()

    outcomes = [o for _, o in land_many([t.spec for t in topics], connections)]

    missing = sum(counts(outcome)[0] for outcome in outcomes)
    assert missing == 18 if step == "written" else missing < 18
    assert all([row["quantity"] for row in topic.rows()] == list(range(6)) for topic in topics)
    assert all(adds_up(topic) for topic in topics)
    left = [remove_orphans(t.spec, connections, time.time() + MONTH).numbers["files"] for t in topics]
    assert sum(left) >= missing // 6  # a commit under way had files of its own
