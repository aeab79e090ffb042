"""Rows that tasks write to new files: all of them, in the table's columns."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.memory import InMemoryCatalog
from pyiceberg.table import Table

from frazil.formats.logical import Field, List, Map, Primitive, Struct
from frazil.spec.names import TableName
from frazil.tables.data_files import file_layout
from frazil.tables.insertion import Insertion, takes_rows
from frazil.tables.layout import create_table
from frazil.tables.transfer import files_written

LONG, STRING = Primitive("long"), Primitive("string")
FIELDS = (
    Field("number", LONG, optional=True),
    Field(
        "place", Struct((Field("x", LONG, optional=True), Field("y", STRING, optional=True))), optional=True
    ),
    Field("tags", List(STRING, element_optional=True), optional=True),
    Field("counts", Map(STRING, LONG, value_optional=True), optional=True),
)


@pytest.fixture
def table(tmp_path: Path) -> Table:
    catalog = InMemoryCatalog("unit", warehouse=tmp_path.as_uri())
    return create_table(catalog, TableName("n", "t"), FIELDS, (), {})


def given(*numbers: int) -> pa.RecordBatch:
    """Rows as Spark gives them: by place, fields in another order, and whole numbers that are narrower."""
    tags = pa.array(
        [["a", None] if n % 2 else None for n in numbers], pa.list_(pa.field("item", pa.string()))
    )
    places = pa.array(
        [{"y": f"y{n}", "x": n} for n in numbers], pa.struct([("y", pa.string()), ("x", pa.int32())])
    )
    counts = pa.array([[(f"k{n}", n)] for n in numbers], pa.map_(pa.string(), pa.int32()))
    return pa.RecordBatch.from_arrays([pa.array(numbers, pa.int32()), places, tags, counts], list("abcd"))


def row(number: int) -> dict[str, Any]:
    return {
        "number": number,
        "place": {"x": number, "y": f"y{number}"},
        "tags": ["a", None] if number % 2 else None,
        "counts": [(f"k{number}", number)],
    }


def test_each_task_writes_its_rows_to_files_that_then_are_the_tables(table: Table) -> None:
    work = Insertion(file_layout(table), version("frazil"))
    told = [pa.Table.from_batches(work.run(batches)) for batches in ([given(1, 2), given(3)], [given(4)], [])]

    files = files_written(table, pa.concat_tables(told))

    with table.transaction() as tx, tx.update_snapshot().fast_append() as append:
        for file in files:
            append.append_data_file(file)
    assert [file.record_count for file in files] == [3, 1]
    assert len({file.file_path for file in files}) == 2
    assert sorted(table.scan().to_arrow().to_pylist(), key=lambda r: r["number"]) == [
        row(n) for n in (1, 2, 3, 4)
    ]


@pytest.mark.parametrize(("name", "takes"), [("x", True), ("a b", False), ("$$x", False)])
def test_fields_that_files_call_otherwise_are_left_to_spark(tmp_path: Path, name: str, takes: bool) -> None:
    catalog = InMemoryCatalog("unit", warehouse=tmp_path.as_uri())
    inner = Struct((Field(name, LONG, optional=True),))
    fields = (Field("$$top", LONG, optional=True), Field("list", List(inner), optional=True))
    assert takes_rows(create_table(catalog, TableName("n", "t"), fields, (), {})) == takes


def test_a_worker_of_another_version_writes_nothing(table: Table) -> None:
    with pytest.raises(ModuleNotFoundError, match="Spark's workers have"):
        list(Insertion(file_layout(table), "0.0.0").run([given(1)]))
