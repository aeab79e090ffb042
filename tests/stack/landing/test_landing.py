"""A landing from end to end, by the Arrow lane and by Spark."""

from __future__ import annotations

import time

import pytest
from pyspark.sql.connect.observation import Observation

from frazil.checks.run import run_check
from frazil.errors import MissingError
from frazil.landing.land import land
from frazil.landing.plan import MIN_SLICE
from frazil.landing.position.ledger import read_ledger
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.commits.commit import set_properties
from frazil.tables.spark.session import spark_name
from frazil.upkeep.expiry.expiry import expire
from kit.readers.duck import duckdb_on
from kit.readers.stored import stored
from kit.records.producing import BESIDE
from kit.records.topics import MakeTopic, Topic


def test_every_record_becomes_one_row_with_its_metadata(make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=2, metadata="full")
    before = time.time()
    topic.trades(3, partition=0)
    topic.trades(2, partition=1)

    report = land(topic.spec, topic.connections, run_id="test")
    rows = topic.rows()

    assert (report.records, report.spans, report.files) == (5, {0: (0, 3 + BESIDE), 1: (0, 2 + BESIDE)}, 1)
    assert [(r["$$partition"], r["$$offset"], r["quantity"]) for r in rows] == [
        (0, 0, 0), (0, 1, 1), (0, 2, 2), (1, 0, 3), (1, 1, 4),
    ]  # fmt: skip
    first = rows[0]
    assert (first["key"], first["side"], first["symbol"]) == (b"ZTEST", "BUY", "ZTEST")
    assert (first["$$topic"], first["$$timestamp-type"], first["$$leader-epoch"]) == (
        topic.name, "CREATE_TIME", 0,
    )  # fmt: skip
    assert before - 60 < first["$$timestamp"].timestamp() < time.time() + 60
    assert first["$$raw-key"] == b"ZTEST"
    assert first["$$raw-value"][:1] == b"\0"


def test_columns_stand_in_tableflows_order_with_its_types(make_topic: MakeTopic) -> None:
    topic = make_topic(metadata="full")
    land(topic.spec, topic.connections)

    schema = topic.connections.catalog.load_table(topic.things.table.identifier).schema()

    assert [(f.name, str(f.field_type), f.required) for f in schema.fields] == [
        ("key", "binary", False),
        ("side", "string", True),
        ("quantity", "int", True),
        ("symbol", "string", True),
        ("$$topic", "string", False),
        ("$$partition", "int", False),
        ("$$headers", "map<string, binary>", False),
        ("$$leader-epoch", "int", False),
        ("$$offset", "long", False),
        ("$$timestamp", "timestamptz", False),
        ("$$timestamp-type", "string", False),
        ("$$raw-key", "binary", False),
        ("$$raw-value", "binary", False),
    ]


def test_the_next_landing_takes_only_what_is_new_and_an_idle_one_takes_nothing(topic: Topic) -> None:
    topic.trades(4)
    first = land(topic.spec, topic.connections)
    idle = land(topic.spec, topic.connections)
    topic.trades(3)
    second = land(topic.spec, topic.connections)

    assert (first.records, idle.records, second.records) == (4, 0, 3)
    assert idle.snapshot_id == first.snapshot_id
    assert second.spans == {0: (4 + BESIDE, 7 + 2 * BESIDE)}
    assert [r["quantity"] for r in topic.rows()] == list(range(7))


def test_the_snapshot_says_what_it_holds(topic: Topic) -> None:
    topic.trades(4)
    report = land(topic.spec, topic.connections, run_id="run-1")

    metadata = topic.connections.catalog.load_table(topic.things.table.identifier).metadata
    ledger = read_ledger(metadata)

    assert ledger is not None
    assert (ledger.topic, ledger.records, ledger.total_records, ledger.run_id) == (topic.name, 4, 4, "run-1")
    assert ledger.position == {0: 4 + BESIDE}
    assert ledger.schema_ids == report.schema_ids == (topic.register(topic.schema),)
    assert metadata.properties["frazil.spans"] == f'{{"0":[0,{4 + BESIDE}]}}'
    assert [ref for ref in metadata.refs if ref != "main"] == []


@pytest.mark.plain(why="landings are counted by offsets")
def test_a_landing_can_be_limited_and_a_limited_table_catches_up(make_topic: MakeTopic) -> None:
    topic = make_topic(max_records=3)
    topic.trades(10)

    limited = land(topic.spec, topic.connections, max_records=4)
    rest = land(topic.spec, topic.connections)

    assert (limited.records, limited.landings) == (4, 1)
    assert (rest.records, rest.landings) == (6, 2)
    assert rest.spans == {0: (4, 10)}


def test_independent_readers_see_the_same_rows_as_spark(topic: Topic) -> None:
    topic.trades(50)
    land(topic.spec, topic.connections)
    table = topic.connections.catalog.load_table(topic.things.table.identifier)

    query = "SELECT quantity, side, `$$offset`, key, `$$timestamp` FROM {} ORDER BY quantity"
    spark = [
        tuple(r) for r in topic.connections.spark.sql(query.format(spark_name(topic.things.table))).collect()
    ]
    with duckdb_on(topic.connections.settings) as duck:
        scan = query.format(f"iceberg_scan('{table.metadata_location}')").replace("`", '"')
        ducks = duck.execute(scan).fetchall()
    own = [(r["quantity"], r["side"], r["$$offset"], r["key"], r["$$timestamp"]) for r in topic.rows()]

    assert len(own) == 50
    assert ducks == own
    assert [(*r[:3], bytes(r[3])) for r in spark] == [r[:4] for r in own]


def test_headers_are_as_they_were_sent_and_of_a_repeated_one_the_last_value_counts(topic: Topic) -> None:
    value = topic.encode({"side": "BUY", "quantity": 1, "symbol": "Z"})
    topic.send([value], headers=[("h", b"1"), ("h", b"2"), ("empty", None)])
    topic.send([value], headers=None)
    strange: dict[str, bytes | None] = {"": b"", "größe:1,2": b"\0\xff,:-", "-": b"-"}
    topic.send([value], headers=list(strange.items()))
    land(topic.spec, topic.connections)

    assert [r["$$headers"] and dict(r["$$headers"]) for r in topic.rows()] == [
        {"h": b"2", "empty": None},
        None,
        strange,
    ]


def test_partitions_and_portable_names_are_as_the_spec_says(make_topic: MakeTopic) -> None:
    topic = make_topic(
        metadata_names="portable",
        partition_by=("day(cflt_metadata_timestamp)", "bucket(4, symbol)", "side"),
    )
    topic.trades(3)
    land(topic.spec, topic.connections)

    table = topic.connections.catalog.load_table(topic.things.table.identifier)
    assert [str(f.transform) for f in table.spec().fields] == ["day", "bucket[4]", "identity"]
    assert table.schema().find_field("cflt_metadata_leader_epoch").doc
    assert run_check("row_count_deep", topic.spec, topic.connections).passed


def test_many_small_partitions_make_one_file(make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=6)
    for partition in range(6):
        topic.trades(50, partition)

    assert land(topic.spec, topic.connections).files == 1


@pytest.mark.nightly
def test_one_hot_partition_is_landed_by_every_core(make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=3)
    topic.trades(2 * MIN_SLICE, partition=1)

    assert topic.connections.settings.spark.parallelism > 1
    assert land(topic.spec, topic.connections).files == 2
    assert run_check("row_count_deep", topic.spec, topic.connections).passed


@pytest.mark.nightly
def test_landings_leave_old_metadata_files_to_expiry_which_takes_them(topic: Topic) -> None:
    few = {"write.metadata.previous-versions-max": "3"}
    land(topic.spec, topic.connections)
    set_properties(TableHandle(topic.connections.catalog, topic.things.table), few)

    for _ in range(3):
        topic.trades(1)
        land(topic.spec, topic.connections)
    expire(topic.spec, topic.connections, time.time() + 3600)

    assert stored(TableHandle(topic.connections.catalog, topic.things.table).load()).metadata_files == 4


def test_a_topic_that_does_not_exist_is_named_and_nothing_is_made(lake: object, topic: Topic) -> None:
    spec = TableSpec(topic=f"{topic.name}x", namespace="landing_tests")

    with pytest.raises(MissingError, match=spec.topic):
        land(spec, topic.connections)
    assert not topic.connections.catalog.table_exists(("landing_tests", spec.topic))


def test_a_subject_that_is_missing_is_named(make_topic: MakeTopic) -> None:
    topic = make_topic()
    topic.connections.registry.delete_subject(f"{topic.name}-value")

    with pytest.raises(MissingError, match=f"{topic.name}-value"):
        land(topic.spec, topic.connections)


def test_counts_that_a_busy_spark_does_not_send_are_counted_again(
    make_topic: MakeTopic, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = make_topic(on_bad_record="skip")
    topic.trades(3)
    topic.send([b"bad"])
    monkeypatch.setattr(Observation, "get", property(lambda _: {}))  # what the client has then

    report = land(topic.spec, topic.connections)

    assert (report.records, report.skipped, report.spans) == (3, 1, {0: (0, 4 + 2 * BESIDE)})
    assert report.schema_ids == (topic.register(topic.schema),)
    assert run_check("row_count_deep", topic.spec, topic.connections).passed
