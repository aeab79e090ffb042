"""A table's new rows go to a Kafka topic, each of them once, whatever happens to the feed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition

from frazil.connections import Connections
from frazil.derive.feeds.feed import feed
from frazil.derive.feeds.position import group_of
from frazil.errors import OvertakenError, PositionLostError, RepairError, SpecError, TopicChangedError
from frazil.kafka.facts import describe
from frazil.kafka.provisioning import ensure_topic
from frazil.spec.names import TableName
from frazil.spec.topic import TableSpec
from kit.derived.fed import IN_A_TRANSACTION, NAMESPACE, Fed, fed, killed_feed, numbers
from kit.derived.made import MakeTable, Source

MOMENT = datetime(2026, 11, 21, 17, 30, 0, 123456, UTC)


@pytest.fixture
def one(connections: Connections, fresh_name: str) -> Fed:
    connections.catalog.create_namespace_if_not_exists(NAMESPACE)
    return fed(connections, fresh_name, fresh_name)


def test_every_type_of_column_arrives_as_it_was(one: Fed) -> None:
    row = {
        "n": 1, "price": Decimal("12.30"), "at": MOMENT, "local": MOMENT.replace(tzinfo=None),
        "day": date(2026, 11, 21), "name": None, "raw": b"\0\1", "ratio": 0.5, "sold": True,
        "tags": ["a", None], "counts": [("x", 1)], "place": {"city": "Oslo", "zip": None},
    }  # fmt: skip
    types = {
        "n": pa.int32(), "price": pa.decimal128(10, 2), "at": pa.timestamp("us", "UTC"),
        "local": pa.timestamp("us"), "day": pa.date32(), "name": pa.string(), "raw": pa.binary(),
        "ratio": pa.float64(), "sold": pa.bool_(), "tags": pa.list_(pa.string()),
        "counts": pa.map_(pa.string(), pa.int64()),
        "place": pa.struct({"city": pa.string(), "zip": pa.string()}),
    }  # fmt: skip
    one.append(pa.Table.from_pylist([row], pa.schema(types)))

    assert one.feed() == 1

    assert one.records() == [(None, {**row, "counts": {"x": 1}})]


def test_only_new_rows_are_sent_and_a_compaction_brings_none(one: Fed) -> None:
    one.append(numbers(1, 2))
    one.append(numbers(3))
    assert (one.feed(), one.feed()) == (3, 0)

    options = "map('rewrite-all', 'true')"
    table = f"{NAMESPACE}.{one.spec.table}"
    one.connections.spark.sql(
        f"CALL frazil.system.rewrite_data_files(table => '{table}', options => {options})"
    ).collect()
    one.append(numbers(4, 5))

    assert (one.feed(), one.feed()) == (2, 0)
    assert one.numbers() == [1, 2, 3, 4, 5]


def test_columns_become_the_records_key_with_a_schema_of_its_own(
    connections: Connections, fresh_name: str
) -> None:
    connections.catalog.create_namespace_if_not_exists(NAMESPACE)
    one = fed(connections, fresh_name, fresh_name, key=("n",))
    one.append(numbers(7, 8))

    one.feed()

    assert sorted(key["n"] for key, _ in one.records()) == [7, 8]
    assert connections.registry.get_versions(f"{fresh_name}-key") == [1]


def test_a_key_of_an_unknown_column_is_refused_with_those_that_there_are(
    connections: Connections, fresh_name: str
) -> None:
    connections.catalog.create_namespace_if_not_exists(NAMESPACE)
    one = fed(connections, fresh_name, fresh_name, key=("m",))
    one.append(numbers(1))

    with pytest.raises(SpecError, match=r"has no column m\.\n  Where: its columns are n"):
        one.feed()


@pytest.mark.parametrize("step", ["sent 2", "committed 1", "noted 1"])
@pytest.mark.each_time("committed 1")
def test_a_feed_killed_at_any_point_doubles_nothing_and_loses_nothing(one: Fed, step: str) -> None:
    everything = list(range(2 * IN_A_TRANSACTION + 5))
    one.append(numbers(*everything[:-3]))
    one.append(numbers(*everything[-3:]))

    killed_feed(one, step)
    one.feed()

    assert one.numbers() == everything


def test_another_feed_takes_over_and_the_first_one_says_so(one: Fed) -> None:
    everything = list(range(IN_A_TRANSACTION + 5))
    one.append(numbers(*everything))
    others = iter([None])

    def overtake(step: str) -> None:
        if step == "sent" and not next(others, 1):
            one.feed()

    with pytest.raises(OvertakenError, match="took over") as raised:
        one.feed(on_step=overtake)
    assert one.numbers() == everything

    one.append(numbers(-1))
    one.feed()

    assert raised.value.todo == "Nothing. Derive again if the topic lags behind."
    assert sorted(one.numbers()) == [-1, *everything]


def test_the_table_remembers_what_kafka_forgot(one: Fed) -> None:
    one.append(numbers(1, 2))
    one.feed()
    group = group_of(TableName(NAMESPACE, str(one.spec.table)))
    forgotten = [ConsumerGroupTopicPartitions(group, [TopicPartition(one.topic, 0)])]
    (answer,) = one.connections.admin.delete_consumer_groups([group]).values()
    answer.result()
    (left,) = one.connections.admin.list_consumer_group_offsets(forgotten).values()
    assert left.result().topic_partitions[0].offset < 0

    one.append(numbers(3))
    one.feed()

    assert one.numbers() == [1, 2, 3]


@pytest.mark.each_time("made again")
@pytest.mark.parametrize("made_again", [True, False], ids=["made again", "gone"])
def test_a_topic_that_was_deleted_is_not_fed_as_if_it_had_what_it_lost(one: Fed, made_again: bool) -> None:
    one.append(numbers(1, 2))
    one.feed()
    admin = one.connections.admin
    for future in admin.delete_topics([one.topic], operation_timeout=30).values():
        future.result()
    if made_again:
        ensure_topic(TableSpec(topic=one.topic, partitions=2), one.connections)
    one.append(numbers(3))

    with pytest.raises(TopicChangedError, match=r"is not the one that .* has fed") as refused:
        one.feed()

    assert bool(describe(admin, [one.topic])) is made_again
    table = one.table
    name = refused.value.todo.split("'")[1]
    table.transaction().remove_properties(name).commit_transaction()
    one.feed()
    assert one.numbers() == [1, 2, 3]


def test_a_topic_cannot_take_rows_back_but_another_one_begins_with_all_that_are_there(one: Fed) -> None:
    one.append(numbers(1))
    one.append(numbers(2))
    one.feed()
    first = one.table.snapshots()[0].snapshot_id
    with one.table.manage_snapshots() as manage:
        manage.rollback_to_snapshot(first)
    one.append(numbers(3))

    with pytest.raises(PositionLostError, match=f"Topic {one.topic} can't follow its table"):
        one.feed()

    other = fed(one.connections, str(one.spec.table), f"{one.topic}_again")
    assert feed(other.spec, one.connections).total == 2
    assert other.numbers() == [1, 3]


def test_a_new_column_is_a_new_version_of_the_subject(one: Fed) -> None:
    one.append(numbers(1))
    one.feed()
    with one.table.update_schema() as update:
        update.union_by_name(pa.schema({"n": pa.int64(), "name": pa.string()}))  # type: ignore[arg-type]
    one.append(pa.table({"n": pa.array([2], pa.int64()), "name": ["b"]}))

    one.feed()

    assert sorted(value["n"] for _, value in one.records()) == [1, 2]
    assert [value.get("name") for _, value in one.records() if value["n"] == 2] == ["b"]
    assert one.connections.registry.get_versions(f"{one.topic}-value") == [1, 2]


def test_a_derivation_feeds_what_it_made_and_then_what_one_that_died_left(
    source: Source, make_table: MakeTable, fresh_name: str
) -> None:
    made = make_table(f"SELECT quantity AS n FROM {source.name.table}", feeds={"topic": fresh_name})
    one = Fed(made.connections, made.spec)
    source.trades(1, 2)
    assert made.derive().fed == 2
    source.trades(3)

    with pytest.raises(RepairError, match="died"):
        made.derive(on_step=dying_at("published"))
    report = made.derive()

    assert (report.rows, report.fed) == (0, 1)
    assert report.text.endswith(f"Topic {fresh_name} got 1 records.")
    assert one.numbers() == [1, 2, 3]


def dying_at(step: str) -> Callable[[str], None]:
    def die(done: str) -> None:
        if done == step:
            raise RepairError("died")

    return die
