"""Compactions by columns: the same rows in fewer files; what tasks can't do by themselves is Spark's."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, time
from decimal import Decimal as PyDecimal
from pathlib import Path
from time import time as time_of_day
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.memory import InMemoryCatalog
from pyiceberg.table import Table
from pyiceberg.types import LongType, StringType

from frazil.clients import Clients
from frazil.errors import AuditFailedError
from frazil.formats.logical import Decimal, Field, Fixed, List, Map, Primitive, Struct, Type
from frazil.settings.profile import Settings
from frazil.spec.names import TableName
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.creation import create_table
from frazil.tables.metadata.manifests import HeadReader
from frazil.tables.writing import transfer
from frazil.tables.writing.data_files import write_files
from frazil.upkeep.census import census_of
from frazil.upkeep.compaction import arrow, run
from frazil.upkeep.compaction.kind import Compaction
from frazil.upkeep.compaction.run import compact
from frazil.upkeep.facts import read_facts, read_history
from frazil.upkeep.kind import Known, View
from kit.runs.tasks_here import spark_here
from kit.tables.delete_files import delete_by_equality, delete_by_position, live

NAME = TableName("n", "t")
SPEC = TableSpec(topic="t", namespace="n", table="t")
STRING, LONG, INT = Primitive("string"), Primitive("long"), Primitive("int")
FIELDS = (
    Field("id", INT),
    Field("$$side", STRING, optional=True),
    Field("place", Struct((Field("x", LONG, optional=True), Field("y", STRING))), optional=True),
    Field("tags", List(STRING), optional=True),
    Field("counts", Map(STRING, LONG, value_optional=True), optional=True),
)


@pytest.fixture
def clients(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Clients]:
    """An in-memory catalog, and a Spark that runs tasks here, and has no procedure of Iceberg's."""
    catalog = InMemoryCatalog("unit", warehouse=tmp_path.as_uri())
    clients = Clients(Settings())
    clients.__dict__ |= {"catalog": catalog, "_background_session": spark_here()}

    def by_spark(*_: Any) -> Any:
        raise NotImplementedError

    monkeypatch.setattr(run, "rewrite", by_spark)
    yield clients
    catalog.close()


def row(number: int, **more: Any) -> dict[str, Any]:
    place = None if number % 3 else {"x": None, "y": f"y{number}"}
    known = {
        "id": number,
        "$$side": "AB"[number % 2],
        "place": place,
        "tags": ["a", str(number)] * (number % 2),
    }
    return {**known, "counts": None if number % 2 else [("k", number)], **more}


def append(table: Table, *rows: dict[str, Any]) -> Table:
    return append_files(table, [*rows])


def append_files(table: Table, *rows_of: list[dict[str, Any]]) -> Table:
    """A file of each list of rows, by one commit."""
    schema = table.schema().as_arrow()
    files = [f for rows in rows_of for f in write_files(table, pa.Table.from_pylist(rows, schema=schema))]
    with table.transaction() as tx, tx.update_snapshot().fast_append() as added:
        for file in files:
            added.append_data_file(file)
    return table.refresh()


def rows_of(table: Table) -> list[dict[str, Any]]:
    return sorted(table.refresh().scan().to_arrow().to_pylist(), key=lambda each: each["id"])


def make(clients: Clients, *transforms: tuple[str, str]) -> Table:
    table = create_table(TableHandle(clients.catalog, NAME), FIELDS, transforms, {})
    return append_files(table, *([row(number), row(number + 1)] for number in range(0, 12, 2)))


@pytest.mark.parametrize(
    ("transforms", "files"), [((), 1), ((("identity", "$$side"),), 2), ((("bucket[2]", "id"),), 2)]
)
def test_rows_are_the_same_in_one_file_of_each_partition(
    clients: Clients, transforms: tuple[tuple[str, str], ...], files: int
) -> None:
    table = make(clients, *transforms)
    before, steps = rows_of(table), list[str]()

    report = compact(SPEC, clients, 0.0, on_step=steps.append)

    assert (report.numbers["files_after"], report.done) == (files, True)
    assert rows_of(table) == before
    assert list(table.refresh().metadata.refs) == ["main"]
    assert steps == ["planned", "written", "published"]
    counts = {str(f.file.partition): f.file.record_count for f in table.scan().plan_files()}
    assert sum(counts.values()) == len(before)
    assert len(counts) == files


def test_columns_that_came_went_or_became_wider_are_as_readers_see_them(clients: Clients) -> None:
    table = make(clients)
    with table.update_schema() as update:
        update.add_column("more", StringType())
        update.update_column("id", LongType())
        update.add_column(("place", "z"), LongType())
        update.delete_column("tags")
    append(table.refresh(), {**row(100, more="m", place={"x": 1, "y": "y", "z": 7})})
    before = rows_of(table)

    report = compact(SPEC, clients, 0.0)

    assert report.numbers["files_after"] == 1
    assert rows_of(table) == before


@pytest.mark.parametrize("what", ["a new name", "an old name", "a new name within"])
def test_columns_whose_names_changed_are_those_of_their_ids(clients: Clients, what: str) -> None:
    table = make(clients)
    with table.update_schema() as update:
        if what == "an old name":
            update.delete_column("tags")
        else:
            update.rename_column("$$side" if what == "a new name" else "place.y", "other")
    if what == "an old name":
        with table.refresh().update_schema() as update:
            update.add_column("tags", StringType())
    before = rows_of(table)

    report = compact(SPEC, clients, 0.0)

    assert report.numbers["files_after"] == 1
    assert rows_of(table) == before


def test_values_that_stand_in_the_manifest_only_come_into_the_new_files(clients: Clients) -> None:
    table = make(clients, ("identity", "$$side"))
    for file in [task.file.file_path for task in table.scan().plan_files()]:
        path = file.removeprefix("file://")
        content = pq.ParquetFile(path).read()
        pq.write_table(content.drop_columns([name for name in content.column_names if "side" in name]), path)
    before = rows_of(table)

    compact(SPEC, clients, 0.0)

    assert rows_of(table) == before
    new = [task.file.file_path.removeprefix("file://") for task in table.refresh().scan().plan_files()]
    assert [any("side" in name for name in pq.ParquetFile(path).schema_arrow.names) for path in new] == [
        True,
        True,
    ]


def test_rows_that_others_deleted_are_left_out(clients: Clients) -> None:
    table = make(clients)
    first = min(live(table), key=lambda each: int.from_bytes(each.data_file.lower_bounds[1], "little"))
    delete_by_position(table, (first.data_file, [1]))
    delete_by_equality(table, id=6)

    report = compact(SPEC, clients, 0.0)

    assert report.numbers["files_after"] == 1
    assert [each["id"] for each in rows_of(table)] == [0, 2, 3, 4, 5, 7, 8, 9, 10, 11]
    head = HeadReader().read(table)
    assert head
    assert head.deleting == ()


def test_what_needs_a_shuffle_is_sparks(clients: Clients) -> None:
    spec = SPEC.model_copy(update={"sort_by": ("zorder(id, $$side)",)})
    make(clients)

    with pytest.raises(NotImplementedError):
        compact(spec, clients, 0.0)


def test_rows_are_sorted_where_a_task_can_hold_them(clients: Clients) -> None:
    table = make(clients, ("identity", "$$side"))
    before = rows_of(table)

    report = compact(SPEC.model_copy(update={"sort_by": ("id desc",)}), clients, 0.0)

    assert (report.numbers["files_after"], report.done) == (2, True)
    assert rows_of(table) == before
    ids = [ids["id"] for ids in table.refresh().scan().to_arrow().to_pylist()]
    assert sorted([ids[:6], ids[6:]]) == [[10, 8, 6, 4, 2, 0], [11, 9, 7, 5, 3, 1]]


@pytest.mark.parametrize("limit", ["_SORTED", "into"])
def test_what_a_task_can_not_sort_is_sparks(
    clients: Clients, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    make(clients)
    small = {"target_file_size": 5_000} if limit == "into" else {}
    spec = TableSpec.model_validate(
        SPEC.model_dump(include={"topic", "namespace", "table"}) | {"sort_by": ["id"], "write": small}
    )
    if limit == "_SORTED":
        monkeypatch.setattr(arrow, "_SORTED", 1_000)

    with pytest.raises(NotImplementedError):
        compact(spec, clients, 0.0)


def test_files_of_an_older_layout_are_sparks(clients: Clients) -> None:
    table = make(clients)
    with table.update_spec() as update:
        update.add_field("$$side", "identity")

    with pytest.raises(NotImplementedError):
        compact(SPEC, clients, 0.0)


def test_a_file_that_lacks_rows_stops_the_compaction(
    clients: Clients, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make(clients)
    whole = transfer._read
    monkeypatch.setattr(transfer, "_read", lambda *of: (batch.slice(1) for batch in whole(*of)))

    with pytest.raises(AuditFailedError, match="does not add up"):
        compact(SPEC, clients, 0.0)

    assert len(rows_of(table)) == 12


def without_values(column: pa.Array) -> pa.Array:
    if not pa.types.is_struct(column.type):
        return pa.nulls(len(column), column.type)
    parts, every = [column.field(n) for n in range(column.type.num_fields)], pa.array([True] * len(column))
    return pa.StructArray.from_arrays(parts, fields=list(column.type), mask=every)


@pytest.mark.parametrize("lost", ["$$side", "tags", "place"])
def test_values_that_are_lost_where_columns_are_matched_stop_the_compaction(
    clients: Clients, monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    table, whole = make(clients), transfer.rows_fitted
    with table.update_schema() as update:  # of which no file tells yet
        update.add_column(("place", "z"), LongType())
    before = rows_of(table)

    def losing(*of: Any) -> pa.RecordBatch:
        batch = whole(*of)
        place = next(n for n, own in enumerate(batch.schema) if own.metadata[b"frazil.name"].decode() == lost)
        columns = [*batch.columns]
        columns[place] = without_values(columns[place])
        return pa.RecordBatch.from_arrays(columns, schema=batch.schema)

    monkeypatch.setattr(transfer, "rows_fitted", losing)

    with pytest.raises(AuditFailedError, match=r"A compaction of n\.t does not add up") as raised:
        compact(SPEC, clients, 0.0)

    assert f"column {lost} has 0 values in the new files" in raised.value.where
    assert rows_of(table) == before


EACH_TYPE: dict[str, tuple[Type, Any, Any]] = {
    "boolean": (Primitive("boolean"), True, False),
    "int": (INT, -(2**31), 2**31 - 1),
    "long": (LONG, -(2**63), 2**63 - 1),
    "float": (Primitive("float"), -0.0, float("inf")),
    "double": (Primitive("double"), 5e-324, -1.7976931348623157e308),
    "decimal": (Decimal(38, 9), -10 * PyDecimal("0.000000001"), PyDecimal("9" * 29 + "." + "9" * 9)),
    "date": (Primitive("date"), date(1, 1, 1), date(9999, 12, 31)),
    "time": (Primitive("time"), time(0, 0), time(23, 59, 59, 999_999)),
    "timestamp": (Primitive("timestamp"), datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999_999)),
    "timestamptz": (
        Primitive("timestamptz"),
        datetime(1969, 12, 31, tzinfo=UTC),
        datetime(2026, 1, 1, tzinfo=UTC),
    ),
    "string": (STRING, "", "\U0001f9ca" * 3),
    "uuid": (Primitive("uuid"), UUID(int=0).bytes, UUID(int=2**128 - 1).bytes),
    "fixed": (Fixed(3), b"\0\0\0", b"\xff\xff\xff"),
    "binary": (Primitive("binary"), b"", bytes(range(256))),
    "records": (
        List(Struct((Field("n", LONG), Field("t", STRING, optional=True)))),
        [],
        [{"n": 1, "t": None}, {"n": 2, "t": "b"}],
    ),
    "by_word": (Map(STRING, List(LONG), value_optional=True), [], [("a", [1, 2]), ("b", None)]),
}


def test_values_of_every_type_come_through(clients: Clients) -> None:
    columns = [Field(f"a_{name}", kind, optional=True) for name, (kind, *_) in EACH_TYPE.items()]
    table = create_table(TableHandle(clients.catalog, NAME), [Field("id", INT), *columns], (), {})
    for number in range(12):
        values = {f"a_{name}": (*one, None)[number % 3] for name, (_, *one) in EACH_TYPE.items()}
        append(table, {"id": number, **values})
    before = rows_of(table)

    report = compact(SPEC, clients, 0.0)

    assert report.numbers["files_after"] == 1
    assert repr(rows_of(table)) == repr(before)  # -0.0 equals 0.0


def test_what_a_compaction_wrote_does_not_wait_for_the_next_one_though_a_landing_came_in_between(
    clients: Clients,
) -> None:
    """As at a customer: 610 kB were written anew for 22 kB of new data, again and again."""
    table, now = make(clients), time_of_day()

    def between(step: str) -> None:
        if step == "written":
            append(table, row(100))

    compact(SPEC, clients, now, on_step=between)
    append(table, row(101))
    table.refresh()
    new = [t.file.file_size_in_bytes for t in table.scan().plan_files() if t.file.record_count == 1]
    metadata = table.metadata
    known = Known(SPEC, str(NAME), read_facts(metadata), read_history(metadata))
    prospect = Compaction().look(View(table), known, now)

    assert len(rows_of(table)) == 14
    assert len(new) == 2
    assert (prospect.waiting, census_of(SPEC, table, now).waiting) == (sum(new), sum(new))
