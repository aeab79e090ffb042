"""A list or a map that is null is read as null, whatever is in it: by whoever reads a table's files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.memory import InMemoryCatalog

from frazil.exact import rows_of
from frazil.tables.catalogs.pyiceberg import OWN_CODE
from frazil.tables.reading.rows import batches_in

STRUCT = pa.struct([pa.field("a", pa.int64())])
KINDS = {
    "list": pa.list_(STRUCT),
    "map": pa.map_(pa.string(), STRUCT),
    "list of lists": pa.list_(pa.list_(STRUCT)),
    "map of lists": pa.map_(pa.string(), pa.list_(STRUCT)),
    "struct": pa.struct([pa.field("within", pa.list_(STRUCT))]),
    "list of texts": pa.list_(pa.string()),
}
VALUES: dict[str, list[Any]] = {
    "list": [None, [], [{"a": 1}, None]],
    "map": [None, [], [("k", {"a": 1}), ("l", None)]],
    "list of lists": [None, [None, []], [[{"a": 1}], None]],
    "map of lists": [None, [("k", None)], [("k", []), ("l", [{"a": 1}])]],
    "struct": [{"within": None}, None, {"within": [{"a": 1}]}],
    "list of texts": [None, [], ["a", None]],
}


@pytest.mark.parametrize("kind", KINDS)
def test_null_is_no_empty_container(tmp_path: Path, kind: str) -> None:
    catalog = InMemoryCatalog("test", warehouse=tmp_path.as_uri(), **OWN_CODE)
    catalog.create_namespace("n")
    rows = pa.table({"n": [0, 1, 2], "held": pa.array(VALUES[kind], KINDS[kind])})
    table = catalog.create_table("n.t", rows.schema)
    table.append(rows)

    files = [task.file for task in table.scan().plan_files()]
    values = [row["held"] for batch in batches_in(table, table.schema(), files) for row in rows_of(batch)]

    assert values == VALUES[kind]
    assert rows_of(table.scan().to_arrow())[0]["held"] == VALUES[kind][0]
