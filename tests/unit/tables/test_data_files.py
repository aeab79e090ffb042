"""Data files that Frazil writes itself, as PyIceberg and a table's properties want them."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import unquote_plus

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.memory import InMemoryCatalog
from pyiceberg.conversions import from_bytes
from pyiceberg.expressions import And, EqualTo
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table

from frazil.errors import DifferentError
from frazil.exact import rows_of
from frazil.formats.logical import Decimal as Number
from frazil.formats.logical import Field, List, Map, Struct, Type
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.catalogs.pyiceberg import transaction
from frazil.tables.creation import create_table
from frazil.tables.metadata.manifests import files_matching
from frazil.tables.writing.conversion import fitted
from frazil.tables.writing.data_files import file_layout
from frazil.tables.writing.unwritable import refuse_unwritable
from kit.readers.partition_values import partition_value
from kit.tables.written_files import NAME, kind, written

MOMENT = dt.datetime(2026, 11, 23, 1, 2, 3, 456789, dt.UTC)


FIELDS: dict[str, tuple[Type, list[Any]]] = {
    "id": (kind("long"), [1, 2, 3, 4]),
    "$$topic": (kind("string"), ["a" * 40, "b", None, "ü"]),
    "day": (kind("date"), [dt.date(2026, 1, 1), None, dt.date(1969, 12, 31), dt.date(2026, 1, 1)]),
    "at": (kind("timestamptz"), [MOMENT, None, MOMENT - dt.timedelta(days=400), MOMENT]),
    "raw": (kind("binary"), [b"\0\1", b"", None, b"\xff" * 30]),
    "price": (Number(12, 2), [Decimal("1.50"), None, Decimal("-2.25"), Decimal("1.50")]),
    "ratio": (kind("double"), [0.5, float("nan"), None, -1.0]),
    "place": (Struct((Field("x", kind("int"), optional=True), Field("y", kind("string"), optional=True))),
              [{"x": 1, "y": "a"}, None, {"x": 2, "y": None}, {"x": 1, "y": "b"}]),
    "tags": (List(kind("string")), [["a", "b"], [], None, ["c"]]),
    "counts": (Map(kind("string"), kind("long"), value_optional=True), [[("a", 1)], None, [], [("b", None)]]),
}  # fmt: skip
ROWS = [
    dict(zip(FIELDS, values, strict=True)) for values in zip(*(v for _, v in FIELDS.values()), strict=True)
]


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[InMemoryCatalog]:
    catalog = InMemoryCatalog("unit", warehouse=tmp_path.as_uri())
    yield catalog
    catalog.close()


def make(catalog: InMemoryCatalog, *transforms: tuple[str, str], **settings: str) -> Table:
    fields = [Field(name, kind, optional=True) for name, (kind, _) in FIELDS.items()]
    properties = {name.replace("__", ".").replace("_", "-"): value for name, value in settings.items()}
    return create_table(TableHandle(catalog, NAME), fields, transforms, properties)


def batch(table: Table, rows: list[dict[str, Any]]) -> pa.RecordBatch:
    schema = file_layout(table).schema
    columns = [
        fitted(pa.array([row[name] for row in rows], own.type), own.type)
        for name, own in zip(FIELDS, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def appended(table: Table, files: list[DataFile]) -> list[dict[str, Any]]:
    with table.transaction() as tx, tx.update_snapshot().fast_append() as append:
        for file in files:
            append.append_data_file(file)
    rows: list[dict[str, Any]] = table.refresh().scan().to_arrow().to_pylist()
    return sorted(rows, key=lambda row: row["id"])


def text(row: dict[str, Any]) -> str:
    """NaN is not equal to itself, and PyIceberg reads UTC as another object."""
    return str({name: row[name] for name in FIELDS} | {"at": row["at"] and row["at"].timestamp()})


def test_a_file_of_every_type_reads_as_it_was_written_and_tells_its_bounds(catalog: InMemoryCatalog) -> None:
    table = make(catalog)

    (file,) = written(table, batch(table, ROWS[:2]), batch(table, ROWS[2:]))

    assert list(map(text, appended(table, [file]))) == list(map(text, ROWS))
    ids = {field.name: field for field in table.schema().fields}
    low = {n: file.lower_bounds.get(f.field_id) for n, f in ids.items()}
    high = {n: file.upper_bounds.get(f.field_id) for n, f in ids.items()}
    assert (from_bytes(ids["id"].field_type, low["id"]), from_bytes(ids["id"].field_type, high["id"])) == (
        1,
        4,
    )
    assert low["$$topic"] == b"a" * 16
    assert high["raw"] is None, "no bytes are greater than 16 of 0xff"
    assert from_bytes(ids["price"].field_type, low["price"]) == Decimal("-2.25")
    assert file.null_value_counts[ids["$$topic"].field_id] == 1
    assert file.record_count == 4
    assert file.file_size_in_bytes == Path(file.file_path.removeprefix("file://")).stat().st_size
    assert list(file.split_offsets) == sorted(file.split_offsets) != []


PLACES = [
    [("identity", "$$topic")],
    [("bucket[4]", "id"), ("day", "at")],
    [("truncate[2]", "$$topic"), ("year", "day")],
    [("month", "day")],
    [("hour", "at")],
    [("identity", "day"), ("identity", "price")],
    [("truncate[10]", "price"), ("truncate[3]", "id")],
    [("bucket[3]", "raw"), ("identity", "at")],
    [("bucket[7]", "$$topic"), ("bucket[5]", "price"), ("bucket[11]", "at"), ("bucket[13]", "day")],
    [("identity", "place.x")],
]
FAR = [  # of dates and moments that Python's own can't hold
    {"day": 2932897, "at": 253402300800000000},
    {"day": -719529, "at": -62167219200000001},
    {"day": 2**31 - 1, "at": 9223372036825200000},
    {"day": -(2**31), "at": -9223372036832400000},
]


def numbers(row: dict[str, Any]) -> dict[str, Any]:
    """A row with numbers for its day and moment."""
    day, at, epoch = row["day"], row["at"], dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    if isinstance(day, int) or isinstance(at, int):
        return row
    days = None if day is None else (day - epoch.date()).days
    return {**row, "day": days, "at": None if at is None else (at - epoch) // dt.timedelta(microseconds=1)}


def place_of(row: dict[str, Any], transforms: list[tuple[str, str]]) -> tuple[Any, ...]:
    """The partition of a row, by the specification."""
    plain, values = numbers(row), []
    for how, column in transforms:
        first, _, rest = column.partition(".")
        value = plain[first] if not rest else (plain[first] or {}).get(rest)
        values.append(partition_value(how, str(FIELDS[first][0]), value))
    return tuple(values)


@pytest.mark.parametrize("transforms", PLACES, ids=str)
def test_rows_stand_in_the_partitions_that_the_specification_gives_them(
    catalog: InMemoryCatalog, transforms: list[tuple[str, str]]
) -> None:
    table = make(catalog, *transforms)
    files = written(table, batch(table, ROWS[:3]), batch(table, ROWS[3:]))

    assert list(map(text, appended(table, files))) == list(map(text, ROWS))
    counts = Counter({tuple(f.partition[n] for n in range(len(transforms))): f.record_count for f in files})
    assert counts == Counter(place_of(row, transforms) for row in ROWS)


@pytest.mark.parametrize("how", ["identity", "bucket[16]", "day", "month", "year", "hour"])
def test_so_do_rows_of_moments_that_python_can_not_hold(catalog: InMemoryCatalog, how: str) -> None:
    columns = ["at"] if how == "hour" else ["at", "day"]
    transforms = [(how, column) for column in columns]
    table = make(catalog, *transforms)
    rows = [{**ROWS[0], "id": n, **far} for n, far in enumerate(FAR)]

    files = written(table, batch(table, rows))

    counts = Counter({tuple(f.partition[n] for n in range(len(transforms))): f.record_count for f in files})
    assert counts == Counter(place_of(row, transforms) for row in rows)
    with transaction(table) as tx, tx.update_snapshot().fast_append() as append:
        for file in files:
            append.append_data_file(file)
    read_rows = rows_of(table.refresh().scan().to_arrow())
    assert sorted((row["day"], row["at"]) for row in read_rows) == sorted((r["day"], r["at"]) for r in FAR)
    for far in FAR:
        entries = files_matching(table, And(EqualTo("at", far["at"]), EqualTo("day", far["day"]))).entries
        places = {tuple(e.data_file.partition[n] for n in range(len(transforms))) for e in entries}
        assert places == {place_of({**ROWS[0], **far}, transforms)}
    ids = {field.name: field.field_id for field in table.schema().fields}
    low = min(int.from_bytes(f.lower_bounds[ids["at"]], "little", signed=True) for f in files)
    high = max(int.from_bytes(f.upper_bounds[ids["day"]], "little", signed=True) for f in files)
    assert (low, high) == (min(r["at"] for r in FAR), max(r["day"] for r in FAR))


@pytest.mark.parametrize(
    ("how", "column", "value", "folder"),
    [
        ("day", "at", 253402300800000000, "at_day=%2B10000-01-01"),
        ("hour", "at", -62167219200000001, "at_hour=-0001-12-31-23"),
        ("month", "day", 2932897, "day_month=%2B10000-01"),
        ("year", "day", -719529, "day_year=-0001"),
        ("day", "at", 0, "at_day=1970-01-01"),
        ("hour", "at", 7_200_000_000, "at_hour=1970-01-01-02"),
        ("month", "day", 40, "day_month=1970-02"),
        ("identity", "at", 1_000_001, "at=1970-01-01T00%3A00%3A01.000001%2B00%3A00"),
        ("identity", "day", None, "day=null"),
        ("identity", "$$topic", "a/b c", "metadata_topic=a%2Fb+c"),
        ("identity", "$$topic", "", "metadata_topic=%28empty%29"),
        ("identity", "raw", b"\xff", "raw=%2Fw%3D%3D"),
    ],
)
def test_the_folder_of_a_partition_is_named_as_iceberg_does(
    catalog: InMemoryCatalog, how: str, column: str, value: Any, folder: str
) -> None:
    table = make(catalog, (how, column), write__object_storage__enabled="false")

    (file,) = written(table, batch(table, [{**ROWS[0], column: value}]))

    assert file.file_path.split("/")[-2] == folder


@pytest.mark.parametrize("sign", ["a", "ü", "\U0001f600", "/", "=", "%"])
def test_a_long_text_has_a_short_folder_of_its_own(catalog: InMemoryCatalog, sign: str) -> None:
    """In tables that an earlier version made."""
    divided = ("identity", "$$topic"), ("truncate[800]", "raw")
    table = make(catalog, *divided, write__object_storage__enabled="false")
    values = [sign * 1500, sign * 1499 + "b", sign * 1499 + "c"]
    rows = [{**ROWS[0], "$$topic": value, "raw": b"r" * 2000} for value in values]

    files = written(table, batch(table, rows))

    folders = {file.file_path.rpartition("/")[0].partition("/data/")[2] for file in files}
    assert len(folders) == len({file.partition[0] for file in files}) == 3
    assert all(len(folder.encode()) <= 500 for folder in folders)
    assert all(len(part) <= 200 for folder in folders for part in folder.split("/"))
    assert all(unquote_plus(folder) for folder in folders)


@pytest.mark.parametrize(
    ("how", "column", "named"),
    [("identity", "$$topic", False), ("truncate[33]", "raw", False), ("truncate[32]", "raw", True),
     ("identity", "at", True), ("bucket[4]", "$$topic", True)],
)  # fmt: skip
def test_no_value_names_the_folders_of_a_table_that_is_divided_by_whole_texts(
    catalog: InMemoryCatalog, how: str, column: str, named: bool
) -> None:
    """Spark names folders after values, whatever a store takes."""
    table = make(catalog, (how, column))

    (file,) = written(table, batch(table, ROWS[:1]))

    assert ("=" in file.file_path.rpartition("/data/")[2]) is named


def test_rows_that_alternate_between_many_partitions_make_one_file_each(
    catalog: InMemoryCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("frazil.tables.writing.parquet.HELD", 1000)
    table = create_table(
        TableHandle(catalog, NAME), [Field("id", kind("long"))], [("truncate[10]", "id")], {}
    )
    layout = file_layout(table)
    batches = [
        pa.RecordBatch.from_arrays([pa.array(range(n % 10, 400, 10))], schema=layout.schema)
        for n in range(30)
    ]

    files = written(table, *batches)

    assert [file.record_count for file in files] == [30] * 40


def test_files_that_are_written_in_turn_take_no_more_memory_than_they_may(
    catalog: InMemoryCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("frazil.tables.writing.parquet.HELD", 1000)
    monkeypatch.setattr("frazil.tables.writing.parquet._WAITING", 5000)
    table = create_table(
        TableHandle(catalog, NAME), [Field("id", kind("long"))], [("truncate[10]", "id")], {}
    )
    batches = [
        pa.RecordBatch.from_arrays([pa.array(range(n % 10, 400, 10))], schema=file_layout(table).schema)
        for n in range(30)
    ]

    files = written(table, *batches)

    assert sum(file.record_count for file in files) == 1200
    assert len(files) > 40


def test_a_full_file_is_followed_by_another(catalog: InMemoryCatalog) -> None:
    properties = {"write.target-file-size-bytes": "1000", "write.parquet.row-group-size-bytes": "100"}
    table = create_table(TableHandle(catalog, NAME), [Field("id", kind("long"))], [], properties)
    rows = pa.RecordBatch.from_arrays([pa.array(range(1000))], schema=file_layout(table).schema)

    files = written(table, rows, rows, rows)

    assert [file.record_count for file in files] == [1000, 1000, 1000]
    assert len({file.file_path for file in files}) == 3


@pytest.mark.parametrize(
    "properties",
    [
        {"write.format.default": "orc"},
        {"encryption.key-id": "k"},
        {"write.location-provider.impl": "com.example.Provider"},
    ],
    ids=str,
)
def test_what_no_task_can_write_is_refused_with_the_line_that_mends_it(
    catalog: InMemoryCatalog, properties: dict[str, str]
) -> None:
    table = create_table(TableHandle(catalog, NAME), [Field("id", kind("long"))], [], properties)
    ((name, value),) = properties.items()

    with pytest.raises(DifferentError) as refused:
        refuse_unwritable(table)

    assert f"{name}={value}" in refused.value.where
    assert f"UNSET TBLPROPERTIES ('{name}')" in refused.value.todo


@pytest.mark.parametrize(
    ("name", "value", "takes"),
    [
        ("s3.sse.type", "kms", True),
        ("s3.sse.type", "custom", False),
        ("s3.sse.type", "none", True),
        ("s3.write.tags.team", "blue", False),
        ("s3.acl", "bucket-owner-full-control", False),
        ("s3.remote-signing-enabled", "true", False),
        ("s3.remote-signing-enabled", "false", True),
    ],
)
def test_what_a_catalog_asks_of_the_store_and_its_client_can_not_give_is_refused(
    catalog: InMemoryCatalog, name: str, value: str, takes: bool
) -> None:
    table = make(catalog)
    table.io.properties[name] = value

    with nullcontext() if takes else pytest.raises(DifferentError, match="data files"):
        refuse_unwritable(table)


@pytest.mark.parametrize("properties", [{}, {"ndv": "50"}, {"max-bytes": "4096"}], ids=str)
def test_columns_get_the_bloom_filters_that_the_table_asks_for(
    catalog: InMemoryCatalog, properties: dict[str, str]
) -> None:
    own = {
        f"write.parquet.bloom-filter-{k}{'.column.$$topic' * (k == 'ndv')}": v for k, v in properties.items()
    }
    asked = {f"write.parquet.bloom-filter-enabled.column.{n}": "true" for n in ("$$topic", "place.y")}
    fields = [Field(name, kind, optional=True) for name, (kind, _) in FIELDS.items()]
    table = create_table(TableHandle(catalog, NAME), fields, [], asked | own)

    (file,) = written(table, batch(table, ROWS))

    group = pq.read_metadata(file.file_path.removeprefix("file://")).row_group(0)
    chunks = [group.column(place) for place in range(group.num_columns)]
    filtered = {c.path_in_schema for c in chunks if c.to_dict()["bloom_filter_length"]}
    assert filtered == {"_x24_x24topic", "place.y"}
    assert list(map(text, appended(table, [file]))) == list(map(text, ROWS))


def test_one_column_may_be_partitioned_twice(catalog: InMemoryCatalog) -> None:
    table = make(catalog, ("bucket[4]", "id"), ("truncate[2]", "id"))

    files = written(table, batch(table, ROWS))

    assert list(map(text, appended(table, files))) == list(map(text, ROWS))
    counts = Counter({(f.partition[0], f.partition[1]): f.record_count for f in files})
    assert counts == Counter(place_of(row, [("bucket[4]", "id"), ("truncate[2]", "id")]) for row in ROWS)


def test_large_files_of_partitions_do_not_wait_in_memory(
    catalog: InMemoryCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("frazil.tables.writing.parquet.HELD", 1000)
    monkeypatch.setattr("frazil.tables.writing.parquet._SMALL", 2000)
    monkeypatch.setattr("frazil.tables.writing.parquet._UNDER_WAY", 0)
    monkeypatch.setattr("frazil.tables.writing.parquet._WAITING", 5000)
    table = create_table(
        TableHandle(catalog, NAME), [Field("id", kind("long"))], [("truncate[100000]", "id")], {}
    )
    batches = [
        pa.RecordBatch.from_arrays([pa.array(range(n, 300000, 300))], schema=file_layout(table).schema)
        for n in range(30)
    ]

    files = written(table, *batches)

    assert len(files) == 3, "none was ended before its time"
    appended_ids = {row["id"] for row in appended(table, files)}
    assert appended_ids == {n for first in range(30) for n in range(first, 300000, 300)}


def test_a_layout_shows_no_keys(catalog: InMemoryCatalog) -> None:
    assert "FileSystem" not in repr(file_layout(make(catalog)))
