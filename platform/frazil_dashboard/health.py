"""How the tables stand, and what became of one table: from metadata only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from frazil.cli.selection import Selection, select
from frazil.cli.views.tables import State, states_of
from frazil.derive.positions.state import DerivedState
from frazil.errors import FrazilError
from frazil.landing.position.state import BLOCKED
from frazil.quoting import double_quoted
from frazil.spec.names import TableName
from frazil.spec.table import AnyTable
from frazil.tables.catalogs.catalog import catalog_errors
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.metadata.rows import rows_added
from frazil.tables.metadata.snapshots import made_at, summary_of

NEWEST = 200
"""Snapshots of a table that are shown."""

_BEGIN = 80
"""Bytes of a dead letter's value that are shown."""


@dataclass(frozen=True, slots=True)
class Health:
    """All tables at one moment.

    Args:
        rows: One of each table, as people read it.
        derived: The names of those that are made of other tables.
        broken: Why others can't be told, by name.
    """

    rows: tuple[dict[str, Any], ...]
    derived: frozenset[str]
    broken: dict[str, str]

    def count(self, *states: str) -> int:
        """How many tables are in one of some states."""
        return sum(row["state"] in states for row in self.rows)

    def sum_of(self, column: str) -> int:
        """The sum of a column, as far as it is known."""
        return sum(row[column] or 0 for row in self.rows)

    @property
    def blocked(self) -> int:
        """How many tables wait for a person."""
        return self.count(*BLOCKED)


def read_health(selection: Selection[AnyTable] | None = None) -> Health:
    """How all tables stand; what a server keeps silent about is among the broken."""
    results = states_of(selection or select((), every=True))
    broken = {name: _why(error) for name, error in results.failed.items()}
    derived = frozenset(s.identifier for s in results.reports if isinstance(s, DerivedState))
    return Health(tuple(map(_row, results.reports)), derived, broken)


def _row(state: State) -> dict[str, Any]:
    derived = isinstance(state, DerivedState)
    return {
        "table": state.identifier,
        "state": state.state,
        "lag": None if state.state == "unknown" else state.lag,
        "freshness (s)": None if state.freshness is None else round(state.freshness),
        "rows": state.rows,
        "files": state.files,
        "MB": round(state.bytes / 1e6, 1),
        "dead letters": state.dead_letters,
        "made of": ", ".join(i.table for i in state.inputs) if derived else state.topic,  # type: ignore[union-attr]
        "why": state.reason,
    }


def _why(error: FrazilError) -> str:
    return " ".join(filter(None, (error.what, error.where, error.todo)))


def read_history(name: str) -> Sequence[dict[str, Any]]:
    """The newest snapshots of a table, oldest first: when, by what work, how many rows came and are there.

    Raises:
        FrazilError: The table is not there, or can't be read.
    """
    selection = select([name], every=False)
    spec, names = next(iter(selection.pairs))
    with catalog_errors(selection.connections.settings):
        catalog = selection.connections.of(spec).catalog
        return tuple(_history(TableHandle(catalog, names.table)))


def _history(handle: TableHandle) -> Iterator[dict[str, Any]]:
    table = handle.load()
    for snapshot in table.metadata.snapshots[-NEWEST:]:
        summary = summary_of(snapshot)
        yield {
            "time": datetime.fromtimestamp(made_at(snapshot), UTC),
            "rows added": rows_added(table, snapshot),
            "rows": int(summary.get("total-records", 0)),
            "files": int(summary.get("total-data-files", 0)),
            "snapshot": str(snapshot.snapshot_id),
        }


def dead_letters_sql(name: str, *, derived: bool) -> str:
    """The SELECT that counts a table's dead letters by their reason; a derivation gives these no code."""
    letters = _letters_of(name)
    code = "reason" if derived else "reason_code"
    return (
        f"SELECT {code}, count(*) AS records, any_value(reason) AS example FROM {letters} "
        f"GROUP BY {code} ORDER BY records DESC"
    )


def samples_sql(name: str, *, derived: bool) -> str:
    """The SELECT of a table's newest dead letters: which records, why, and how they begin."""
    letters = _letters_of(name)
    if derived:
        return f"SELECT found_at, reason, row FROM {letters} ORDER BY ALL DESC"
    return (
        'SELECT "timestamp" AS time, "partition", "offset", reason_code, reason, '
        f"CAST(raw_value[1:{_BEGIN}] AS VARCHAR) AS begins, octet_length(raw_value) AS bytes "
        f'FROM {letters} ORDER BY time DESC NULLS LAST, "partition", "offset" DESC'
    )


def _letters_of(name: str) -> str:
    return double_quoted(*TableName.parse(name, "").dead_letters.identifier)
