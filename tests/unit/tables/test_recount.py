"""Statistics of other engines that are wrong refuse no rewrite; what is lost is seen in spite of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.memory import InMemoryCatalog
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table
from pyiceberg.types import DoubleType

from frazil.errors import AuditFailedError
from frazil.tables.catalogs.pyiceberg import transaction
from frazil.tables.metadata.manifests import HeadReader
from frazil.tables.rewrites.moved import audit_values
from frazil.tables.rewrites.recount import values_read
from frazil.tables.writing.data_files import write_files
from frazil.tables.writing.footers import leaves_of
from frazil.tables.writing.presence import Moves

ITEM = pa.struct([("s", pa.int64()), ("t", pa.string())])
KINDS = {
    "id": pa.int64(),
    "items": pa.list_(ITEM),
    "by": pa.map_(pa.string(), pa.list_(ITEM)),
    "one": pa.struct([("a", ITEM), ("b", pa.float64())]),
}
ROWS: list[dict[str, Any]] = [
    {"id": 1, "items": [{"s": 1, "t": "x"}, None], "by": [("k", None), ("l", [None, {"s": 1, "t": None}])]},
    {"id": None, "items": None, "by": None, "one": {"a": None, "b": 1.0}},
    {"id": 3, "items": [], "by": [], "one": {"a": {"s": None, "t": "y"}, "b": None}},
]
HELD = {"id": 2, "items": 2, "by": 3, "one": 2}


def rows(*of: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist(list(of), pa.schema(list(KINDS.items())))


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Table]:
    catalog = InMemoryCatalog("unit", warehouse=tmp_path.as_uri())
    catalog.create_namespace("n")
    yield catalog.create_table("n.t", rows().schema)
    catalog.close()


def put(table: Table, *files: DataFile) -> None:
    with transaction(table) as tx, tx.update_snapshot().fast_append() as append:
        for file in files:
            append.append_data_file(file)


def audit(table: Table, old: DataFile, *rows_left: dict[str, Any]) -> None:
    head = HeadReader().read(table)
    assert head
    new = write_files(table, rows(*rows_left))
    audit_values("A merge of topic t", table, head.named, [old.file_path], new, Moves())


def test_nulls_of_a_list_are_told_wrongly_by_duckdb(tmp_path: Path) -> None:
    """What all this is for: where DuckDB has learned to count, the remark in the code may go."""
    path = tmp_path / "theirs.parquet"
    duckdb.sql("SELECT [{'s': 1}, NULL] AS items").write_parquet(str(path))

    chunk = pq.read_metadata(path).row_group(0).column(0)

    assert (chunk.num_values, chunk.statistics.null_count) == (2, 2)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("by", [-1, 1])
def test_statistics_that_are_wrong_refuse_nothing_and_hide_nothing(table: Table, name: str, by: int) -> None:
    (old,) = write_files(table, rows(*ROWS))
    leaf = next(leaves_of(table.schema().find_field(name)))
    old.null_value_counts[leaf] += by
    put(table, old)

    audit(table, old, *ROWS)

    with pytest.raises(
        AuditFailedError, match=f"column {name} has [01] values in the new .* {HELD[name]} in"
    ):
        audit(table, old, *({**row, name: None} for row in ROWS))


def test_a_leaf_that_a_file_lacks_or_the_table_has_dropped_is_not_counted(table: Table) -> None:
    (old,) = write_files(table, rows(*ROWS))
    with table.update_schema() as change:
        change.add_column(("one", "later"), DoubleType())
        change.delete_column(("items", "element", "t"))

    read = values_read(table, [old], [*KINDS])

    assert read.values == {**HELD, "items": 1}
    assert read.silent == {"one"}


def test_a_file_that_arrow_does_not_read_tells_nothing(table: Table) -> None:
    (old,) = write_files(table, rows(*ROWS))
    Path(old.file_path.removeprefix("file://")).write_bytes(b"no Parquet")

    assert values_read(table, [old], ["id"]).silent == {"id"}
