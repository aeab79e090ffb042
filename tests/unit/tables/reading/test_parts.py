"""Parts of data files as tasks read them, beside what PyIceberg reads of the same table."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.memory import InMemoryCatalog
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.name_mapping import create_mapping_from_schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import (
    DateType,
    FixedType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    UUIDType,
)

from frazil.tables.reading import parts
from frazil.tables.reading.frame import reader_of
from frazil.tables.reading.parts import planned

INNER = StructType(NestedField(11, "a.b", IntegerType()), NestedField(12, "gone", StringType()))
SCHEMA = Schema(
    NestedField(1, "day", DateType()),
    NestedField(2, "odd.name", StringType()),
    NestedField(3, "inner", INNER),
    NestedField(4, "list", ListType(41, INNER.model_copy(), False)),
    NestedField(5, "map", MapType(51, StringType(), 52, IntegerType(), False)),
    NestedField(6, "id", UUIDType()),
    NestedField(7, "four", FixedType(4)),
    NestedField(8, "dropped", LongType()),
)


@pytest.fixture
def table(tmp_path: Path) -> Table:
    catalog = InMemoryCatalog("unit", warehouse=tmp_path.as_uri())
    catalog.create_namespace("n")
    spec = PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "day"))
    return catalog.create_table("n.t", SCHEMA, partition_spec=spec)


def row(number: int) -> dict[str, Any]:
    inner = {"a.b": number, "gone": "g"} if number % 2 else None
    return {
        "odd.name": f"text {number}",
        "inner": inner,
        "list": [inner, {"a.b": None, "gone": None}] if number % 3 else None,
        "map": [("one", number)],
        "id": bytes([number] * 16) if number % 2 else None,
        "four": bytes([number] * 4),
        "dropped": number,
    }


def add(
    table: Table, number: int, day: int | None, schema: pa.Schema, rows: Sequence[dict[str, Any]]
) -> None:
    """A file of another engine, which leaves out the column of its partition, and all statistics."""
    path = f"{table.location()}/data/{number}.parquet"
    with table.io.new_output(path).create() as stream:
        pq.write_table(pa.Table.from_pylist(list(rows), schema=schema), stream, row_group_size=2)
    file = DataFile.from_args(
        content=DataFileContent.DATA, file_path=path, file_format=FileFormat.PARQUET, partition=Record(day),
        record_count=len(rows), file_size_in_bytes=len(table.io.new_input(path)),
    )  # fmt: skip
    file.spec_id = table.spec().spec_id
    with table.transaction() as tx, tx.update_snapshot().fast_append() as append:
        append.append_data_file(file)
    table.refresh()


def columns(table: Table, *, ids: bool = True) -> pa.Schema:
    """All but that of the partition."""
    own = Schema(*(f for f in table.schema().fields if f.name != "day"))
    return schema_to_pyarrow(own, include_field_ids=ids)


def files_of(table: Table) -> list[DataFile]:
    return [task.file for task in table.scan().plan_files()]


def read(table: Table, *columns: str) -> list[dict[str, Any]]:
    """What tasks read, by the table's names."""
    planned_files = planned(table, ((file, ()) for file in files_of(table)))
    reader = reader_of(table, planned_files, columns or None, with_path=True)
    numbers = pa.RecordBatch.from_pydict({"id": pa.array(range(len(reader.bins)))})
    rows = pa.Table.from_batches(reader.run([numbers]), schema=reader.schema)
    titles = [f.name for f in table.schema().fields if not columns or f.name in columns]
    assert set(rows.column(rows.num_columns - 1).to_pylist()) == {f.file_path for f in files_of(table)}
    return in_order(rows.rename_columns([*titles, "_file"]).drop_columns(["_file"]))


def in_order(rows: pa.Table) -> list[dict[str, Any]]:
    return sorted(rows.to_pylist(), key=repr)


def as_spark_has_it(value: Any) -> Any:
    """PyIceberg's rows, with UUIDs as texts."""
    match value:
        case dict():
            return {key: as_spark_has_it(each) for key, each in value.items()}
        case list() | tuple():
            return type(value)(map(as_spark_has_it, value))
        case UUID():
            return str(value)
        case _:
            return value


def by_pyiceberg(table: Table) -> list[dict[str, Any]]:
    return sorted(map(as_spark_has_it, table.scan().to_arrow().to_pylist()), key=repr)


def change(table: Table) -> None:
    """Columns are renamed, dropped, added under the same name and widened, at every depth."""
    with table.update_schema() as update:
        update.rename_column("odd.name", "other.name").delete_column("dropped")
        update.update_column(("inner", "a.b"), LongType()).delete_column(("inner", "gone"))
        update.rename_column(("list", "element", "a.b"), "moved")
    with table.update_schema() as update:
        update.add_column("dropped", StringType()).add_column(("inner", "gone"), IntegerType())
        update.add_column("new", StructType(NestedField(0, "deep", StringType())))


@pytest.fixture(params=["in one", "in parts"])
def sizes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what a task reads."""
    if request.param == "in parts":
        monkeypatch.setattr(parts, "_OF_TASK", 300)
        monkeypatch.setattr(parts, "_OPENING", 0)


@pytest.mark.usefixtures("sizes")
def test_columns_are_those_of_their_ids(table: Table) -> None:
    add(table, 1, 5, columns(table), list(map(row, range(7))))
    add(table, 2, None, columns(table), [row(7)])
    change(table)

    assert read(table) == by_pyiceberg(table)
    assert read(table, "day", "new") == [
        {"day": None, "new": None}, *[{"day": date(1970, 1, 6), "new": None}] * 7
    ]  # fmt: skip


def test_a_file_without_ids_has_columns_by_the_names_that_the_table_maps(table: Table) -> None:
    mapping = create_mapping_from_schema(table.schema())
    with table.transaction() as tx:
        tx.set_properties({"schema.name-mapping.default": mapping.model_dump_json()})
    add(table, 1, 5, columns(table, ids=False), list(map(row, range(3))))

    assert read(table) == by_pyiceberg(table)


def test_a_file_without_ids_is_refused_where_nothing_tells_them(table: Table) -> None:
    add(table, 1, 5, columns(table, ids=False), [row(1)])

    with pytest.raises(ValueError, match=r"schema\.name-mapping\.default"):
        read(table)
