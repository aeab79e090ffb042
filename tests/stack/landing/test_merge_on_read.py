"""Tables from which another engine deletes rows by delete files: what it deleted stays deleted."""

from __future__ import annotations

import time

import pytest

from frazil.checks.run import run_check
from frazil.connections import Connections
from frazil.landing.land import land
from frazil.landing.repairs.acceptance import accept, foreign_commits
from frazil.tables.metadata.snapshots import number, summary_of
from frazil.tables.spark.session import spark_name
from frazil.upkeep.compaction.run import compact
from kit.readers.opened import table_of
from kit.records.topics import MakeTopic, Topic, topic_maker
from kit.records.upserts import upserts
from kit.tables.delete_files import delete_by_equality


@pytest.fixture
def make_one(connections: Connections, fresh_name: str) -> MakeTopic:
    """Makes topics whose tables the REST catalog has: what is tested does not depend on the catalog."""
    return topic_maker(connections, fresh_name, "merge_on_read_tests")


def spark(topic: Topic, sql: str) -> None:
    topic.connections.spark.sql(sql.format(table=spark_name(topic.things.table))).collect()


def delete_by_files(topic: Topic, where: str) -> None:
    spark(topic, "ALTER TABLE {table} SET TBLPROPERTIES ('write.delete.mode' = 'merge-on-read')")
    spark(topic, f"DELETE FROM {{table}} WHERE {where}")
    assert number(summary_of(table_of(topic).current_snapshot()), "added-delete-files")


@pytest.mark.each_time("lane")
@pytest.mark.parametrize(
    ("other", "by"),
    [
        ("frazil.landing.land.write_upserts", None),
        ("frazil.landing.land.UpsertLane.write", lambda *_: None),
    ],
    ids=["lane", "shuffled"],
)
def test_a_landing_that_merges_into_a_file_with_deletes_brings_no_row_back(
    make_one: MakeTopic, monkeypatch: pytest.MonkeyPatch, other: str, by: object
) -> None:
    monkeypatch.setattr(other, by)
    sent = upserts(make_one, partition_by=(), upkeep={"delete_files": 0})
    topic = sent.topic
    sent.send((f"k{n}", n) for n in range(20))
    land(topic.spec, topic.connections)
    delete_by_files(topic, "key IN ('k1', 'k2')")
    (foreign,) = foreign_commits(table_of(topic).metadata)
    accept(topic.spec, topic.connections, foreign.snapshot_id, "asked for")
    del sent.rows["k1"], sent.rows["k2"]

    sent.send([("k2", 200), ("k3", 300), ("k4", None), ("new", 7)])
    report = land(topic.spec, topic.connections)

    assert sent.rows_by_key() == sent.rows
    assert (report.inserted, report.updated, report.deleted) == (2, 1, 1)
    assert run_check("row_count", topic.spec, topic.connections).passed
    delete_by_equality(table_of(topic), key="k5")
    (foreign,) = foreign_commits(table_of(topic).metadata)
    accept(topic.spec, topic.connections, foreign.snapshot_id, "asked for")
    del sent.rows["k5"]
    compacted = compact(topic.spec, topic.connections, time.time())
    assert compacted.numbers["delete_files_after"] == 0 < compacted.numbers["delete_files_before"]
    assert sent.rows_by_key() == sent.rows
    sent.send([("k5", 500), ("k6", 600)])
    land(topic.spec, topic.connections)
    assert sent.rows_by_key() == sent.rows
    assert run_check("row_count_deep", topic.spec, topic.connections).passed
