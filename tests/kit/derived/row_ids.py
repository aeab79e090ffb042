"""The ids of the rows of derived tables of version 3, as DuckDB reads them, and what may become of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from frazil.tables.metadata.snapshots import ancestors
from kit.derived.made import Made
from kit.readers.duck import duckdb_on

__all__ = ["Identified", "ids_kept", "ids_of", "kept"]


@dataclass(frozen=True)
class Identified:
    """A row with its id, and the sequence number of its last change."""

    row_id: int
    number: int
    values: tuple[Any, ...]


Ids = dict[tuple[Any, ...], Identified]
"""The rows of a table by their keys."""


def ids_of(made: Made, key: int) -> Ids:
    """The rows by the first columns, which tell them apart; no id is there twice."""
    with duckdb_on(made.connections.settings) as duck:
        columns = "_row_id, _last_updated_sequence_number, *"
        scan = f"SELECT {columns} FROM iceberg_scan('{made.table.metadata_location}')"
        rows = [Identified(one, two, tuple(values)) for one, two, *values in duck.execute(scan).fetchall()]
    assert len({row.row_id for row in rows}) == len(rows)
    by_key = {row.values[:key]: row for row in rows}
    assert len(by_key) == len(rows)
    return by_key


def kept(before: Ids, after: Ids) -> bool:
    """Whether keys that stay keep their ids, and those that came have new ones; numbers tell what changed."""
    number = max((row.number for row in before.values()), default=0)
    newest = max((row.row_id for row in before.values()), default=-1)
    for key, row in after.items():
        was = before.get(key)
        if was is None:
            assert row.row_id > newest, key
            assert row.number > number, key
            continue
        assert row.row_id == was.row_id, key
        assert row.number > number or row == was, key
    return True


@contextmanager
def ids_kept(made: Made, key: int) -> Iterator[None]:
    """What happens within keeps the ids, unless it first took the table back to an older snapshot."""
    is_there = made.connections.catalog.table_exists(made.name.identifier)
    before, head = (ids_of(made, key), made.table.metadata.current_snapshot_id) if is_there else ({}, None)
    yield
    if head is None or head in {s.snapshot_id for s in ancestors(made.table.metadata)}:
        assert kept(before, ids_of(made, key))
