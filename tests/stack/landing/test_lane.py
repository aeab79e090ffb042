"""The Arrow lane: what it does otherwise than rows that go through Spark. Most landings here take it too."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from pyarrow.fs import S3FileSystem
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table

from frazil.errors import ConfigureError, NotAllowedError
from frazil.formats.record import topic_columns
from frazil.landing.land import land
from frazil.landing.lane import job
from frazil.landing.repairs import bad_records
from frazil.landing.schema.tables import ensure_table
from frazil.spec.names import things
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.metadata.manifests import added_files
from frazil.tables.spark.session import spark_name
from frazil.tables.writing.parquet import FileLayout
from frazil.upkeep.orphans import remove_orphans
from kit.readers.opened import table_of
from kit.records.topics import MakeTopic, Topic
from kit.runs.waiting import PATIENCE
from kit.wires.killed import landing_process

MONTH = 30 * 86400.0


def newest_files(table: Table) -> list[DataFile]:
    head = table.current_snapshot()
    assert head
    return list(added_files(table, head))


def test_a_landing_is_one_commit_and_makes_no_branch(landed: Topic) -> None:
    steps: list[str] = []
    before = table_of(landed).metadata.last_sequence_number
    landed.trades(3)

    land(landed.spec, landed.connections, on_step=steps.append)

    assert steps == ["evolved", "planned", "written", "audited", "published"]
    assert table_of(landed).metadata.last_sequence_number == before + 1


MANY = {
    "type": "record",
    "name": "Many",
    "fields": [
        {"name": "text", "type": "string"},
        {"name": "raw", "type": "bytes"},
        {"name": "ratio", "type": "double"},
        {"name": "small", "type": ["null", "float"]},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "yes", "type": "boolean"},
        {"name": "inner", "type": ["null", {"type": "record", "name": "Inner", "fields": [
            {"name": "text", "type": "string"}, {"name": "n", "type": ["null", "long"]}]}]},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "counts", "type": {"type": "map", "values": "int"}},
    ],
}  # fmt: skip


def many(text: str, ratio: float, **more: Any) -> dict[str, Any]:
    at = datetime(2026, 11, 23, 4, tzinfo=UTC)
    return {
        "text": text, "raw": text.encode(), "ratio": ratio, "small": None, "price": Decimal("-1.25"),
        "at": at, "day": at.date(), "yes": True, "inner": None, "tags": [text], "counts": {text: 1}, **more,
    }  # fmt: skip


VALUES = [
    many("a" * 15 + "ü" * 10, 0.5, inner={"text": "x" * 30, "n": None}),
    many("a" * 16 + "\U0010ffff", float("nan"), price=Decimal("9999999999.99"), raw=b"\xff" * 40),
    many("zz\ud7ff" + "\U0010ffff" * 20, -2.5, small=1.5, yes=False, tags=[], raw=b""),
    many("", float("inf"), small=float("nan"), inner={"text": "", "n": 2**62}, counts={}),
]
"""Texts that are cut within a letter of more bytes, or have no greater one; NaN, which no bound may be."""


def test_files_say_of_themselves_what_sparks_own_say(make_topic: MakeTopic) -> None:
    topic = make_topic(partition_by=["bucket(4, text)", "day($$timestamp)", "truncate(3, price)", "day"])
    schema_id = topic.register(MANY)
    topic.send([topic.encode(value, schema_id) for value in VALUES])
    land(topic.spec, topic.connections)
    ours, rows = by_partition(newest_files(table_of(topic))), topic.rows()
    other = topic.spec.model_copy(update={"table": f"{topic.name}_spark"})
    columns = topic_columns(other, topic.connections.registry)
    name = things(other, topic.connections.settings).table
    ensure_table(other, TableHandle(topic.connections.catalog, name), columns)

    landed = topic.connections.spark.table(spark_name(topic.things.table))
    landed.writeTo(spark_name(name)).option("fanout-enabled", "true").append()

    topic.spec = other
    theirs = by_partition(newest_files(table_of(topic)))
    assert str(topic.rows()) == str(rows)
    assert len(ours) > 1
    assert ours.keys() == theirs.keys()
    for partition, file in theirs.items():
        assert ours[partition].record_count == file.record_count
        for statistic in ("value_counts", "null_value_counts", "lower_bounds", "upper_bounds"):
            wanted = dict(
                getattr(file, statistic).items()
            )  # not of what is in lists and maps, which we count, too
            values = {column: getattr(ours[partition], statistic).get(column) for column in wanted}
            assert values == wanted, statistic


def by_partition(files: list[DataFile]) -> dict[str, DataFile]:
    return {str(file.partition): file for file in files}


@pytest.mark.nightly
def test_files_of_a_killed_landing_are_orphans(landed: Topic) -> None:
    landed.trades(5)
    before = {f.file_path for f in newest_files(table_of(landed))}
    process = landing_process(landed.name, landed.connections.settings, "written")
    assert process.wait(PATIENCE) == -signal.SIGKILL

    report = remove_orphans(landed.spec, landed.connections, time.time() + MONTH)
    land(landed.spec, landed.connections)

    assert report.numbers["files"] == 1
    assert sorted(row["quantity"] for row in landed.rows()) == list(range(15))
    assert before.isdisjoint(f.file_path for f in newest_files(table_of(landed)))


def test_bad_records_are_explained_without_a_second_look_at_the_topic(
    make_topic: MakeTopic, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = make_topic(on_bad_record="dead_letter")
    topic.trades(3)
    topic.send([b"bad", None])
    monkeypatch.setattr(bad_records, "_read_again", None)

    report = land(topic.spec, topic.connections)

    assert (report.records, report.dead_letters) == (3, 2)


def test_many_large_bad_records_are_read_again(make_topic: MakeTopic) -> None:
    topic = make_topic(on_bad_record="dead_letter")
    topic.trades(1)
    topic.send([b"bad" * 300_000] * 11)

    report = land(topic.spec, topic.connections)

    assert (report.records, report.dead_letters) == (1, 11)


@pytest.mark.each_time("rest-landing.lane.parts")
@pytest.mark.parametrize("module", ["landing.lane.parts", "landing.decoding"])
def test_where_workers_have_another_frazil_a_landing_is_refused_and_says_what_mends_it(
    make_topic: MakeTopic, monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    shuffled = {"partition_by": ["side"], "write": {"distribution": "hash"}}
    topic = make_topic(**shuffled if module.endswith("decoding") else {})
    topic.trades(2)

    with monkeypatch.context() as strange:
        strange.setattr(f"frazil.{module}.version", lambda _: "0.0")
        with pytest.raises(ConfigureError, match="lack what Frazil's tasks need") as refused:
            land(topic.spec, topic.connections)

    assert "0.0" in refused.value.where
    assert "wheel" in refused.value.todo
    assert land(topic.spec, topic.connections).records == 2


def ending_keys(topic: Topic, times: int) -> Callable[[Table], FileLayout]:
    """Tells tasks of keys that have ended, so many times; then of those that are good."""
    layout_of, left = job.file_layout, [True] * times

    def layout(table: Table) -> FileLayout:
        if not left:
            return layout_of(table)
        left.pop()
        access = topic.connections.settings.s3_endpoint or ""
        ended = S3FileSystem(access_key="gone", secret_key="gone", endpoint_override=access, region="local")
        return replace(layout_of(table), store=ended)

    return layout


def test_where_keys_end_in_the_middle_the_records_are_read_once_more_with_new_ones(
    topic: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic.trades(2)
    monkeypatch.setattr(job, "file_layout", ending_keys(topic, 1))

    land(topic.spec, topic.connections)

    assert [row["quantity"] for row in topic.rows()] == [0, 1]


def test_where_tasks_fail_the_landing_says_so_and_the_next_one_takes_every_record(
    topic: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic.trades(2)
    monkeypatch.setattr(job, "file_layout", ending_keys(topic, 2))

    with pytest.raises(NotAllowedError, match="gives Spark no access"):
        land(topic.spec, topic.connections)
    assert topic.rows() == []
    land(topic.spec, topic.connections)

    assert [row["quantity"] for row in topic.rows()] == [0, 1]
