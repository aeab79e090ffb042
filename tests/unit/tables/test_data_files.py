"""Data files that Frazil writes itself, as PyIceberg and a table's properties want them."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.memory import InMemoryCatalog
from pyiceberg.conversions import from_bytes
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table

from frazil.formats.logical import Decimal as Number
from frazil.formats.logical import Field, List, Map, Primitive, Struct, Type
from frazil.spec.names import TableName
from frazil.tables.data_files import data_file, file_layout, takes_files
from frazil.tables.fitting import fitted
from frazil.tables.layout import create_table
from frazil.tables.parquet import DataFileWriter

NAME = TableName("n", "t")
MOMENT = dt.datetime(2026, 11, 23, 1, 2, 3, 456789, dt.UTC)


def kind(word: Any) -> Primitive:
    return Primitive(word)


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


def make(catalog: InMemoryCatalog, *transforms: tuple[str, str], **said: str) -> Table:
    fields = [Field(name, kind, optional=True) for name, (kind, _) in FIELDS.items()]
    properties = {name.replace("__", ".").replace("_", "-"): value for name, value in said.items()}
    return create_table(catalog, NAME, fields, transforms, properties)


def batch(table: Table, rows: list[dict[str, Any]]) -> pa.RecordBatch:
    schema = file_layout(table).schema
    columns = [
        fitted(pa.array([row[name] for row in rows], own.type), own.type)
        for name, own in zip(FIELDS, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def written(table: Table, *batches: pa.RecordBatch) -> list[DataFile]:
    writer = DataFileWriter(file_layout(table), "name")
    for each in batches:
        writer.write(each)
    return [data_file(table, file) for file in writer.close()]


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


@pytest.mark.parametrize(
    ("longest", "bound"),
    [
        ("ü" * 17, "ü" * 15 + "ý"),
        ("a" * 15 + "\ud7ff" + "a", "a" * 15 + "\ue000"),
        ("a" * 15 + "\U0010ffff" * 2, "a" * 14 + "b"),
        ("\U0010ffff" * 17, None),
        ("ü" * 16, "ü" * 16),
    ],
)
def test_a_long_text_is_bound_by_a_short_one_that_is_greater(
    catalog: InMemoryCatalog, longest: str, bound: str | None
) -> None:
    table = create_table(catalog, NAME, [Field("text", kind("string"))], [], {})

    (file,) = written(
        table, pa.RecordBatch.from_arrays([pa.array([longest])], schema=file_layout(table).schema)
    )

    assert file.upper_bounds.get(1) == (bound and bound.encode())
    assert bound is None or longest <= bound


@pytest.mark.parametrize(
    "transforms",
    [
        [("identity", "$$topic")],
        [("bucket[4]", "id"), ("day", "at")],
        [("truncate[2]", "$$topic"), ("year", "day")],
        [("month", "day")],
        [("hour", "at")],
        [("identity", "day"), ("identity", "price"), ("truncate[10]", "price")][:2],
        [("bucket[3]", "raw"), ("identity", "at")],
        [("identity", "place.x")],
    ],
    ids=str,
)
def test_files_of_partitions_hold_what_pyiceberg_would_put_there(
    catalog: InMemoryCatalog, transforms: list[tuple[str, str]]
) -> None:
    table = make(catalog, *transforms)
    files = written(table, batch(table, ROWS[:3]), batch(table, ROWS[3:]))

    assert list(map(text, appended(table, files))) == list(map(text, ROWS))
    from frazil.tables.pyiceberg import write_files

    theirs = write_files(table, pa.Table.from_batches([batch(table, ROWS)]).rename_columns(list(FIELDS)))
    assert {(str(f.partition), f.record_count) for f in files} == {
        (str(f.partition), f.record_count) for f in theirs
    }
    folders = {f.file_path.rpartition("/")[0] for f in files}
    assert folders == {f.file_path.rpartition("/")[0] for f in theirs}


def test_rows_that_alternate_between_many_partitions_make_one_file_each(
    catalog: InMemoryCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("frazil.tables.parquet.HELD", 1000)
    table = create_table(catalog, NAME, [Field("id", kind("long"))], [("truncate[10]", "id")], {})
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
    monkeypatch.setattr("frazil.tables.parquet.HELD", 1000)
    monkeypatch.setattr("frazil.tables.parquet._WAITING", 5000)
    table = create_table(catalog, NAME, [Field("id", kind("long"))], [("truncate[10]", "id")], {})
    batches = [
        pa.RecordBatch.from_arrays([pa.array(range(n % 10, 400, 10))], schema=file_layout(table).schema)
        for n in range(30)
    ]

    files = written(table, *batches)

    assert sum(file.record_count for file in files) == 1200
    assert len(files) > 40


def test_a_full_file_is_followed_by_another(catalog: InMemoryCatalog) -> None:
    said = {"write.target-file-size-bytes": "1000", "write.parquet.row-group-size-bytes": "100"}
    table = create_table(catalog, NAME, [Field("id", kind("long"))], [], said)
    rows = pa.RecordBatch.from_arrays([pa.array(range(1000))], schema=file_layout(table).schema)

    files = written(table, rows, rows, rows)

    assert [file.record_count for file in files] == [1000, 1000, 1000]
    assert len({file.file_path for file in files}) == 3


def test_a_files_codec_and_page_index_are_as_the_table_says(catalog: InMemoryCatalog) -> None:
    table = create_table(
        catalog, NAME, [Field("id", kind("long"))], [], {"write.parquet.compression-codec": "snappy"}
    )
    rows = pa.RecordBatch.from_arrays([pa.array([1])], schema=file_layout(table).schema)

    (file,) = written(table, rows)

    column = pq.ParquetFile(file.file_path.removeprefix("file://")).metadata.row_group(0).column(0)
    assert column.compression == "SNAPPY"
    assert column.has_column_index


def test_columns_whose_values_hardly_repeat_have_no_dictionary(catalog: InMemoryCatalog) -> None:
    fields = [Field(name, kind("string")) for name in ("own", "shared", "$$off")]
    said = {"write.parquet.dict-encoding-enabled.column.$$off": "false"}
    table = create_table(catalog, NAME, fields, [], said)
    columns = [pa.array([str(n // share) for n in range(100)]) for share in (1, 50, 50)]

    (file,) = written(table, pa.RecordBatch.from_arrays(columns, schema=file_layout(table).schema))

    group = pq.ParquetFile(file.file_path.removeprefix("file://")).metadata.row_group(0)
    assert [group.column(n).has_dictionary_page for n in range(3)] == [False, True, False]


def test_a_column_is_written_quickly_only_where_that_takes_no_more_room(
    catalog: InMemoryCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("frazil.tables.parquet._WORTH", 0)
    chance, words = random.Random(1), [f"{n * n:x}{n}" for n in range(2000)]
    digests = [chance.randbytes(40).hex() for _ in range(5000)]
    texts = [" ".join(chance.choices(words, k=20)) for _ in digests]

    def sizes(**said: str) -> list[int]:
        properties = {f"write.parquet.{name.replace('_', '-')}": value for name, value in said.items()}
        fields = [Field(name, kind("string")) for name in ("digest", "text")]
        table = create_table(
            catalog, TableName("n", f"t{said.get('compression_level', '')}"), fields, [], properties
        )
        rows = pa.RecordBatch.from_arrays(
            [pa.array(digests), pa.array(texts)], schema=file_layout(table).schema
        )
        (file,) = written(table, rows)
        return [file.column_sizes[n] for n in (1, 2)]

    quick, slow = sizes(compression_level="1"), sizes(compression_level="3")

    assert slow[1] < quick[1]
    assert sizes() == [quick[0], slow[1]]


@pytest.mark.parametrize(
    "said",
    [
        {"write.format.default": "orc"},
        {"write.parquet.bloom-filter-enabled.column.id": "true"},
        {"encryption.key-id": "k"},
    ],
    ids=str,
)
def test_what_only_sparks_writer_honours_stays_with_spark(
    catalog: InMemoryCatalog, said: dict[str, str]
) -> None:
    table = create_table(catalog, NAME, [Field("id", kind("long"))], [], said)

    assert not takes_files(table)


@pytest.mark.parametrize(
    ("told", "value", "takes"),
    [
        ("s3.sse.type", "kms", False),
        ("s3.sse.type", "none", True),
        ("s3.write.tags.team", "blue", False),
        ("s3.acl", "bucket-owner-full-control", False),
        ("s3.remote-signing-enabled", "true", False),
        ("s3.remote-signing-enabled", "false", True),
    ],
)
def test_what_a_catalog_asks_of_the_store_and_pyarrow_can_not_give_stays_with_spark(
    catalog: InMemoryCatalog, told: str, value: str, takes: bool
) -> None:
    table = make(catalog)
    table.io.properties[told] = value

    assert takes_files(table) is takes


def test_a_layout_shows_no_keys(catalog: InMemoryCatalog) -> None:
    assert "FileSystem" not in repr(file_layout(make(catalog)))


def test_a_bound_holds_for_all_row_groups_or_there_is_none(catalog: InMemoryCatalog) -> None:
    """Parquet tells none of a group with a text of more than 4 KB: those of the others hide its rows."""
    said = {"write.parquet.row-group-size-bytes": "1"}
    table = create_table(catalog, NAME, [Field("text", kind("string"), optional=True)], [], said)
    schema = file_layout(table).schema
    groups = (["b"], ["z" * 5000], [None], ["a"])

    (file,) = written(
        table, *(pa.RecordBatch.from_arrays([pa.array(g, pa.string())], schema=schema) for g in groups)
    )

    assert (file.lower_bounds, file.upper_bounds) == ({}, {})
    assert (file.value_counts, file.null_value_counts) == ({1: 4}, {1: 1})
    (short,) = written(
        table, *(pa.RecordBatch.from_arrays([pa.array(g, pa.string())], schema=schema) for g in groups[2:])
    )
    assert (short.lower_bounds, short.upper_bounds) == ({1: b"a"}, {1: b"a"})


@pytest.mark.parametrize(
    ("mode", "bounds", "counts"),
    [
        ("none", {}, {}),
        ("counts", {}, {1: 1}),
        ("truncate(3)", {1: b"lon"}, {1: 1}),
        ("full", {1: b"longest of them all"}, {1: 1}),
        ("often", {1: b"longest of them "}, {1: 1}),
    ],
)
def test_what_is_told_of_a_column_is_as_its_table_says(
    catalog: InMemoryCatalog, mode: str, bounds: dict[int, bytes], counts: dict[int, int]
) -> None:
    said = {"write.metadata.metrics.column.text": mode}
    table = create_table(catalog, NAME, [Field("text", kind("string"))], [], said)
    rows = pa.RecordBatch.from_arrays([pa.array(["longest of them all"])], schema=file_layout(table).schema)

    (file,) = written(table, rows)

    assert (file.lower_bounds, file.value_counts, file.null_value_counts) == (
        bounds, counts, dict.fromkeys(counts, 0),
    )  # fmt: skip
