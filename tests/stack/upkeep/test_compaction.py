"""Many small files become few; whatever happens meanwhile, no row is lost, doubled or brought back."""

from __future__ import annotations

import signal
import threading
import time
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.conversions import from_bytes
from pyiceberg.manifest import DataFile
from pyiceberg.table.snapshots import Operation

from frazil.checks.run import run_check
from frazil.connections import Connections
from frazil.formats.logical import Field, List, Map, Primitive, Struct
from frazil.landing.land import land
from frazil.landing.position.ledger import read_ledger
from frazil.spec.names import things
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.commits.stage import append_files
from frazil.tables.creation import create_table
from frazil.tables.metadata.manifests import added_files
from frazil.tables.metadata.snapshots import ancestors
from frazil.tables.spark.session import spark_name
from frazil.tables.writing.data_files import write_files
from frazil.tables.writing.presence import values_in_manifests
from frazil.upkeep.compaction.run import Step, compact
from frazil.upkeep.kind import Order
from frazil.upkeep.work import WorkReport
from kit.readers.opened import data_files, table_of
from kit.records.topics import MakeTopic, Topic, topic_maker
from kit.runs.waiting import PATIENCE
from kit.wires import killed

pytestmark = pytest.mark.usefixtures("rows_are_their_records")

EACH = 5
"""Records of a small landing."""
MANY = 8
"""Of them; `make week` makes thousands."""


def landed(topic: Topic, landings: int) -> Topic:
    """The topic with so many small landings."""
    topic.trades(EACH * landings, plain="each landing takes so many")
    for _ in range(landings):
        land(topic.spec, topic.connections, max_records=EACH)
    return topic


def compacted(topic: Topic, on_step: Step = lambda _: None, **order: Any) -> WorkReport:
    return compact(topic.spec, topic.connections, time.time(), Order(**order), on_step)


def quantities(topic: Topic) -> list[int]:
    return sorted(row["quantity"] for row in topic.rows())


def branches(topic: Topic) -> list[str]:
    return [ref for ref in table_of(topic).metadata.refs if ref != "main"]


def assert_adds_up(topic: Topic) -> None:
    for name in ("row_count", "row_count_deep"):
        result = run_check(name, topic.spec, topic.connections)
        assert result.passed, result.text


def test_many_small_landings_become_one_file(topic: Topic) -> None:
    landing = table_of(landed(topic, MANY))
    before = read_ledger(landing.metadata)

    planned = compacted(topic, dry_run=True)
    assert (planned.done, len(data_files(topic))) == (True, MANY)
    report = compacted(topic, reason="These are too many.")

    assert f"{MANY} files" in report.text
    assert (report.numbers["files_before"], report.numbers["files_after"]) == (MANY, 1)
    assert (report.numbers["manifests_before"], report.numbers["manifests_after"]) == (MANY, 1)
    table, head = table_of(topic), table_of(topic).current_snapshot()
    assert head
    assert head.summary
    assert head.snapshot_id == report.snapshot_id
    assert head.summary.operation == Operation.REPLACE
    summary = head.summary.additional_properties
    assert summary["frazil.upkeep"] == "compaction"
    assert summary["frazil.upkeep-reason"] == "These are too many."
    assert (summary["total-records"], summary["total-data-files"]) == (str(MANY * EACH), "1")
    entries = [e for m in head.manifests(table.io) for e in m.fetch_manifest_entry(table.io)]
    assert [e.sequence_number for e in entries] == [landing.metadata.last_sequence_number]
    assert read_ledger(table.metadata) == before
    assert len(data_files(topic)) == 1
    assert quantities(topic) == list(range(MANY * EACH))
    assert branches(topic) == []
    assert_adds_up(topic)
    assert compacted(topic).text.startswith("Nothing to gain: 1 file of ")


@pytest.mark.also("glue", why="a commit that is bound to the head is another request", nightly=True)
def test_landings_and_a_reader_go_on_while_a_table_is_compacted(lake: Connections, fresh_name: str) -> None:
    topic = landed(topic_maker(lake, fresh_name, "upkeep_tests")(partition_by=["side"]), 2)
    topic.trades(EACH * 3, plain="each landing takes so many")
    over, counts = threading.Event(), []

    def land_all() -> None:
        for _ in range(3):
            land(topic.spec, topic.connections, max_records=EACH)
        over.set()

    landing = threading.Thread(target=land_all)
    landing.start()
    reports = []
    while landing.is_alive():
        reports.append(compacted(topic))
        counts.append(table_of(topic).scan().count())
    landing.join()
    compacted(topic)

    assert over.is_set()
    assert any(report.done for report in reports)
    assert counts == sorted(counts)
    assert {count % EACH for count in counts} == {0}
    assert len(data_files(topic)) == 1
    assert quantities(topic) == list(range(EACH * 5))
    assert_adds_up(topic)


def test_rows_that_are_deleted_meanwhile_stay_deleted(topic: Topic) -> None:
    landed(topic, 3)

    def delete(step: str) -> None:
        if step == "written":
            table_of(topic).delete(f"quantity < {EACH}")

    report = compacted(topic, on_step=delete)

    assert (report.done, report.numbers["overtaken"]) == (False, 1)
    assert quantities(topic) == list(range(EACH, EACH * 3))
    assert branches(topic) == []
    assert compacted(topic).numbers["files_after"] == 1
    assert quantities(topic) == list(range(EACH, EACH * 3))


@pytest.mark.nightly
def test_rows_that_are_deleted_by_position_meanwhile_stay_deleted(topic: Topic) -> None:
    landed(topic, 3)
    name = spark_name(topic.things.table)
    spark = topic.connections.spark
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('write.delete.mode' = 'merge-on-read')")

    def delete(step: str) -> None:
        if step == "written":
            spark.sql(f"DELETE FROM {name} WHERE quantity = 1")

    assert not compacted(topic, on_step=delete).done
    after = compacted(topic)

    assert after.done
    assert quantities(topic) == [n for n in range(EACH * 3) if n != 1]
    topic.trades(EACH)
    land(topic.spec, topic.connections)
    compacted(topic)
    landed_since = compacted(landed(topic, 1))
    assert landed_since.done
    head = table_of(topic).current_snapshot()
    assert head
    assert head.summary
    totals = head.summary.additional_properties
    assert (totals["total-delete-files"], totals["total-position-deletes"]) == ("0", "0")
    assert quantities(topic) == [n for n in range(EACH * 5) if n != 1]


@pytest.mark.nightly
def test_files_that_others_name_anew_meanwhile_are_found(topic: Topic) -> None:
    landed(topic, 3)
    spark, table = topic.connections.spark, topic.things.table

    def rewrite_manifests(step: str) -> None:
        if step == "written":
            spark.sql(f"CALL frazil.system.rewrite_manifests('{table}')")

    report = compacted(topic, on_step=rewrite_manifests)

    assert report.numbers["files_after"] == 1
    assert quantities(topic) == list(range(EACH * 3))
    assert_adds_up(topic)


def test_too_many_manifests_become_one_and_name_the_same_files(make_topic: MakeTopic) -> None:
    topic = landed(make_topic(upkeep={"manifests": 3}, write={"target_file_size": 3_000}), 4)
    files = data_files(topic)

    report = compacted(topic)

    assert report.done
    assert (report.numbers["manifests_before"], report.numbers["manifests_after"]) == (4, 1)
    assert data_files(topic) == files
    assert quantities(topic) == list(range(EACH * 4))
    assert_adds_up(topic)


def test_a_partition_of_an_empty_text_is_sorted(make_topic: MakeTopic) -> None:
    """SeaweedFS denies Spark's own folder of it, whose name ends with the sign of equality."""
    topic = make_topic(sort_by=["quantity desc"], partition_by=["symbol"])
    schema_id, symbols = topic.register(topic.schema), ["", "x" * 300, "it's \\ \"`", "é ", "a/b=%"]
    for half in range(2):
        values = [{"side": "BUY", "quantity": 2 * n + half, "symbol": s} for n in range(3) for s in symbols]
        topic.send([topic.encode(value, schema_id) for value in values])
        land(topic.spec, topic.connections)

    report = compacted(topic, everything=True)

    assert report.numbers["files_after"] == len(symbols)
    numbers = [rows["quantity"] for rows in table_of(topic).scan().to_arrow().to_pylist()]
    assert numbers == [5, 4, 3, 2, 1, 0] * len(symbols)


@pytest.mark.nightly
def test_sorted_files_do_not_overlap(make_topic: MakeTopic) -> None:
    topic = make_topic(sort_by=["quantity desc"], write={"target_file_size": 16_000})
    schema_id = topic.register(topic.schema)
    values = [n * 7919 % 10_000 for n in range(10_000)]
    records = [{"side": "BUY", "quantity": n, "symbol": f"S{n * 31 % 977}"} for n in values]
    topic.send([topic.encode(record, schema_id) for record in records])
    land(topic.spec, topic.connections)

    report = compacted(topic, everything=True)

    bounds = sorted(quantity_bounds(topic, task.file) for task in table_of(topic).scan().plan_files())
    assert len(bounds) == report.numbers["files_after"] > 1
    assert all(high < low for (_, high), (low, _) in pairwise(bounds))
    assert quantities(topic) == list(range(10_000))


def quantity_bounds(topic: Topic, file: DataFile) -> tuple[int, int]:
    field = table_of(topic).schema().find_field("quantity")
    low, high = file.lower_bounds[field.field_id], file.upper_bounds[field.field_id]
    return from_bytes(field.field_type, low), from_bytes(field.field_type, high)


@pytest.mark.nightly
def test_a_compaction_killed_before_its_commit_leaves_everything_as_it_was(
    connections: Connections, fresh_name: str
) -> None:
    topic = landed(topic_maker(connections, fresh_name, killed.NAMESPACE)(), 3)
    process = killed.compaction_process(topic.name, connections.settings, "written")
    assert process.wait(PATIENCE) == -signal.SIGKILL, process.stderr and process.stderr.read()

    assert len(data_files(topic)) == 3
    assert branches(topic) == []  # files that no snapshot names are all it leaves
    topic.trades(EACH)
    land(topic.spec, topic.connections)
    report = compact(topic.spec, connections, time.time() + 7 * 3600)

    assert report.numbers["files_after"] == 1
    assert branches(topic) == []
    assert quantities(topic) == list(range(EACH * 4))
    assert_adds_up(topic)


def test_a_table_of_another_tool_is_compacted(connections: Connections, topic: Topic) -> None:
    name = spark_name(topic.things.table)
    connections.catalog.create_namespace_if_not_exists(topic.things.table.namespace)
    connections.spark.sql(f"CREATE TABLE {name} (id bigint, day date) USING iceberg PARTITIONED BY (day)")
    for n in range(3):
        connections.spark.sql(f"INSERT INTO {name} VALUES ({n}, DATE '2026-01-01'), ({n}, DATE '2026-01-02')")

    report = compacted(topic)

    assert (report.numbers["files_before"], report.numbers["files_after"]) == (6, 2)
    table = TableHandle(connections.catalog, topic.things.table).load()
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [0, 0, 1, 1, 2, 2]


NESTED = (
    Field("id", Primitive("long")),
    Field("words", List(Primitive("string"), element_optional=True), optional=True),
    Field("counts", Map(Primitive("string"), List(Primitive("long")), value_optional=True), optional=True),
    Field("place", Struct((Field("x", Primitive("long"), optional=True),)), optional=True),
    Field("text", Primitive("string"), optional=True),
)
ROWS: list[dict[str, Any]] = [
    {"id": 1, "words": ["a", None], "counts": [("k", [1, 2]), ("l", None)], "place": {"x": 1}, "text": "t"},
    {"id": 2, "words": [], "counts": [], "place": {"x": None}, "text": ""},
    {"id": 3, "words": None, "counts": [("m", [])], "place": None, "text": "long" * 2000},
]


@pytest.mark.nightly
@pytest.mark.parametrize("sorted_by", [(), ("zorder(id, text)",)], ids=["by columns", "by Spark"])
def test_writers_count_values_alike(connections: Connections, fresh_name: str, sorted_by: Any) -> None:
    """Their statistics of empty lists, and of what is null on the way to a value, are one number."""
    spec = TableSpec(topic=fresh_name, namespace="upkeep_tests", sort_by=sorted_by)
    name = things(spec, connections.settings).table
    table = create_table(TableHandle(connections.catalog, name), NESTED, (), {})
    rows = pa.Table.from_pylist(ROWS, schema=table.schema().as_arrow())
    with table.transaction() as tx:
        append_files(tx, write_files(table, rows), {})
    table.refresh().append(rows)
    connections.spark.sql(f"INSERT INTO {spark_name(name)} SELECT * FROM {spark_name(name)}")

    table.refresh()
    counts = [
        values_in_manifests(added_files(table, each), table.schema()) for each in ancestors(table.metadata)
    ]
    report = compact(spec, connections, time.time(), Order(everything=True))

    by_spark, by_pyiceberg, by_tasks = counts[:3]
    assert by_tasks.whole == {"id": 3, "words": 1, "counts": 5, "place": 1, "text": 3}
    assert by_pyiceberg.whole == by_tasks.whole
    assert by_spark.whole == {"id": 6, "place": 2, "text": 6}  # Java says nothing of what is repeated
    assert (report.numbers["files_after"], table.refresh().scan().count()) == (1, 12)
