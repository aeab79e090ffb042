"""What a fault is, and what must be said of it: the kind of the finding, its place, and the columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random
from typing import Any

from kit.planted.columns import Values
from kit.planted.tables import Case, landed_rows
from kit.planted.topics import Place

Found = tuple[str, int, int, tuple[str, ...]]
"""A finding: its kind, partition, offset, columns."""

Plant = Callable[[Case, Random], list[Found]]
"""Plants a fault, and says what must be found; nothing where the case has no room for it."""

COUNT: Found = ("ledger", -1, -1, ())


def place_of(row: Values) -> Place:
    """The record that a row names."""
    return row["$$partition"], row["$$offset"]


def finding(kind: str, place: Place, *columns: str) -> Found:
    """A finding of one place."""
    return kind, *place, columns


def pick(rows: Iterable[Values], chance: Random, fits: Callable[[Values], Any]) -> Values | None:
    """One of the rows that fit."""
    fitting = [row for row in rows if fits(row)]
    return chance.choice(fitting) if fitting else None


def altered(column: str, change: Callable[[Any, Random], Any], within: str = "") -> Plant:
    """Another value in a column of one row; the change is of what is not null, and gives another value.

    Args:
        within: The field of the column that differs, where it is a struct.
    """

    def plant(case: Case, chance: Random) -> list[Found]:
        row = pick(case.last, chance, lambda row: row.get(column) is not None)
        if row is None:
            return []
        before, row[column] = row[column], change(row[column], chance)
        name = f"{column}.{within}" if within else column
        return [] if repr(row[column]) == repr(before) else [finding("altered", place_of(row), name)]

    return plant


def counts_amiss(case: Case) -> list[Found]:
    """What must be said of snapshots that have other numbers of rows than they claim, or replace."""
    lost = case.shape.compacted and len(case.shown) != len(case.rows)
    counts = case.claimed.items() if case.shape.mode == "append" else ()
    return [COUNT] * lost + [COUNT for n, claimed in counts if claimed != len(landed_rows(case, n))]
