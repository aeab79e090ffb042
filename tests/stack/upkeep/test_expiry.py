"""Old snapshots go, with the files that only they reach; position, time travel and rollback stay."""

from __future__ import annotations

import time

import pyarrow as pa
import pytest
from pyiceberg.table import Table

from frazil.checks.run import run_check
from frazil.connections import Connections
from frazil.landing.land import land
from frazil.landing.position.ledger import ledger_of
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.commits.commit import set_properties
from frazil.upkeep.compaction.run import compact
from frazil.upkeep.expiry.expiry import expire
from kit.readers.opened import data_files, table_of
from kit.readers.stored import files_under, stored
from kit.records.producing import BESIDE
from kit.records.topics import MakeTopic, Topic, topic_maker

DAY = 86400.0
ONLY_THE_HEAD = {"min_snapshots": 1, "keep_snapshots_for": "7d"}
EAGER = {**ONLY_THE_HEAD, "compact_after": "0s"}


def next_month() -> float:
    return time.time() + 30 * DAY


def landed(topic: Topic, times: int, each: int = 5) -> list[int]:
    """So many landings; the snapshots that they made."""
    made = []
    for _ in range(times):
        topic.trades(each)
        made.append(land(topic.spec, topic.connections).snapshot_id or 0)
    return made


def quantities(topic: Topic) -> list[int]:
    return sorted(row["quantity"] for row in topic.rows())


def on_main(topic: Topic) -> list[int]:
    return [s.snapshot_id for s in table_of(topic).snapshots()]


def unnamed(topic: Topic) -> set[str]:
    """Files in storage that no snapshot of the table reaches."""
    table = table_of(topic)
    named = {table.metadata_location, *(entry.metadata_file for entry in table.metadata.metadata_log)}
    for snapshot in table.snapshots():
        named.add(snapshot.manifest_list)
        for manifest in snapshot.manifests(table.io):
            named.add(manifest.manifest_path)
            entries = manifest.fetch_manifest_entry(table.io)
            named |= {entry.data_file.file_path for entry in entries}
    return set(files_under(table)) - named


def test_expiry_takes_no_file_that_main_holds_and_leaves_none_that_nobody_does(
    lake: Connections, fresh_name: str
) -> None:
    topic = topic_maker(lake, fresh_name, "upkeep_tests")(upkeep=ONLY_THE_HEAD)
    landings = landed(topic, 3)
    before, named = len(on_main(topic)), data_files(topic)

    report = expire(topic.spec, topic.connections, next_month())

    assert before == 1 + 3  # the first is an empty head
    assert report.numbers["snapshots_before"] == before
    assert report.numbers["snapshots_after"] == 1
    assert (report.done, report.numbers["data_files_deleted"]) == (True, 0)
    assert on_main(topic) == landings[-1:]
    assert data_files(topic) == named
    assert named < set(files_under(table_of(topic)))
    assert quantities(topic) == list(range(15))
    assert run_check("row_count_deep", topic.spec, topic.connections).passed
    assert not unnamed(topic)


@pytest.mark.nightly
def test_files_that_a_compaction_replaced_go_with_the_snapshots_that_held_them(make_topic: MakeTopic) -> None:
    topic = make_topic(upkeep=EAGER)
    landings = landed(topic, 3)
    replaced = data_files(topic)
    compacted = compact(topic.spec, topic.connections, time.time()).snapshot_id

    report = expire(topic.spec, topic.connections, next_month())

    assert on_main(topic) == [landings[-1], compacted]  # the compaction itself says no position
    assert report.numbers["data_files_deleted"] == 0
    landings += landed(topic, 1)
    expire(topic.spec, topic.connections, next_month())
    assert on_main(topic) == landings[-1:]
    assert not replaced & set(files_under(table_of(topic)))
    assert quantities(topic) == list(range(20))
    assert not unnamed(topic)


@pytest.mark.nightly
def test_files_that_orphan_removal_was_quicker_with_keep_nothing_from_expiring(make_topic: MakeTopic) -> None:
    topic = make_topic(upkeep=ONLY_THE_HEAD)
    landings, table = landed(topic, 3), table_of(topic)
    first = table.snapshot_by_id(landings[0])
    assert first
    table.io.delete(first.manifest_list)

    report = expire(topic.spec, topic.connections, next_month())

    assert report.done
    assert on_main(topic) == landings[-1:]
    assert quantities(topic) == list(range(15))


@pytest.mark.nightly
def test_landings_go_on_where_the_table_stands_when_all_but_the_newest_expired(topic: Topic) -> None:
    landed(topic, 2)
    compact(topic.spec, topic.connections, time.time())
    spec = topic.spec.model_copy(update={"upkeep": topic.spec.upkeep.model_copy(update={"min_snapshots": 1})})

    expire(spec, topic.connections, next_month())
    topic.trades(5)
    report = land(topic.spec, topic.connections)

    assert (report.records, report.spans) == (5, {0: (10 + 2 * BESIDE, 15 + 3 * BESIDE)})
    assert quantities(topic) == list(range(15))


@pytest.mark.nightly
def test_a_rollback_to_an_old_compaction_still_knows_its_position(make_topic: MakeTopic) -> None:
    topic = make_topic(upkeep={**EAGER, "min_snapshots": 2})
    landed(topic, 2)
    compaction = compact(topic.spec, topic.connections, time.time()).snapshot_id
    landed(topic, 1)
    assert compaction

    expire(topic.spec, topic.connections, next_month())
    table_of(topic).manage_snapshots().rollback_to_snapshot(compaction).commit()
    rolled_back = quantities(topic)
    report = land(topic.spec, topic.connections)

    assert [ledger_of(s) is not None for s in table_of(topic).snapshots()][:2] == [True, False]
    assert rolled_back == list(range(10))
    assert (report.records, report.spans) == (5, {0: (10 + 2 * BESIDE, 15 + 3 * BESIDE)})
    assert quantities(topic) == list(range(15))


@pytest.mark.nightly
def test_time_travel_works_within_the_retention_and_says_so_beyond_it(make_topic: MakeTopic) -> None:
    topic = make_topic(upkeep={"min_snapshots": 2})
    first, second, _ = landed(topic, 3)
    table_of(topic).manage_snapshots().create_tag(first, "audited").commit()
    table_of(topic).manage_snapshots().create_tag(second, "a-day", max_ref_age_ms=int(DAY * 1000)).commit()
    empty = table_of(topic).snapshots()[0].snapshot_id

    expire(topic.spec, topic.connections, next_month())
    table = table_of(topic)

    assert len(table.scan(snapshot_id=first).to_arrow()) == 5
    assert len(table.scan(snapshot_id=second).to_arrow()) == 10
    assert set(table.metadata.refs) == {"main", "audited"}
    with pytest.raises(ValueError, match=f"Snapshot not found: {empty}"):
        table.scan(snapshot_id=empty).to_arrow()


def test_a_table_of_another_tool_expires_likewise(connections: Connections, fresh_name: str) -> None:
    table = strange_table(connections, fresh_name)
    spec = TableSpec(topic=fresh_name, namespace="upkeep_tests", upkeep={"min_snapshots": 2})

    report = expire(spec, connections, next_month())

    table.refresh()
    assert len(table.snapshots()) == report.numbers["snapshots_after"] == 2
    assert report.numbers["data_files_deleted"] == 1  # the rows that were overwritten
    assert sorted(table.scan().to_arrow()["n"].to_pylist()) == [10, 11, 12]


def strange_table(connections: Connections, name: str) -> Table:
    """A row, written over, and two more; none of it by Frazil."""
    schema = pa.schema([pa.field("n", pa.int64())])
    connections.catalog.create_namespace_if_not_exists("upkeep_tests")
    table = connections.catalog.create_table(("upkeep_tests", name), schema)
    table.append(pa.table({"n": [1]}, schema=schema))
    table.overwrite(pa.table({"n": [10]}, schema=schema))
    for number in (11, 12):
        table.append(pa.table({"n": [number]}, schema=schema))
    return table


@pytest.mark.nightly
def test_dead_letters_expire_with_their_table(make_topic: MakeTopic) -> None:
    topic = make_topic(on_bad_record="dead_letter", upkeep=ONLY_THE_HEAD)
    for _ in range(2):
        topic.send([b"bad"])
        landed(topic, 1)
    letters = topic.connections.catalog.load_table(topic.things.table.dead_letters.identifier)

    report = expire(topic.spec, topic.connections, next_month())
    topic.send([b"bad"])
    landed(topic, 1)

    assert f"2 of 3 of {topic.things.table.dead_letters}" in report.text
    offsets = [row["offset"] for row in letters.refresh().scan().to_arrow().to_pylist()]
    assert sorted(offsets) == [0, 6 + 2 * BESIDE, 12 + 4 * BESIDE]
    assert run_check("row_count_deep", topic.spec, topic.connections).passed


@pytest.mark.also("glue", why="it names the metadata by a property of its own", nightly=True)
def test_old_metadata_files_do_not_pile_up(lake: Connections, fresh_name: str) -> None:
    topic = topic_maker(lake, fresh_name, "upkeep_tests")()
    landed(topic, 1)
    name = topic.things.table
    set_properties(TableHandle(lake.catalog, name), {"write.metadata.previous-versions-max": "3"})

    for number in range(6):
        set_properties(TableHandle(lake.catalog, name), {"note": str(number)})
    assert expire(topic.spec, topic.connections, time.time()).numbers["metadata_files_deleted"] == 0
    expire(topic.spec, topic.connections, time.time() + 3600)

    assert stored(table_of(topic)).metadata_files <= 4
