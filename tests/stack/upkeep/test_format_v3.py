"""Tables of format version 3: Java, DuckDB and PyIceberg read what Frazil writes, and rows keep their ids."""

from __future__ import annotations

import time
from dataclasses import replace
from io import BytesIO
from typing import Any

import fastavro
import pytest
from pyiceberg.table import Table

from frazil.checks.result import Subject
from frazil.checks.run import run_check
from frazil.checks.verification import verify
from frazil.landing.land import land
from frazil.landing.schema.upgrade import upgrade
from frazil.landing.tableflow.takeover import take_over
from frazil.tables.metadata.manifests import HeadReader
from frazil.tables.metadata.snapshots import number, summary_of
from frazil.tables.spark.session import spark_name
from frazil.upkeep.compaction.run import compact
from frazil.upkeep.forgetting.condition import condition_of
from frazil.upkeep.forgetting.forget import forget
from frazil.upkeep.kind import Order
from kit.engines.spark_vectors import change_by_vectors
from kit.readers.duck import duckdb_on
from kit.readers.opened import data_files, table_of
from kit.records.topics import MakeTopic, Topic
from kit.records.upserts import by_key, upserts

EACH = 5
COLUMNS = "quantity, _row_id, _last_updated_sequence_number"

Ids = dict[int, tuple[int, int]]
"""Id and sequence number of each row, by its quantity."""


def landed(topic: Topic, landings: int) -> Topic:
    topic.trades(EACH * landings, plain="each landing takes so many")
    for _ in range(landings):
        land(topic.spec, topic.connections, max_records=EACH)
    return topic


def by_spark(topic: Topic) -> Ids:
    rows = topic.connections.spark.sql(f"SELECT {COLUMNS} FROM {spark_name(topic.things.table)}").collect()
    ids = {row[0]: (row[1], row[2]) for row in rows}
    assert len(ids) == len(rows)
    assert len({row_id for row_id, _ in ids.values()}) == len(rows)
    return ids


def by_duckdb(topic: Topic) -> Ids:
    with duckdb_on(topic.connections.settings) as duck:
        scan = f"SELECT {COLUMNS} FROM iceberg_scan('{table_of(topic).metadata_location}')"
        return {row[0]: (row[1], row[2]) for row in duck.execute(scan).fetchall()}


def quantities(topic: Topic) -> list[int]:
    return sorted(table_of(topic).scan(selected_fields=("quantity",)).to_arrow()["quantity"].to_pylist())


def compacted(topic: Topic) -> None:
    report = compact(topic.spec, topic.connections, time.time(), Order(everything=True))
    assert report.done, report.text


@pytest.mark.nightly
@pytest.mark.parametrize(
    "sort_by",
    [
        pytest.param((), id="as they come"),
        pytest.param(("quantity desc",), id="sorted", marks=pytest.mark.nightly),
    ],
)
def test_rows_keep_their_ids_whatever_moves_them(make_topic: MakeTopic, sort_by: tuple[str, ...]) -> None:
    write = {"target_file_size": 6_000} if sort_by else {}  # several files of one order: Spark shuffles
    topic = landed(make_topic(format_version=3, sort_by=sort_by, write=write, on_bad_record="dead_letter"), 4)
    begun = by_spark(topic)
    assert sorted(begun) == quantities(topic) == list(range(4 * EACH))
    assert by_duckdb(topic) == begun

    compacted(topic)
    assert by_spark(topic) == by_duckdb(topic) == begun

    forget(
        topic.spec, topic.connections, condition_of(table_of(topic).schema(), "quantity = 7"), (), after=0.0
    )
    left = {quantity: ids for quantity, ids in begun.items() if quantity != 7}
    assert by_spark(topic) == by_duckdb(topic) == left

    change_by_vectors(topic, "DELETE FROM {t} WHERE quantity IN (3, 11)")
    left = {quantity: ids for quantity, ids in left.items() if quantity not in (3, 11)}
    assert by_spark(topic) == left
    by_vectors = verify(Subject(topic.spec, topic.things, topic.connections)).document
    assert by_vectors["counts"] == {"missing": 3}  # what was forgotten, and what Spark deleted
    compacted(topic)
    assert by_spark(topic) == by_duckdb(topic) == left
    head = HeadReader().read(table_of(topic))
    assert head
    assert head.deleting == ()

    topic.trades(EACH)
    land(topic.spec, topic.connections)
    assert len(quantities(topic)) == len(left) + EACH
    assert {q: ids for q, ids in by_spark(topic).items() if q in left and q >= EACH} == {
        q: ids for q, ids in left.items() if q >= EACH
    }


def test_an_upgraded_table_gives_ids_to_all_of_its_rows(make_topic: MakeTopic) -> None:
    topic = landed(make_topic(publish=[]), 2)

    report = upgrade(topic.spec, topic.connections)

    assert (report.before, report.after, report.rows) == (2, 3, 2 * EACH)
    begun = by_spark(topic)
    assert by_duckdb(topic) == begun
    assert {row_id for row_id, _ in begun.values()} == set(range(2 * EACH))
    topic.trades(EACH)
    land(topic.spec, topic.connections)
    after = by_spark(topic)
    assert {quantity: ids for quantity, ids in after.items() if quantity in begun} == begun
    assert sorted(after) == quantities(topic) == list(range(3 * EACH))


@pytest.mark.nightly
def test_a_table_that_spark_made_is_taken_over_and_goes_on(make_topic: MakeTopic) -> None:
    topic = landed(make_topic(publish=[]), 2)
    made = replace(topic, spec=topic.spec.model_copy(update={"table": f"{topic.things.table.table}_s"}))
    one, two = (spark_name(each.things.table) for each in (topic, made))
    topic.connections.spark.sql(
        f"CREATE TABLE {two} USING iceberg TBLPROPERTIES ('format-version' = '3') AS SELECT * FROM {one}"
    ).collect()
    begun = by_spark(made)

    report = take_over(made.spec, made.connections, made.things.table, made.connections)

    assert report.rows == 2 * EACH
    made.trades(EACH)
    land(made.spec, made.connections)
    after = by_spark(made)
    assert by_duckdb(made) == after
    assert {quantity: ids for quantity, ids in after.items() if quantity in begun} == begun
    assert sorted(after) == quantities(made) == list(range(3 * EACH))
    compacted(made)
    assert by_spark(made) == by_duckdb(made) == after
    check = run_check("row_count_deep", made.spec, made.connections)
    assert check.passed, check.text


def ids_of_keys(topic: Topic) -> dict[str, tuple[int, int]]:
    """Id and quantity of each key's row, on which Spark and DuckDB agree."""
    columns = "key, _row_id, quantity"
    rows = topic.connections.spark.sql(f"SELECT {columns} FROM {spark_name(topic.things.table)}").collect()
    ids = by_key((row[0], (row[1], row[2])) for row in rows)
    with duckdb_on(topic.connections.settings) as duck:
        scan = f"SELECT {columns} FROM iceberg_scan('{table_of(topic).metadata_location}')"
        assert by_key((row[0], (row[1], row[2])) for row in duck.execute(scan).fetchall()) == ids
    return ids


@pytest.mark.nightly
def test_changed_rows_go_by_vectors_and_their_keys_keep_their_ids(make_topic: MakeTopic) -> None:
    write, upkeep = {"target_file_size": 4_000}, {"delete_files": 0}
    sent = upserts(make_topic, format_version=3, partition_by=(), write=write, upkeep=upkeep)
    topic = sent.topic
    sent.send((f"k{n}", n) for n in range(400))
    land(topic.spec, topic.connections)
    begun, files = ids_of_keys(topic), data_files(topic)

    for changes in ([("k1", 1001), ("k2", None), ("new", 7)], [("k3", 1003), ("k1", 1101)]):
        sent.send(changes)
        land(topic.spec, topic.connections)
        assert sent.rows_by_key() == sent.rows

    assert {*files} <= {*data_files(topic)}  # none was written anew
    head = HeadReader().read(table_of(topic))
    assert head
    assert [e.data_file.record_count for e in head.deleting] == [3]  # one vector, with all that went
    actual = ids_of_keys(topic)
    assert {key: quantity for key, (_, quantity) in actual.items()} == sent.rows
    left = {key: row_id for key, (row_id, _) in begun.items() if key != "k2"}
    assert {key: row_id for key, (row_id, _) in actual.items() if key != "new"} == left
    summary = summary_of(table_of(topic).current_snapshot())
    assert [number(summary, f"total-{what}") for what in ("delete-files", "position-deletes")] == [1, 3]
    assert sound(topic)

    report = compact(topic.spec, topic.connections, time.time())

    assert report.numbers["delete_files_after"] == 0 < report.numbers["delete_files_before"]
    assert ids_of_keys(topic) == actual
    assert sent.rows_by_key() == sent.rows
    assert sound(topic)


def sound(topic: Topic) -> bool:
    """Whether the checks of rows pass."""
    results = [run_check(name, topic.spec, topic.connections) for name in ("row_count", "row_count_deep")]
    assert all(f.passed for f in results), [f.text for f in results]
    assert verify(Subject(topic.spec, topic.things, topic.connections)).document["counts"] == {}
    return True


def avro(table: Table, location: str) -> tuple[dict[str, Any], dict[str, str], list[dict[str, Any]]]:
    """Schema, header and records of an Avro file."""
    with table.io.new_input(location).open() as stream:
        reader: Any = fastavro.reader(BytesIO(stream.read()))
        return reader.writer_schema, reader.metadata, list(reader)


def fields_in(schema: Any) -> dict[int, Any]:
    """The type of each field of an Avro schema, by Iceberg's id; a null comes first, where it may be one."""
    by_id: dict[int, Any] = {}
    if isinstance(schema, list):
        for each in schema:
            by_id |= fields_in(each)
    elif isinstance(schema, dict):
        for own in schema.get("fields", ()):
            kind = own["type"]
            plain = [
                k if isinstance(k, str) else k["type"] for k in (kind if isinstance(kind, list) else [kind])
            ]
            by_id |= {own["field-id"]: plain} | fields_in(kind)
        by_id |= fields_in(schema.get("items"))
    return {number: kind for number, kind in by_id.items() if number < 1000}  # beyond are partitions


def test_manifests_are_what_java_writes_for_the_same_append(make_topic: MakeTopic) -> None:
    topic = landed(make_topic(format_version=3, partition_by=["symbol"]), 2)
    ours, spark = table_of(topic), topic.connections.spark
    name = spark_name(topic.things.table)
    spark.sql(f"INSERT INTO {name} SELECT * FROM {name} WHERE quantity = 1").collect()
    theirs = table_of(topic)

    lists = [avro(table, str(table.current_snapshot().manifest_list)) for table in (ours, theirs)]  # type: ignore[union-attr]

    (our_schema, our_header, our_list), (their_schema, their_header, their_list) = lists
    assert fields_in(our_schema) == fields_in(their_schema)
    assert our_header.keys() - {"avro.codec"} == their_header.keys() - {"avro.codec", "iceberg.schema"}
    manifests = {m["manifest_path"]: m for m in our_list}
    kept = [m for m in their_list if m["manifest_path"] in manifests]
    assert kept == [manifests[m["manifest_path"]] for m in kept]  # Java reads them as we wrote them
    assert len(kept) == len(our_list)
    (new,) = (m for m in their_list if m["manifest_path"] not in manifests)
    assert new["first_row_id"] == 2 * EACH
    (our_schema, our_header, our_entries), (their_schema, their_header, their_entries) = (
        avro(theirs, path) for path in (our_list[0]["manifest_path"], new["manifest_path"])
    )
    assert fields_in(our_schema) == fields_in(their_schema)
    assert our_header.keys() - {"avro.codec"} == their_header.keys() - {"avro.codec", "iceberg.schema"}
    assert [sorted(e["data_file"]) for e in our_entries[:1]] == [
        sorted(e["data_file"]) for e in their_entries[:1]
    ]
    nulls = ("first_row_id", "referenced_data_file", "content_offset", "content_size_in_bytes")
    for entry in (*our_entries, *their_entries):
        assert [entry["data_file"][field] for field in nulls] == [None] * 4
    assert data_files(topic)
