"""Records that are far larger than others: they are bad records, and neither Spark nor their topic stops.

One record that can't be taken stops Iceberg's own sink: https://github.com/apache/iceberg/issues/15032
"""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import Producer

from frazil.clients import Clients
from frazil.connections import Connections
from frazil.errors import SuspendedError
from frazil.kafka.clients import client_config
from frazil.landing.halts.resume import resume
from frazil.landing.land import land
from frazil.landing.repairs.redrive import redrive
from frazil.landing.replay.run import replay
from frazil.settings.profile import Settings
from kit.records.envelopes import captured
from kit.records.topics import MakeTopic, Topic, topic_maker
from kit.records.upserts import upserts
from kit.runs.waiting import PATIENCE

MB = 2**20
ALLOWED = {"max.message.bytes": str(70 * MB)}

Large = tuple[bytes | None, bytes | None, list[tuple[str, bytes]]]


@pytest.fixture
def make(stack: Settings, fresh_name: str) -> MakeTopic:
    """Makes topics of which a megabyte is too large."""
    narrow = Clients(stack.with_changes(spark={"max_record_bytes": MB}))
    return topic_maker(narrow, fresh_name, "field_reports")


def send(topic: Topic, *records: Large) -> None:
    size = {"message.max.bytes": 100 * MB, "queue.buffering.max.kbytes": 200 * 1024}
    producer = Producer({**client_config(topic.connections.settings), **size})
    for key, value, headers in records:
        producer.produce(topic.name, value, key, 0, headers=headers)
    assert producer.flush(PATIENCE) == 0


def trade(topic: Topic, symbol: str) -> bytes:
    return topic.encode({"side": "BUY", "quantity": 2, "symbol": symbol})


def large_ones(topic: Topic) -> list[Large]:
    """Of each record another part is too large."""
    good, wide = trade(topic, "Z"), "Z" * 2 * MB
    return [
        (b"k", trade(topic, wide), [("h", b"1")]),
        (wide.encode(), good, [("h", b"1")]),
        (b"k", good, [("h", wide.encode()), ("i", b"1")]),
        (wide.encode(), None, [(wide, b"")]),
    ]


def letters_of(topic: Topic) -> list[dict[str, Any]]:
    table = topic.connections.catalog.load_table(topic.things.table.dead_letters.identifier)
    rows: list[dict[str, Any]] = table.scan().to_arrow().to_pylist()
    return sorted(rows, key=lambda row: row["offset"])


@pytest.mark.nightly
def test_a_record_of_sixty_megabytes_is_a_bad_record_and_spark_goes_on(
    connections: Connections, fresh_name: str
) -> None:
    make = topic_maker(connections, fresh_name, "field_reports")
    large, other = make(config=ALLOWED), make()
    large.trades(2, plain="the next offset is named")
    value = trade(large, "Z" * 60 * MB)
    send(large, (b"k", value, []), (b"k", trade(large, "Z"), []))
    other.trades(3)

    with pytest.raises(SuspendedError) as raised:
        land(large.spec, connections)
    resumed = resume(large.spec, connections, past=[(0, 2)])
    report = land(other.spec, connections)

    assert f"offset 2: the value has {len(value):,} bytes" in raised.value.where
    assert "FRAZIL_SPARK__MAX_RECORD_BYTES" in raised.value.where
    assert (resumed.records, resumed.skipped, report.records) == (1, 1, 3)


def test_a_record_of_twenty_megabytes_lands(connections: Connections, fresh_name: str) -> None:
    topic = topic_maker(connections, fresh_name, "field_reports")(config=ALLOWED, value_format="string")
    send(topic, (b"k", b"Z" * 20 * MB, []), (b"k", b"small", []))

    land(topic.spec, topic.connections)

    assert [len(row["value"]) for row in topic.rows()] == [20 * MB, 5]


def test_a_part_that_is_too_large_makes_a_dead_letter_without_it(make: MakeTopic) -> None:
    topic = make(config=ALLOWED, on_bad_record="dead_letter", on_null_value="keep")
    send(topic, *large_ones(topic), (b"k", trade(topic, "Z"), [("h", b"1")]), (b"k", None, []))

    report = land(topic.spec, topic.connections)

    assert (report.records, report.dead_letters) == (2, 4)
    letters = letters_of(topic)
    assert [row["reason_code"] for row in letters] == [
        "too_large", "key_too_large", "headers_too_large", "key_too_large",
    ]  # fmt: skip
    assert letters[0]["reason"].startswith("the value has 2,097,1")
    assert [row["raw_key"] for row in letters] == [b"k", None, b"k", None]
    assert [row["raw_value"] and len(row["raw_value"]) for row in letters[1:3]] == [12, 12]
    assert [row["headers"] for row in letters] == [[("h", b"1")], [("h", b"1")], None, None]


@pytest.mark.nightly
def test_such_a_dead_letter_is_no_row_without_its_value_and_a_replay_lands_it(
    make: MakeTopic, stack: Settings
) -> None:
    topic = make(config=ALLOWED, on_bad_record="dead_letter", on_null_value="keep")
    topic.trades(1, plain="its offset is named")
    send(topic, *large_ones(topic)[:2])
    land(topic.spec, topic.connections)

    redriven = redrive(topic.spec, topic.connections)
    allowing = Clients(stack)
    replayed = replay(topic.spec, allowing, {0: (0, 3)})

    assert redriven.still_bad == {"too_large": 1, "key_too_large": 1}
    assert (replayed.replayed, replayed.redriven) == (3, 2)
    assert [len(row["symbol"]) for row in topic.rows()] == [5, 2 * MB, 1]


def test_it_lands_once_more_is_allowed_or_is_left_out_by_name_or_by_the_spec(
    make: MakeTopic, stack: Settings
) -> None:
    raised = make(config=ALLOWED, on_null_value="keep")
    named, skipping = make(config=ALLOWED), make(config=ALLOWED, on_bad_record="skip")
    for topic in (raised, named, skipping):
        send(topic, *large_ones(topic), (b"k", trade(topic, "Z"), []))

    with pytest.raises(SuspendedError, match="raise FRAZIL_SPARK__MAX_RECORD_BYTES"):
        land(raised.spec, raised.connections)
    allowed = resume(raised.spec, Clients(stack))
    assert (allowed.records, allowed.skipped) == (5, 0)
    with pytest.raises(SuspendedError, match="--past 0:0"):
        land(named.spec, named.connections)
    resumed = resume(named.spec, named.connections, past=[(0, n) for n in range(4)])
    report = land(skipping.spec, skipping.connections)

    assert (resumed.records, resumed.skipped) == (report.records, report.skipped) == (1, 4)


def test_an_upsert_table_goes_on_past_it_and_deletes_nothing_by_it(make: MakeTopic) -> None:
    made = upserts(make, partitions=1, config=ALLOWED, on_bad_record="dead_letter")
    made.send([("k", 1), ("other", 1)])
    send(made.topic, (b"k", trade(made.topic, "Z" * 2 * MB), []))

    report = land(made.topic.spec, made.topic.connections)

    assert (report.inserted, report.dead_letters) == (2, 1)
    assert made.rows_by_key() == {"k": 1, "other": 1}
    assert letters_of(made.topic)[0]["reason_code"] == "too_large"


@pytest.mark.parametrize("more", [{}, {"versions": "all"}], ids=["rows", "versions"])
@pytest.mark.each_time("rows")
def test_a_table_of_changes_goes_on_past_it_and_deletes_nothing_by_it(
    make: MakeTopic, more: dict[str, str]
) -> None:
    made = captured(make, partitions=1, config=ALLOWED, on_bad_record="dead_letter", **more)
    made.send([("k", 1), ("other", 1)])
    made.text = "Z" * 2 * MB
    send(made.topic, (made.key("k"), made.value("u", None, made.row("k", 2)), []))
    made.text = ""
    made.send([("other", 3)])

    report = land(made.topic.spec, made.topic.connections)

    assert report.dead_letters == 1
    newest = [row for row in made.topic.rows() if row.get("$$current", True)]
    assert {row["key"]: row["quantity"] for row in newest} == {"k": 1, "other": 3}
