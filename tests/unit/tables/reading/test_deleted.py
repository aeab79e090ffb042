"""Rows that delete files take away are not read: by the rules of Iceberg's spec for planning scans."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.catalog.memory import InMemoryCatalog
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.table import Table

from frazil.formats.logical import Field, Primitive
from frazil.spec.names import TableName
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.creation import create_table
from frazil.tables.metadata.manifests import files_matching
from frazil.tables.reading import parts
from frazil.tables.reading.delete_files import are_readable, deletes_by_file
from frazil.tables.reading.deleted import among
from frazil.tables.reading.frame import reader_of
from frazil.tables.reading.parts import planned
from frazil.tables.writing.data_files import write_files
from kit.drawn.examples import examples
from kit.tables.delete_files import delete_by_equality, delete_by_position, live

FIELDS = (
    Field("number", Primitive("long"), optional=True),
    Field("text", Primitive("string"), optional=True),
    Field("side", Primitive("string"), optional=True),
)


def made(folder: Path, *partitions: tuple[str, str]) -> Table:
    catalog = InMemoryCatalog("unit", warehouse=folder.as_uri())
    return create_table(TableHandle(catalog, TableName("n", "t")), FIELDS, partitions, {})


def add(table: Table, *rows: tuple[int | None, str | None, str | None]) -> None:
    kinds = table.schema().as_arrow()
    given_ = [dict(zip(("number", "text", "side"), row, strict=True)) for row in rows]
    files = write_files(table.refresh(), pa.Table.from_pylist(given_, schema=kinds))
    with table.transaction() as tx, tx.update_snapshot().fast_append() as append:
        for file in files:
            append.append_data_file(file)


def left(table: Table, *columns: str) -> list[Any]:
    """What tasks read of all files of the head."""
    entries = files_matching(table.refresh(), AlwaysTrue()).entries
    by_file = deletes_by_file(table, entries)
    assert all(are_readable((file, *deletes)) for file, deletes in by_file)
    reader = reader_of(table, planned(table, by_file), columns or ("number",))
    numbers = pa.RecordBatch.from_pydict({"id": pa.array(range(len(reader.bins)))})
    rows = pa.Table.from_batches(reader.run([numbers]), schema=reader.schema)
    return sorted(rows.column(0).to_pylist(), key=lambda each: (each is None, each))


@pytest.mark.parametrize("size", [2**25, 500])
def test_rows_at_deleted_places_go_in_whatever_part_of_a_file_they_are(
    tmp_path: Path, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "_OF_TASK", size)
    table = made(tmp_path)
    for start in (0, 10):
        add(table, *((n, "t", "s") for n in range(start, start + 10)))
    first, second = (entry.data_file for entry in live(table))

    delete_by_position(table, (first, [0, 9]))
    delete_by_position(table, (first, [1]), (second, [0, 5]))

    assert left(table) == [2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 14, 16, 17, 18, 19]
    assert left(table, "text") == ["t"] * 15


def test_values_delete_older_rows_and_no_newer_ones(tmp_path: Path) -> None:
    table = made(tmp_path)
    add(table, (1, "a", "x"), (2, "b", "x"), (3, None, "x"), (None, "a", "x"))
    delete_by_equality(table, number=1)
    add(table, (1, "a", "x"))
    delete_by_equality(table, text=None)
    delete_by_equality(table, number=2, text="a")
    delete_by_equality(table, number=None, text="a")

    assert left(table) == [1, 2]
    assert left(table, "side") == ["x", "x"]  # the columns that tell them are read, too


def test_deletes_of_a_partition_are_no_others(tmp_path: Path) -> None:
    """A partition of null is one, though its deletes look like those of no partition."""
    table = made(tmp_path, ("identity", "side"))
    add(table, (1, "a", None), (1, "a", "x"), (2, "b", "x"))
    with_null = next(e.data_file for e in live(table) if e.data_file.partition[0] is None)
    delete_by_equality(table, _partition=with_null.partition, number=1)

    assert left(table) == [1, 2]


def test_values_of_columns_that_are_dropped_renamed_or_wider_by_now_still_delete(tmp_path: Path) -> None:
    table = made(tmp_path)
    add(table, (1, "a", "x"), (2, "b", "y"), (3, "c", "z"))
    delete_by_equality(table, text="a")
    delete_by_equality(table, side="y")
    with table.refresh().update_schema() as update:
        update.delete_column("text").rename_column("side", "other")

    assert left(table) == [3]


VALUES = st.one_of(st.none(), st.integers(0, 3))


@examples(100)
@given(st.lists(st.tuples(VALUES, VALUES), min_size=1), st.lists(st.tuples(VALUES, VALUES), min_size=1))
def test_rows_are_among_others_whose_values_are_all_the_same(
    own: list[tuple[Any, Any]], theirs: list[tuple[Any, Any]]
) -> None:
    def columns(rows: list[tuple[Any, Any]]) -> list[pa.Array]:
        return [pa.array([row[n] for row in rows], kind) for n, kind in ((0, pa.int64()), (1, pa.int32()))]

    assert among(columns(own), columns(theirs)).tolist() == [row in theirs for row in own]
