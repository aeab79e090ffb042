"""The newest record of each key, as DuckDB finds it in appended records."""

from __future__ import annotations

import duckdb
import pytest

from frazil.errors import SpecError
from frazil.publishing.views.queries import current_sql
from frazil.quoting import double_quoted
from frazil.spec.topic import TableSpec

SPEC = TableSpec(topic="t", on_null_value="keep", current_by=("ID",))
COLUMNS = ("id", "quantity", "note", "$$partition", "$$offset", "$$timestamp")
ROWS = """VALUES
    ('a', 1, 'x', 0, 1, 500), ('a', 2, 'y', 0, 2, 400),
    ('b', 1, 'x', 0, 3, 100), ('b', 2, 'y', 1, 1, 200),
    ('c', 1, 'x', 0, 4, 100), ('c', NULL, NULL, 0, 5, 100),
    ('d', NULL, NULL, 0, 6, 100), ('d', 4, NULL, 0, 7, 100)"""


def current(spec: TableSpec) -> dict[str, int | None]:
    with duckdb.connect() as duck:
        named = ", ".join(map(double_quoted, COLUMNS))
        duck.execute(f"CREATE TABLE t AS SELECT * FROM ({ROWS}) AS t({named})")
        rows = duck.execute(current_sql(spec, "t", COLUMNS, double_quoted)).fetchall()
    return {row[0]: row[1] for row in rows}


def test_the_newest_record_is_found_as_upserts_find_it_and_a_null_value_ends_its_row() -> None:
    assert current(SPEC) == {"a": 2, "b": 2, "d": 4}


def test_where_null_values_are_no_rows_all_keys_stay() -> None:
    assert current(SPEC.model_copy(update={"on_null_value": "skip"}))["c"] is None


def test_a_column_that_is_not_there_is_refused_by_name() -> None:
    with pytest.raises(SpecError, match="no column nobody"):
        current_sql(SPEC.model_copy(update={"current_by": ("nobody",)}), "t", COLUMNS, double_quoted)
