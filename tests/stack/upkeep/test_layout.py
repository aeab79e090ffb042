"""A live table takes the layout that its spec asks for; old rows follow when everything is compacted."""

from __future__ import annotations

import time
from typing import Any

import pyarrow.parquet as pq
import pytest

from frazil.checks.run import run_check
from frazil.connections import Connections
from frazil.errors import CommitConflictError, SpecError
from frazil.landing.land import land
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.commits.commit import set_properties
from frazil.upkeep.compaction.run import compact
from frazil.upkeep.kind import Order
from kit.readers.opened import table_of
from kit.records.topics import Topic, topic_maker

pytestmark = pytest.mark.usefixtures("rows_are_their_records")


@pytest.fixture
def topic(lake: Connections, fresh_name: str) -> Topic:
    """A topic on each catalog, with its first landing; the spec says nothing of the layout."""
    topic = topic_maker(lake, fresh_name, "upkeep_tests")()
    return asking(topic)


def asking(topic: Topic, **layout: Any) -> Topic:
    """Lands ten more records with a spec that asks for a layout."""
    topic.spec = TableSpec(topic=topic.name, namespace="upkeep_tests", **layout)
    topic.trades(10)
    land(topic.spec, topic.connections)
    return topic


def partitions(topic: Topic) -> list[str]:
    """Of the present partition spec."""
    table = table_of(topic)
    return [f"{f.transform}({table.schema().find_column_name(f.source_id)})" for f in table.spec().fields]


def layouts(topic: Topic) -> set[int]:
    """Ids of the partition specs that data files have."""
    return {task.file.spec_id for task in table_of(topic).scan().plan_files()}


def codecs(topic: Topic) -> set[str]:
    """Of the data files, as they say themselves."""
    table = table_of(topic)
    files = [table.io.new_input(task.file.file_path) for task in table.scan().plan_files()]
    groups = [pq.ParquetFile(file.open()).metadata.row_group(0) for file in files]
    return {group.column(0).compression for group in groups}


@pytest.mark.also("glue", why="a changed spec is another request", nightly=True)
def test_a_changed_layout_holds_for_new_files_and_for_old_ones_once_they_are_rewritten(topic: Topic) -> None:
    asking(topic, partition_by=["bucket(2, quantity)"])
    asking(topic, partition_by=["bucket(3, quantity)", "day($$timestamp)"], sort_by=["quantity desc"])
    table = table_of(topic)
    now = table.spec().spec_id

    assert partitions(topic) == ["bucket[3](quantity)", "day($$timestamp)"]
    assert [str(f.direction.value) for f in table.sort_order().fields] == ["desc"]
    assert len(layouts(topic)) == 3
    report = compact(topic.spec, topic.connections, time.time(), Order(everything=True))

    assert report.numbers["files_after"] == 3
    assert layouts(topic) == {now}
    assert sorted(row["quantity"] for row in topic.rows()) == list(range(30))
    for name in ("row_count", "row_count_deep", "schema"):
        assert run_check(name, topic.spec, topic.connections).passed
    asking(topic)
    assert partitions(topic) == []
    assert not table_of(topic).sort_order().fields


@pytest.mark.nightly
def test_files_of_the_new_layout_are_rewritten_once_together_with_what_old_ones_leave(topic: Topic) -> None:
    for _ in range(3):
        asking(topic)
    for _ in range(2):
        asking(topic, partition_by=["bucket(3, quantity)"])
    before = {task.file.file_path for task in table_of(topic).scan().plan_files()}

    would = compact(topic.spec, topic.connections, time.time(), Order(everything=True, dry_run=True))
    did = compact(topic.spec, topic.connections, time.time(), Order(everything=True))

    assert len(before) == 4 + 2 * 3
    # Iceberg puts no files of two layouts together: what the old ones leave is rewritten with the new ones.
    assert (did.numbers["files_rewritten"], did.numbers["rounds"], did.numbers["files_after"]) == (
        4 + 9,
        2,
        3,
    )
    assert would.numbers["files_after"] == 3
    assert "10 files of" in would.text
    assert "would become at least 3" in would.text
    assert sorted(row["quantity"] for row in topic.rows()) == list(range(60))


@pytest.mark.nightly
@pytest.mark.also("glue", why="Glue keeps properties of its own", nightly=True)
def test_a_write_profile_is_applied_once_and_leaves_alone_what_was_set_by_hand(topic: Topic) -> None:
    by_hand = {"write.metadata.previous-versions-max": "7", "write.parquet.page-size-bytes": "65536"}
    of_zstd = {"write.parquet.compression-level": "5"}  # gzip would fail on it
    set_properties(TableHandle(topic.connections.catalog, topic.things.table), by_hand | of_zstd)
    wanted = {"compression": "gzip", "row_group_size": "8MiB", "distribution": "hash"}
    asking(topic, write=wanted)
    first = table_of(topic).properties
    assert codecs(topic) == {"ZSTD", "GZIP"}

    asking(topic, write=wanted)
    assert {k: v for k, v in table_of(topic).properties.items() if k.startswith("write.")} == {
        k: v for k, v in first.items() if k.startswith("write.")
    }
    assert first["write.parquet.compression-codec"] == "gzip"
    assert first["write.parquet.row-group-size-bytes"] == str(8 * 2**20)
    assert first["write.distribution-mode"] == "hash"
    assert by_hand.items() <= first.items()
    asking(topic)
    assert table_of(topic).properties["write.parquet.compression-codec"] == "zstd"
    assert by_hand.items() <= table_of(topic).properties.items()


def test_a_column_that_is_not_there_is_named(topic: Topic) -> None:
    before = TableHandle(topic.connections.catalog, topic.things.table).load().metadata_location

    for layout in ({"partition_by": ["day(nope)"]}, {"sort_by": ["nope"]}, {"partition_by": ["day(side)"]}):
        with pytest.raises(SpecError, match=r"_by: (nope|side) can't be used"):
            asking(topic, **layout)

    assert TableHandle(topic.connections.catalog, topic.things.table).load().metadata_location == before


@pytest.mark.nightly
def test_a_landing_that_was_written_for_other_partitions_is_not_published(topic: Topic) -> None:
    topic.trades(5)

    def change(step: str) -> None:
        if step == "written":
            with table_of(topic).update_spec() as update:
                update.add_identity("side")

    with pytest.raises(CommitConflictError, match=r"partitions of .* were changed"):
        land(topic.spec, topic.connections, on_step=change)
    assert land(topic.spec, topic.connections).records == 5
    assert sorted(row["quantity"] for row in topic.rows()) == list(range(15))
