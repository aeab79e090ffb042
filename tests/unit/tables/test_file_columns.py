"""What data files that Frazil writes itself say of a column, and how they hold it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.memory import InMemoryCatalog

from frazil.formats.logical import Field
from frazil.spec.names import TableName
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.creation import create_table
from frazil.tables.writing.data_files import file_layout
from kit.tables.written_files import NAME, kind, written


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[InMemoryCatalog]:
    catalog = InMemoryCatalog("unit", warehouse=tmp_path.as_uri())
    yield catalog
    catalog.close()


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
    table = create_table(TableHandle(catalog, NAME), [Field("text", kind("string"))], [], {})

    (file,) = written(
        table, pa.RecordBatch.from_arrays([pa.array([longest])], schema=file_layout(table).schema)
    )

    assert file.upper_bounds.get(1) == (bound and bound.encode())
    assert bound is None or longest <= bound


def test_a_bound_holds_for_all_row_groups_or_there_is_none(catalog: InMemoryCatalog) -> None:
    """Parquet tells none of a group with a text of more than 4 KB: those of the others hide its rows."""
    properties = {"write.parquet.row-group-size-bytes": "1"}
    table = create_table(
        TableHandle(catalog, NAME), [Field("text", kind("string"), optional=True)], [], properties
    )
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
    properties = {"write.metadata.metrics.column.text": mode}
    table = create_table(TableHandle(catalog, NAME), [Field("text", kind("string"))], [], properties)
    rows = pa.RecordBatch.from_arrays([pa.array(["longest of them all"])], schema=file_layout(table).schema)

    (file,) = written(table, rows)

    assert (file.lower_bounds, file.value_counts, file.null_value_counts) == (
        bounds, counts, dict.fromkeys(counts, 0),
    )  # fmt: skip


def test_a_files_codec_and_page_index_are_as_the_table_says(catalog: InMemoryCatalog) -> None:
    table = create_table(
        TableHandle(catalog, NAME),
        [Field("id", kind("long"))],
        [],
        {"write.parquet.compression-codec": "snappy"},
    )
    rows = pa.RecordBatch.from_arrays([pa.array([1])], schema=file_layout(table).schema)

    (file,) = written(table, rows)

    column = pq.ParquetFile(file.file_path.removeprefix("file://")).metadata.row_group(0).column(0)
    assert column.compression == "SNAPPY"
    assert column.has_column_index


def test_columns_whose_values_hardly_repeat_have_no_dictionary(catalog: InMemoryCatalog) -> None:
    fields = [Field(name, kind("string")) for name in ("own", "shared", "$$off")]
    properties = {"write.parquet.dict-encoding-enabled.column.$$off": "false"}
    table = create_table(TableHandle(catalog, NAME), fields, [], properties)
    columns = [pa.array([str(n // share) for n in range(100)]) for share in (1, 50, 50)]

    (file,) = written(table, pa.RecordBatch.from_arrays(columns, schema=file_layout(table).schema))

    group = pq.ParquetFile(file.file_path.removeprefix("file://")).metadata.row_group(0)
    assert [group.column(n).has_dictionary_page for n in range(3)] == [False, True, False]


def test_a_column_is_written_quickly_only_where_that_takes_no_more_room(
    catalog: InMemoryCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("frazil.tables.writing.parquet._WORTH", 0)
    chance, words = random.Random(1), [f"{n * n:x}{n}" for n in range(2000)]
    digests = [chance.randbytes(40).hex() for _ in range(5000)]
    texts = [" ".join(chance.choices(words, k=20)) for _ in digests]

    def sizes(**settings: str) -> list[int]:
        properties = {f"write.parquet.{name.replace('_', '-')}": value for name, value in settings.items()}
        fields = [Field(name, kind("string")) for name in ("digest", "text")]
        table = create_table(
            TableHandle(catalog, TableName("n", f"t{settings.get('compression_level', '')}")),
            fields,
            [],
            properties,
        )
        rows = pa.RecordBatch.from_arrays(
            [pa.array(digests), pa.array(texts)], schema=file_layout(table).schema
        )
        (file,) = written(table, rows)
        return [file.column_sizes[n] for n in (1, 2)]

    quick, slow = sizes(compression_level="1"), sizes(compression_level="3")

    assert slow[1] < quick[1]
    assert sizes() == [quick[0], slow[1]]
