"""A task of the lane by itself: no Spark, no Kafka."""

from __future__ import annotations

import datetime as dt
import json
import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.memory import InMemoryCatalog

from frazil.formats.columns.columns import metadata_columns, record_columns, table_fields
from frazil.formats.plain import Plain
from frazil.formats.protocol import KEY, VALUE, HalfSchemas
from frazil.formats.record_batch import ArrowRecords
from frazil.kafka.tally import Tally
from frazil.landing.lane import intake
from frazil.landing.lane import task as lane
from frazil.landing.lane.intake import Task
from frazil.landing.lane.task import Appends, Tasks
from frazil.spec.names import TableName
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.creation import create_table
from frazil.tables.writing.data_files import file_layout

SPEC = TableSpec(topic="t", namespace="n", key_format="string", value_format="string")
FULL = SPEC.model_copy(update={"metadata": "full"})
BASE = dt.datetime(2026, 1, 2, tzinfo=dt.UTC)
Headers = list[tuple[str, bytes | None]]
OTHERS = b"\0\0\0\0\x09"


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[InMemoryCatalog]:
    catalog = InMemoryCatalog("unit", warehouse=tmp_path.as_uri())
    yield catalog
    catalog.close()


def task_of(
    catalog: InMemoryCatalog, null_value: tuple[bool, bool] = (False, True), spec: TableSpec = SPEC
) -> Task:
    """Keys and values are text; records that begin with `OTHERS` are other tables'."""
    plain = Plain("string")
    key, value = (plain.decoder(HalfSchemas(half, plain, "s")) for half in (KEY, VALUE))
    fields = table_fields(spec, record_columns(spec, key.columns, value.columns))
    table = create_table(TableHandle(catalog, TableName("n", "t")), fields, (), {})
    return Task(
        records=ArrowRecords(key.arrow(), value.arrow(), null_value, (OTHERS,)),
        layout=file_layout(table),
        metadata={c.word: c.name(spec.metadata_names) for c in metadata_columns(spec)},
        topic="t",
        epochs={partition: [(0, 7)] for partition in (0, 1, 3)},
        keeps_bad=True,
    )


def batch(
    *records: tuple[bytes | None, bytes | None],
    partition: int = 0,
    first: int = 0,
    landing: int = 0,
    headers: Sequence[Headers] = (),
    large: Mapping[int, str] | None = None,
) -> pa.RecordBatch:
    """Records as Spark gives them to tasks; by default all but the first one have a header."""
    rows = range(len(records))
    sent: Sequence[Headers] = headers or [[("h", b"v")] if n else [] for n in rows]
    columns = {
        "raw_key": pa.array([key for key, _ in records], pa.binary()),
        "raw_value": pa.array([value for _, value in records], pa.binary()),
        "partition": pa.array([partition for _ in rows], pa.int32()),
        "offset": pa.array([first + n for n in rows], pa.int64()),
        "timestamp": pa.array([BASE + dt.timedelta(milliseconds=n) for n in rows], pa.timestamp("us", "UTC")),
        "timestampType": pa.array([(0, 1, -1)[n % 3] for n in rows], pa.int32()),
        "landing": pa.array([landing for _ in rows], pa.int32()),
        "too_large": pa.array([(large or {}).get(n) for n in rows], pa.string()),
        "header_keys": pa.array([[key for key, _ in of] for of in sent], pa.list_(pa.string())),
        "header_values": pa.array([[value for _, value in of] for of in sent], pa.list_(pa.binary())),
    }
    return pa.RecordBatch.from_pydict(columns)


def run(
    task: Task, *batches: pa.RecordBatch, frazil: str = version("frazil")
) -> tuple[dict[str, Any], list[dict[str, Any]], list[Any]]:
    """What a task counted, the rows of its files, and the bad records that it hands back."""
    sent = replace(pickle.loads(pickle.dumps(task)), layout=task.layout)  # which makes folders, other than S3
    (returned_batch,) = Tasks((Appends(sent),), frazil).run(batches)
    row = returned_batch.to_pylist()[0]
    return json.loads(row["report"]), rows_of(row), row["bad"]


def rows_of(row: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of a landing's files."""
    return [r for f in row["files"] for r in pq.read_table(f["path"].removeprefix("file://")).to_pylist()]


def returned(tasks: tuple[Task, ...], *batches: pa.RecordBatch) -> list[dict[str, Any]]:
    """What one task says of each landing."""
    return [
        row
        for returned_batch in Tasks(tuple(map(Appends, tasks)), version("frazil")).run(batches)
        for row in returned_batch.to_pylist()
    ]


RECORDS = [
    (b"k", b"one"),
    (None, b"two"),
    (b"\xff", b"three"),
    (b"k", b"\xff"),
    (b"k", None),
    (None, OTHERS + b"x"),
]


@pytest.mark.parametrize(
    ("null_value", "values", "bad", "skipped"),
    [
        ((False, True), ["one", "two"], [2, 3, 4], 1),
        ((False, False), ["one", "two"], [2, 3], 2),
        ((True, False), ["one", "two", None], [2, 3], 1),
    ],
    ids=["null is bad", "null is skipped", "null is kept"],
)
def test_each_record_gets_the_verdict_that_sql_gives(
    catalog: InMemoryCatalog,
    null_value: tuple[bool, bool],
    values: list[str | None],
    bad: list[int],
    skipped: int,
) -> None:
    counts, rows, given = run(task_of(catalog, null_value), batch(*RECORDS, partition=3, first=100))

    assert [row["value"] for row in rows] == values
    assert (counts["read"], counts["bad"], counts["skipped"]) == (6, len(bad), skipped)
    assert [(r["partition"], r["offset"] - 100) for r in given] == [(3, n) for n in bad]
    assert given[0] == {
        "partition": 3, "offset": 102, "timestamp": BASE + dt.timedelta(milliseconds=2), "timestamp_type": -1,
        "leader_epoch": 7, "headers": [("h", b"v")], "raw_key": b"\xff", "raw_value": b"three",
        "key_ok": False, "value_ok": True, "too_large": None, "fault": None,
    }  # fmt: skip


def test_a_record_of_which_a_part_was_left_out_is_bad_and_no_null_value(catalog: InMemoryCatalog) -> None:
    records = [(b"k", b"v"), (b"k", None), (b"k", None)]

    counts, rows, given = run(task_of(catalog, (True, False)), batch(*records, large={1: "too_large: 9"}))

    assert [row["value"] for row in rows] == ["v", None]
    assert (counts["read"], counts["bad"], counts["skipped"]) == (3, 1, 0)
    assert [(r["offset"], r["too_large"]) for r in given] == [(1, "too_large: 9")]


def test_a_rows_metadata_is_its_records(catalog: InMemoryCatalog) -> None:
    _, rows, _ = run(task_of(catalog), batch(*[(b"k", b"v")] * 3, first=5))

    assert [row["_x24_x24offset"] for row in rows] == [5, 6, 7]
    assert [row["_x24_x24timestamp_x2Dtype"] for row in rows] == [
        "CREATE_TIME", "LOG_APPEND_TIME", "NO_TIMESTAMP_TYPE",
    ]  # fmt: skip
    assert rows[2] | {"_x24_x24timestamp": None} == {
        "key": "k", "value": "v", "_x24_x24topic": "t", "_x24_x24partition": 0,
        "_x24_x24headers": [("h", b"v")],
        "_x24_x24leader_x2Depoch": 7, "_x24_x24offset": 7, "_x24_x24timestamp": None,
        "_x24_x24timestamp_x2Dtype": "NO_TIMESTAMP_TYPE",
    }  # fmt: skip


def test_a_row_has_the_bytes_of_its_key_and_of_its_value_where_the_table_keeps_them(
    catalog: InMemoryCatalog,
) -> None:
    _, rows, _ = run(task_of(catalog, spec=FULL), batch((b"k", b"v"), (None, b"w")))

    kept = [(row["_x24_x24raw_x2Dkey"], row["_x24_x24raw_x2Dvalue"]) for row in rows]
    assert kept == [(b"k", b"v"), (None, b"w")]


def test_of_headers_of_one_name_the_last_one_is_kept(catalog: InMemoryCatalog) -> None:
    sent: list[Headers] = [
        [("h", b"old"), ("other", None), ("h", b"new")],
        [],
        [("h", b"v")],
        [("x", b""), ("h", b"w")],
    ]
    records = batch(*[(b"k", b"v")] * len(sent), headers=sent)

    _, rows, _ = run(task_of(catalog), records.slice(0, 2), records.slice(2))

    headers = [row["_x24_x24headers"] and dict(row["_x24_x24headers"]) for row in rows]
    assert headers == [{"other": None, "h": b"new"}, None, {"h": b"v"}, {"x": b"", "h": b"w"}]


def test_counts_are_of_all_batches_and_say_which_records_were_read(catalog: InMemoryCatalog) -> None:
    batches = [batch(*[(None, b"abc")] * 4, partition=p, first=10) for p in (0, 1)]

    counts, rows, _ = run(task_of(catalog), *batches)

    both = Tally.of_span(0, 10, 14) + Tally.of_span(1, 10, 14)
    assert Tally(counts["read"], counts["mark"]) == both
    assert (counts["bytes"], counts["max_timestamp"]) == (24, int(BASE.timestamp() * 1000) + 3)
    assert len(rows) == 8


def test_a_slice_without_records_has_nothing_to_tell(catalog: InMemoryCatalog) -> None:
    assert returned((task_of(catalog),), batch()) == []


def test_a_task_that_runs_twice_writes_files_of_other_names_and_says_the_same_of_them(
    catalog: InMemoryCatalog,
) -> None:
    task = task_of(catalog)

    first, again = (returned((task,), batch((b"k", b"v")))[0] for _ in range(2))

    assert first["report"] == again["report"]
    assert {f["path"] for f in first["files"]}.isdisjoint(f["path"] for f in again["files"])


def test_bad_records_that_are_too_large_are_named_and_not_handed_back(
    catalog: InMemoryCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake, "KEPT", 100)

    counts, _, given = run(task_of(catalog), batch(*[(b"k", b"\xff" * 60)] * 3))

    assert given is None
    assert counts["bad_at"] == [0, 1, 2]


def test_workers_of_another_version_do_nothing(catalog: InMemoryCatalog) -> None:
    with pytest.raises(ModuleNotFoundError, match=r"9\.9"):
        run(task_of(catalog), batch((b"k", b"v")), frazil="9.9")


def test_workers_that_were_there_before_an_upgrade_do_nothing_though_it_is_installed(
    catalog: InMemoryCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("frazil.tables.writing.task._LOADED", "0.0.9")

    with pytest.raises(ModuleNotFoundError, match=r"0\.0\.9"):
        run(task_of(catalog), batch((b"k", b"v")))


def test_a_task_serves_several_landings_whose_records_alternate(catalog: InMemoryCatalog) -> None:
    one = task_of(catalog)
    two = replace(one, topic="two", epochs={0: [(0, 1), (2, 5)], 3: [(0, 1)]}, keeps_bad=False)
    mixed = pa.Table.from_batches(
        [
            batch((None, b"a0"), (b"k", b"\xff"), first=10),
            batch((b"b", b"b0"), (b"\xff", b"b"), (None, b"b2"), landing=1, first=0),
            batch((None, b"a2"), landing=0, first=12),
            batch((None, b"b3"), landing=1, partition=3, first=9),
        ]
    ).combine_chunks()

    rows_returned = returned((one, two), *mixed.to_batches())

    counts = {row["landing"]: json.loads(row["report"]) for row in rows_returned}
    rows = {row["landing"]: rows_of(row) for row in rows_returned}
    assert {n: (c["read"], c["bad"]) for n, c in counts.items()} == {0: (3, 1), 1: (4, 1)}
    assert [r["value"] for r in rows[0]] == ["a0", "a2"]
    assert [(r["value"], r["_x24_x24leader_x2Depoch"]) for r in rows[1]] == [("b0", 1), ("b2", 5), ("b3", 1)]
    assert {r["_x24_x24topic"] for r in rows[1]} == {"two"}
    assert [[b["offset"] for b in row["bad"]] for row in rows_returned] == [[11], []]


def test_landings_that_hold_much_together_write_it_before_they_end(
    catalog: InMemoryCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lane, "HELD", 100)
    task = task_of(catalog)

    rows_returned = returned(
        (task, task), *[batch((b"k", b"v" * 60), landing=n % 2, first=n) for n in range(4)]
    )

    assert [[r["_x24_x24offset"] for r in rows_of(row)] for row in rows_returned] == [[0, 2], [1, 3]]
    assert [len(row["files"]) for row in rows_returned] == [1, 1]
