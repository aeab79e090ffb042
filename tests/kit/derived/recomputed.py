"""DuckDB's answer to a query over the rows of an input, all of them at once."""

from __future__ import annotations

from typing import Any

import duckdb

from kit.derived.made import Source

__all__ = ["recomputed"]


def recomputed(source: Source, sql: str) -> list[tuple[Any, ...]]:
    """What DuckDB makes of the table `input`, in the order of `Made.rows`."""
    with duckdb.connect() as duck:
        duck.execute("SET TimeZone = 'UTC'")
        duck.register("input", source.table.scan().to_arrow())
        rows = duck.execute(sql).to_arrow_table().to_pylist()
    return sorted((tuple(row.values()) for row in rows), key=repr)
