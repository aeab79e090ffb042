"""Rows that tasks move into new files: those of some keys stay behind."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal as Number
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.memory import InMemoryCatalog
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table

from frazil.formats.logical import Decimal, Field, Primitive
from frazil.spec.names import TableName
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.creation import create_table
from frazil.tables.reading.rows import batches_in
from frazil.tables.writing.data_files import file_layout, write_files
from frazil.tables.writing.transfer import Bins, FileBin, OldFile, files_written

FIELDS = (
    Field("number", Primitive("long")),
    Field("text", Primitive("string")),
    Field("money", Decimal(20, 2)),
    Field("day", Primitive("date")),
    Field("moment", Primitive("timestamptz")),
    Field("raw", Primitive("binary")),
)
HALF = 300


@pytest.fixture
def table(tmp_path: Path) -> Table:
    catalog = InMemoryCatalog("unit", warehouse=tmp_path.as_uri())
    return create_table(TableHandle(catalog, TableName("n", "t")), FIELDS, [("bucket[2]", "number")], {})


def row(number: int) -> dict[str, Any]:
    moment = datetime.fromtimestamp(number, UTC)
    whole = {"number": number, "text": f"t{number}", "money": Number(number) / 100, "moment": moment}
    return {**whole, "day": date.fromordinal(number + 1), "raw": f"r{number}".encode()}


def files_of(table: Table, rows: Sequence[dict[str, Any]]) -> list[DataFile]:
    return list(write_files(table, pa.Table.from_pylist(list(rows), schema=table.schema().as_arrow())))


def old(files: Sequence[DataFile]) -> tuple[OldFile, ...]:
    return tuple(OldFile(f.file_path, f.file_size_in_bytes) for f in files)


def moved(table: Table, bins: Sequence[FileBin], gone: pa.Table) -> tuple[pa.Table, list[dict[str, Any]]]:
    """What is told of each bin, and the rows of the new files."""
    work = Bins(file_layout(table), tuple(bins), "new", version("frazil"), gone)
    numbers = pa.RecordBatch.from_pydict({"id": pa.array(range(len(bins)), pa.int64())})
    returned = pa.Table.from_batches(work.run([numbers]))
    batches = batches_in(table, table.schema(), files_written(table, returned))
    return returned, sorted((r for b in batches for r in b.to_pylist()), key=lambda each: each["number"])


def no_keys(table: Table, *names: str) -> pa.Table:
    schema = file_layout(table).schema
    return pa.table({name: pa.array([], schema.field(name).type) for name in names})


@pytest.mark.parametrize("name", [own.name for own in FIELDS])
def test_rows_of_the_keys_that_new_files_hold_give_way_to_those(table: Table, name: str) -> None:
    before, new = files_of(table, [row(n) for n in range(HALF)]), files_of(table, [row(7), row(8), row(HALF)])
    bins = [FileBin(old(before), added=old(new), keys_in=old(new))]

    counts, rows = moved(table, bins, no_keys(table, name))

    assert (counts["rows"].to_pylist(), counts["gone"].to_pylist()) == ([HALF], [2])
    assert rows == [row(n) for n in range(HALF + 1)]
    assert len(counts["files"][0]) == 2  # one of each bucket


def test_a_key_of_several_columns_is_met_where_all_are_of_one_row(table: Table) -> None:
    crossed = {**row(1), "text": "t2"}
    before = files_of(table, [row(1), row(2), row(3), crossed])
    gone = pa.concat_tables([no_keys(table, "number", "text"), _keys((1, "t1"), (2, "t2"), (9, "t3"))])

    counts, rows = moved(table, [FileBin(old(before))], gone)

    assert counts["gone"].to_pylist() == [2]
    assert rows == [crossed, row(3)]


def test_a_file_of_which_nothing_is_left_has_none_in_its_place(table: Table) -> None:
    keys = files_of(table, [row(1), row(2)])
    bins = [FileBin(old(files_of(table, [row(1), row(2)])), keys_in=old(keys))]

    counts, rows = moved(table, bins, no_keys(table, "number"))

    assert (counts["gone"].to_pylist(), counts["files"].to_pylist(), rows) == ([2], [[]], [])


def _keys(*keys: tuple[int, str]) -> pa.Table:
    numbers, texts = zip(*keys, strict=True)
    return pa.table({"number": pa.array(numbers, pa.int64()), "text": pa.array(texts, pa.string())})
