"""What the tables answer: SELECTs over the rows of one moment, by the sandbox of `frazil query`.

Rows of small tables are read once and kept, so that a reader's next choice needs DuckDB only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from threading import Lock
from typing import TYPE_CHECKING, Any

from frazil.cli.views.query import add_tables
from frazil.cli.views.sandbox import Readable, Rows, sandbox
from frazil.settings.profile import Settings
from frazil.tables.catalogs.catalog import catalog_errors
from frazil.tables.metadata.snapshots import made_at, summary_of

if TYPE_CHECKING:
    import pyarrow as pa
    from pyiceberg.table import Table

_SMALL = 64 * 2**20
"""Bytes of files of a table whose rows are kept."""

_SECONDS = 30.0
"""For which one SELECT may run."""


class Answers:
    """The rows of some tables at one moment. Safe for threads: one SELECT runs at a time.

    Args:
        queries: Every SELECT that will be asked.
        moment: A snapshot's id or a time; None: now.

    Raises:
        FrazilError: A table is not there, or can't be read.
    """

    def __init__(self, settings: Settings, queries: Sequence[str], moment: int | datetime | None) -> None:
        self._settings, self._lock = settings, Lock()
        self._open = sandbox()  # is closed with the last reference to this object
        self._duck = self._open.__enter__()
        self.newest: datetime | None = None
        tables = {name for sql in queries for name in self._duck.tables_of(sql)}
        self._asked = {sql: self._duck.parameters_of(sql) for sql in queries}
        with catalog_errors(settings):
            add_tables(self._duck, sorted(tables), moment, settings, self._rows_of)

    def table(self, sql: str, values: Mapping[str, Any], rows: int) -> pa.Table:
        """The first rows that a SELECT gives.

        Args:
            sql: One of the queries.
            values: What it calls `$name`, by name; others are left out.
        """
        with self._lock, catalog_errors(self._settings):
            own = {name: values[name] for name in self._asked[sql]}
            return self._duck.table(sql, rows=rows, seconds=_SECONDS, values=own)[1]

    def _rows_of(self, table: Table, snapshot_id: int | None) -> Readable:
        head = table.snapshot_by_id(snapshot_id) if snapshot_id else table.current_snapshot()
        if head is None:
            return Rows(table, snapshot_id)
        made = datetime.fromtimestamp(made_at(head), UTC)
        self.newest = max(made, self.newest or made)
        size = summary_of(head).get("total-files-size")
        rows = Rows(table, head.snapshot_id)
        return KeptRows(rows) if size is not None and int(size) <= _SMALL else rows


class KeptRows:
    """The rows of a table, read when they are first asked for."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._kept: pa.Table | None = None

    @property
    def failure(self) -> Exception | None:
        """See `Readable`."""
        return self._rows.failure

    def __arrow_c_schema__(self) -> object:
        return self._rows.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        if self._kept is None:
            self._kept = self._rows.reader().read_all()
        return self._kept.__arrow_c_stream__(requested_schema)
