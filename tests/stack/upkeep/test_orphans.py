"""Files that no snapshot names go once they are old; live ones and those being written never do."""

from __future__ import annotations

import time

import pyarrow as pa
import pytest
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.table.statistics import StatisticsFile

from frazil.checks.run import run_check
from frazil.clients import Clients
from frazil.connections import Connections
from frazil.landing.land import land
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.commits.leftovers import drop_branch
from frazil.tables.commits.works import LANDING, work_name
from frazil.upkeep.kind import Order
from frazil.upkeep.orphans import remove_orphans
from frazil_local.home import Home
from kit.readers.opened import table_of
from kit.readers.stored import files_under
from kit.records.topics import MakeTopic, Topic, topic_maker
from kit.storage.counters import counters, own_bucket
from kit.tables.branches import make_branch

DAY = 86400.0
MARGIN = 3 * DAY
FILES = 40
ODD = "a/b c=ü%2F+&?"
"""A partition's value: its folder must be the same one in metadata and in the listing."""


def plant(topic: Topic, path: str) -> str:
    """A file under the table's location that no snapshot names."""
    location = f"{table_of(topic).location()}/{path}"
    with table_of(topic).io.new_output(location).create() as file:
        file.write(b"nobody's")
    return location


def landed(topic: Topic) -> Topic:
    topic.trades(5)
    land(topic.spec, topic.connections)
    return topic


def in_four_days() -> float:
    return time.time() + MARGIN + DAY


@pytest.fixture
def strays(topic: Topic) -> set[str]:
    """The topic's table has a landing and three orphans."""
    landed(topic)
    paths = ("data/lost.parquet", "data/symbol=A/lost.parquet", "metadata/lost-m0.avro")
    return {plant(topic, path) for path in paths}


def test_a_store_is_asked_once_for_all_that_goes_and_keeps_no_marker_of_it(
    connections: Connections, fresh_name: str, stack_home: Home
) -> None:
    bucket = own_bucket(connections.settings)
    there = Clients(connections.settings.with_changes(rest={"warehouse": bucket}))
    topic = landed(topic_maker(there, fresh_name, "upkeep_tests")())
    kept = set(files_under(table_of(topic)))
    for n in range(FILES):
        plant(topic, f"data/symbol=A%20{n % 3}/lost-{n}.parquet")
    before = counters(stack_home, bucket)

    report = remove_orphans(topic.spec, topic.connections, in_four_days())

    after = counters(stack_home, bucket)
    asked = after.puts + after.deletes - before.puts - before.deletes
    assert (report.numbers["files"], asked) == (FILES, 1)
    assert set(files_under(table_of(topic))) == kept


@pytest.mark.also("glue", why="tables lie elsewhere", nightly=True)
def test_only_true_orphans_go(lake: Connections, fresh_name: str) -> None:
    topic = landed(topic_maker(lake, fresh_name, "upkeep_tests")(partition_by=["symbol"]))
    table_of(topic).manage_snapshots().create_tag(head(topic), "kept").commit()
    topic.connections.spark.sql(f"DELETE FROM frazil.{topic.things.table}").collect()
    landed(topic)
    topic.send([topic.encode({"side": "BUY", "quantity": 10, "symbol": ODD})])
    land(topic.spec, topic.connections)
    now = in_four_days()
    branch_of_a_landing_at_work(topic, now)
    kept = set(files_under(table_of(topic)))
    strays = {plant(topic, "data/lost.parquet"), plant(topic, "metadata/lost-m0.avro")}

    report = remove_orphans(topic.spec, topic.connections, now)

    assert report.numbers["files"] == 2
    assert report.numbers["bytes"] == 2 * len("nobody's")
    assert all(stray.rpartition("/")[2] in report.text for stray in strays)
    assert set(files_under(table_of(topic))) == kept
    assert remove_orphans(topic.spec, topic.connections, now).numbers["files"] == 0
    assert len(table_of(topic).scan(snapshot_id=tagged(topic)).to_arrow()) == 5
    assert sorted(row["quantity"] for row in topic.rows()) == list(range(5, 11))


def branch_of_a_landing_at_work(topic: Topic, began: float) -> None:
    """A branch with a file of its own, of a landing that begins at that moment."""
    branch = f"landing_{int(began * 1000)}_0a1b2c3d"
    make_branch(topic.connections.catalog, topic.things.table, branch)
    table_of(topic).append(table_of(topic).scan().to_arrow(), branch=branch)


def head(topic: Topic) -> int:
    snapshot = table_of(topic).current_snapshot()
    assert snapshot
    return snapshot.snapshot_id


def tagged(topic: Topic) -> int:
    return table_of(topic).metadata.refs["kept"].snapshot_id


def test_a_dry_run_names_them_and_touches_nothing(topic: Topic, strays: set[str]) -> None:
    before = files_under(table_of(topic))

    report = remove_orphans(topic.spec, topic.connections, in_four_days(), Order(dry_run=True))

    size = f"({report.numbers['bytes'] / 1024:.1f} KiB)"
    assert report.text.startswith(f"Would delete 3 of {len(before)} files {size} that no snapshot names: ")
    assert (report.done, report.dry_run, report.numbers["files"]) == (True, True, 3)
    assert files_under(table_of(topic)) == before


def test_young_files_stay(topic: Topic, strays: set[str]) -> None:
    report = remove_orphans(topic.spec, topic.connections, time.time() + MARGIN - 3600)

    assert (report.done, report.numbers["files"]) == (False, 0)
    assert strays < set(files_under(table_of(topic)))


def test_what_a_running_landing_may_be_writing_stays_until_its_branch_is_gone(
    topic: Topic, strays: set[str]
) -> None:
    catalog, name, branch = topic.connections.catalog, topic.things.table, work_name(LANDING)
    make_branch(catalog, name, branch)

    during = remove_orphans(topic.spec, topic.connections, in_four_days())
    drop_branch(TableHandle(catalog, name), branch)
    after = remove_orphans(topic.spec, topic.connections, in_four_days())

    assert during.numbers["files"] == 0
    assert after.numbers["files"] == 3
    assert not strays & set(files_under(table_of(topic)))


def test_files_are_known_whether_they_are_spelled_s3_or_s3a(
    connections: Connections, fresh_name: str
) -> None:
    schema = pa.schema([pa.field("n", pa.int64())])
    table = connections.catalog.create_table(("upkeep_tests", fresh_name), schema)
    table.append(pa.table({"n": [1]}, schema=schema))
    file = next(iter(table.scan().plan_files())).file.file_path
    with table.transaction() as tx:
        tx.delete(AlwaysTrue())
        tx.add_files([file.replace("s3://", "s3a://")], check_duplicate_files=False)
    spec = TableSpec(topic=fresh_name, namespace="upkeep_tests")

    report = remove_orphans(spec, connections, in_four_days())

    assert next(iter(table.scan().plan_files())).file.file_path.startswith("s3a://")
    assert report.numbers["files"] == 0
    assert table.scan().to_arrow()["n"].to_pylist() == [1]


def test_metadata_that_is_no_manifest_stays(topic: Topic) -> None:
    landed(topic)
    hint, statistics = plant(topic, "metadata/version-hint.text"), plant(topic, "metadata/head.stats")
    described = StatisticsFile(
        **{"snapshot-id": head(topic), "statistics-path": statistics, "file-size-in-bytes": 8},
        **{"file-footer-size-in-bytes": 4, "blob-metadata": []},
    )
    with table_of(topic).update_statistics() as update:
        update.set_statistics(described)

    remove_orphans(topic.spec, topic.connections, in_four_days())

    assert {hint, statistics} < set(files_under(table_of(topic)))


def test_orphans_of_the_dead_letters_go_too(make_topic: MakeTopic) -> None:
    topic = make_topic(on_bad_record="dead_letter")
    topic.send([b"bad"])
    landed(topic)
    letters = topic.connections.catalog.load_table(topic.things.table.dead_letters.identifier)
    stray = f"{letters.location()}/data/lost.parquet"
    with letters.io.new_output(stray).create() as file:
        file.write(b"nobody's")

    report = remove_orphans(topic.spec, topic.connections, in_four_days())

    assert report.numbers["files"] == 1
    assert stray not in files_under(letters)
    assert len(letters.scan().to_arrow()) == 1
    assert run_check("row_count_deep", topic.spec, topic.connections).passed
