"""Rows that tasks write to new files: all of them, in the table's columns."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest
from pyiceberg.catalog.memory import InMemoryCatalog
from pyiceberg.table import Table

from frazil.formats.logical import Field, List, Map, Primitive, Struct
from frazil.spec.names import TableName
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.creation import create_table
from frazil.tables.writing.data_files import file_layout
from frazil.tables.writing.insertion import Insertion
from frazil.tables.writing.transfer import files_written

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
    return create_table(TableHandle(catalog, TableName("n", "t")), FIELDS, (), {})


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
    returned = [
        pa.Table.from_batches(work.run(batches)) for batches in ([given(1, 2), given(3)], [given(4)], [])
    ]

    files = files_written(table, pa.concat_tables(returned))

    with table.transaction() as tx, tx.update_snapshot().fast_append() as append:
        for file in files:
            append.append_data_file(file)
    assert [file.record_count for file in files] == [3, 1]
    assert len({file.file_path for file in files}) == 2
    assert sorted(table.scan().to_arrow().to_pylist(), key=lambda r: r["number"]) == [
        row(n) for n in (1, 2, 3, 4)
    ]


@pytest.mark.parametrize("name", ["x", "a b", "$$x", "a.b", "b`c", "9", "ü"])
def test_fields_that_files_call_otherwise_keep_their_values_at_every_depth(tmp_path: Path, name: str) -> None:
    catalog = InMemoryCatalog("unit", warehouse=tmp_path.as_uri())
    inner = Struct((Field(name, LONG, optional=True), Field("other", LONG, optional=True)))
    fields = (
        Field(f"{name} top", LONG, optional=True),
        Field("list", List(inner), optional=True),
        Field("map", Map(STRING, Struct((Field("in", inner, optional=True),))), optional=True),
    )
    table = create_table(TableHandle(catalog, TableName("n", "t")), fields, (), {})
    kind = pa.struct([("other", pa.int64()), (name, pa.int64())])
    within = pa.map_(pa.string(), pa.struct([("in", kind)]))
    rows = pa.RecordBatch.from_arrays(
        [
            pa.array([7]),
            pa.array([[{"other": 1, name: 2}]], pa.list_(kind)),
            pa.array([[("k", {"in": {"other": 3, name: 4}})]], within),
        ],
        ["c0", "c1", "c2"],
    )

    returned = pa.Table.from_batches(Insertion(file_layout(table), version("frazil")).run([rows]))
    appended(table, returned)

    assert table.scan().to_arrow().to_pylist() == [
        {
            f"{name} top": 7,
            "list": [{name: 2, "other": 1}],
            "map": [("k", {"in": {name: 4, "other": 3}})],
        }
    ]


@pytest.mark.parametrize("how", ["identity", "bucket[4]", ""])
def test_a_uuid_is_a_text_to_spark_and_sixteen_bytes_in_files(tmp_path: Path, how: str) -> None:
    catalog, ids = InMemoryCatalog("unit", warehouse=tmp_path.as_uri()), [uuid4(), uuid4(), None]
    fields = (Field("id", Primitive("uuid"), optional=True), Field("n", LONG, optional=True))
    table = create_table(TableHandle(catalog, TableName("n", "t")), fields, ((how, "id"),) if how else (), {})
    texts = pa.array([None if one is None else str(one) for one in ids])
    rows = pa.RecordBatch.from_arrays([texts, pa.array([1, 2, 3])], ["c0", "c1"])

    returned = pa.Table.from_batches(Insertion(file_layout(table), version("frazil")).run([rows]))
    appended(table, returned)

    read_rows = sorted(table.scan().to_arrow().to_pylist(), key=lambda row: row["n"])
    assert [row["id"] for row in read_rows] == ids


def appended(table: Table, returned: pa.Table) -> None:
    with table.transaction() as tx, tx.update_snapshot().fast_append() as append:
        for file in files_written(table, returned):
            append.append_data_file(file)


def test_a_worker_of_another_version_writes_nothing(table: Table) -> None:
    with pytest.raises(ModuleNotFoundError, match="Spark's workers have"):
        list(Insertion(file_layout(table), "0.0.0").run([given(1)]))
