"""`frazil changes`: each row's change between two snapshots, by the key or by where the record is from."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from frazil.connections import Connections
from frazil.errors import MissingError
from frazil.landing.land import land
from frazil.landing.upsert.key import row_identity
from frazil.tables.changelog import Change, Changelog, changelog
from frazil.tables.spark.session import spark_name
from frazil.upkeep.compaction.run import compact
from frazil.upkeep.forgetting.condition import condition_of
from frazil.upkeep.forgetting.forget import forget
from frazil.upkeep.kind import Order
from kit.engines.spark_vectors import change_by_vectors
from kit.readers.opened import table_of
from kit.records.topics import MakeTopic, Topic, topic_maker
from kit.records.upserts import upserts
from kit.runs.shell import Command


@pytest.fixture
def make_topic(connections: Connections, fresh_name: str) -> MakeTopic:
    return topic_maker(connections, fresh_name, "changes_tests")


def changes(topic: Topic, since: int, to: int | None = None) -> list[Change]:
    return list(changelog_of(topic, since, to))


def changelog_of(topic: Topic, since: int, to: int | None = None) -> Changelog:
    table = table_of(topic)
    one, two = (table.metadata.snapshot_by_id(i) for i in (since, to or head(topic)))
    assert one
    assert two
    key = row_identity(topic.spec, table)
    return changelog(topic.connections.spark, table, one, two, key)


def head(topic: Topic) -> int:
    return table_of(topic).metadata.current_snapshot_id or 0


def before_and_after(changes_read: list[Change], column: str) -> Iterator[tuple[Any, ...]]:
    for change in changes_read:
        halves = (change.before, change.after)
        yield (change.kind, *(half[column] if half else None for half in halves))


@pytest.mark.nightly
def test_updates_of_an_upsert_table_have_the_row_before_and_the_row_after(make_topic: MakeTopic) -> None:
    sent = upserts(make_topic)
    sent.send([("a", 1), ("b", 2), ("c", 3)])
    land(sent.topic.spec, sent.topic.connections)
    first = head(sent.topic)
    sent.send([("a", 10), ("b", None), ("d", 4)])
    land(sent.topic.spec, sent.topic.connections)
    compact(sent.topic.spec, sent.topic.connections, time.time(), Order(everything=True))
    sent.send([("a", 11)])
    land(sent.topic.spec, sent.topic.connections)

    updates = changes(sent.topic, first)

    quantities = list(before_and_after(updates, "quantity"))
    assert sorted(quantities[:3], key=repr) == [("delete", 2, None), ("insert", None, 4), ("update", 1, 10)]
    assert quantities[3:] == [("update", 10, 11)]
    assert updates[-1].snapshot_id == head(sent.topic)
    with pytest.raises(MissingError, match="no ancestor"):
        changes(sent.topic, head(sent.topic), first)


@pytest.mark.nightly
def test_rows_that_were_only_written_anew_are_told_of_by_no_changelog_whatever_they_hold(
    make_topic: MakeTopic,
) -> None:
    # The raw value, and headers with bytes; all rows in one file.
    sent = upserts(make_topic, metadata="full", partition_by=())
    sent.send([("a", 1), ("b", 2), ("c", 3)], partition=0, headers=[("from", b"here")])
    land(sent.topic.spec, sent.topic.connections)
    first = head(sent.topic)
    compact(sent.topic.spec, sent.topic.connections, time.time(), Order(everything=True))
    sent.send([("a", 10)], partition=0)
    land(sent.topic.spec, sent.topic.connections)

    assert list(before_and_after(changes(sent.topic, first), "quantity")) == [("update", 1, 10)]
    net = changelog_of(sent.topic, first).net()
    assert [row["quantity"] for frame in net for row in frame.collect()] == [1, 10]


@pytest.mark.nightly
def test_keys_of_bytes_are_told_as_others_are(connections: Connections, topic: Topic) -> None:
    """Iceberg's own changelog compares them by identity: it pairs no update of theirs."""
    spark, name = connections.spark, spark_name(topic.things.table)
    connections.catalog.create_namespace_if_not_exists(topic.things.table.namespace)
    spark.sql(f"CREATE TABLE {name} (k binary, n int) USING iceberg")
    spark.sql(f"INSERT INTO {name} VALUES (X'', 1), (X'00', 2), (X'0000', 3), (X'FF', 4)")
    first = head(topic)
    spark.sql(f"UPDATE {name} SET n = n * 10 WHERE n < 3")
    spark.sql(f"DELETE FROM {name} WHERE n = 3")
    spark.sql(f"INSERT INTO {name} VALUES (X'0000', 5)")
    table = table_of(topic)
    one, two = (table.metadata.snapshot_by_id(n) for n in (first, head(topic)))
    assert one
    assert two

    updates = list(changelog(spark, table, one, two, ("k",)))

    told_of = [("update", 1, 10), ("update", 2, 20), ("delete", 3, None), ("insert", None, 5)]
    assert list(before_and_after(updates, "n")) == told_of


@pytest.mark.nightly
def test_what_was_forgotten_is_told_of_by_no_changelog(make_topic: MakeTopic) -> None:
    topic = make_topic()
    topic.trades(3)
    land(topic.spec, topic.connections)
    first = head(topic)
    topic.trades(2)
    land(topic.spec, topic.connections)
    condition = condition_of(table_of(topic).schema(), "quantity = 1")
    forget(topic.spec, topic.connections, condition, (), after=3600)
    topic.trades(1)
    land(topic.spec, topic.connections)

    updates = list(before_and_after(changes(topic, first), "quantity"))

    assert updates == [("insert", None, 3), ("insert", None, 4), ("insert", None, 5)]


@pytest.mark.nightly
def test_rows_that_went_by_delete_files_are_told_as_others_are(make_topic: MakeTopic) -> None:
    topic = make_topic()
    topic.trades(3)
    land(topic.spec, topic.connections)
    first, name = head(topic), spark_name(topic.things.table)
    topic.connections.spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('write.delete.mode'='merge-on-read')")
    topic.connections.spark.sql(f"DELETE FROM {name} WHERE quantity = 1").collect()
    topic.trades(1)
    land(topic.spec, topic.connections)
    compact(topic.spec, topic.connections, time.time(), Order(everything=True))

    assert list(before_and_after(changes(topic, first), "quantity")) == [
        ("delete", 1, None),
        ("insert", None, 3),
    ]
    assert [len(frame.collect()) for frame in changelog_of(topic, first).net()] == [1, 1]


def test_each_change_is_a_line_of_json_whose_values_are_those_of_a_sample(
    frazil: Command, topic: Topic, name: str
) -> None:
    land(topic.spec, topic.connections)
    first = table_of(topic).metadata.snapshots[0].snapshot_id

    lines = [json.loads(line) for line in frazil("changes", name, "--from", str(first)).out.splitlines()]
    sample = frazil("sample", name, "--json").document["rows"]

    assert frazil("changes", name, "--from", str(first), "--json").document == lines
    assert {line["change"] for line in lines} == {"insert"}
    assert {line["snapshot_id"] for line in lines} == {str(head(topic))}
    assert sorted(map(repr, (line["after"] for line in lines))) == sorted(map(repr, sample))


Told = set[tuple[int, str, int | None, int | None]]
"""Of each change its snapshot, what it is, and the quantities before and after."""


def told_by(changes_read: list[Change]) -> Told:
    rows = zip(changes_read, before_and_after(changes_read, "quantity"), strict=True)
    changes = [(change.snapshot_id, *halves) for change, halves in rows]
    assert len({*changes}) == len(changes)
    return {*changes}


def differences(snapshot: int, before: Mapping[str, int], after: Mapping[str, int]) -> Told:
    """What a dictionary says became of each key."""
    kinds = {(True, True): "update", (True, False): "delete", (False, True): "insert"}
    changed = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
    return {
        (snapshot, kinds[key in before, key in after], before.get(key), after.get(key)) for key in changed
    }


def row_ids(topic: Topic, column: str) -> dict[Any, int]:
    """As Spark has them."""
    rows = topic.connections.spark.sql(f"SELECT {column}, _row_id FROM {spark_name(topic.things.table)}")
    return {row[0]: row[1] for row in rows.collect()}


@pytest.mark.nightly
def test_changes_of_rows_with_ids_are_a_dictionarys_whoever_wrote_them_and_however(
    make_topic: MakeTopic,
) -> None:
    write, upkeep = {"target_file_size": 4_000}, {"delete_files": 0}  # vectors of files as small as these
    sent = upserts(make_topic, format_version=3, partition_by=(), write=write, upkeep=upkeep)
    topic, name = sent.topic, spark_name(sent.topic.things.table)
    sent.send((f"k{n}", n) for n in range(400))
    land(topic.spec, topic.connections)
    first, ids, wanted, rows = head(topic), row_ids(topic, "key"), Told(), dict(sent.rows)

    def done(after: Mapping[str, int]) -> None:
        nonlocal rows, wanted
        wanted |= differences(head(topic), rows, after)
        rows = dict(after)

    for news in ([("k1", 1001), ("k2", None), ("new", 7)], [("k3", 1003), ("k1", 1101), ("k2", 2002)]):
        sent.send(news)
        land(topic.spec, topic.connections)
        done(sent.rows)
    compact(topic.spec, topic.connections, time.time(), Order(everything=True))
    topic.connections.spark.sql(f"UPDATE {name} SET quantity = 5555 WHERE quantity = 5").collect()
    done(rows | {"k5": 5555})
    topic.connections.spark.sql(f"DELETE FROM {name} WHERE quantity = 6").collect()
    done({key: quantity for key, quantity in rows.items() if key != "k6"})
    change_by_vectors(topic, "UPDATE {t} SET quantity = 5556 WHERE quantity = 5555")
    done(rows | {"k5": 5556})

    table = table_of(topic)
    since, to = (table.metadata.snapshot_by_id(i) for i in (first, head(topic)))
    assert since
    assert to
    log = changelog(topic.connections.spark, table, since, to)  # no key

    changed = list(log)
    assert told_by(changed) == wanted
    assert {c.row_id for c in changed if (c.before or {}).get("quantity") in (1, 1001)} == {ids["k1"]}
    assert {c.row_id for c in changed if (c.after or {}).get("quantity") in (5555, 5556)} == {ids["k5"]}
    gone, came = ({row["quantity"] for row in frame.collect()} for frame in log.net())
    assert (gone, came) == ({1, 2, 3, 5, 6}, {1101, 2002, 1003, 5556, 7})
