"""SELECTs over tables, by a DuckDB that can reach nothing but their rows.

PyIceberg reads the rows, file by file while DuckDB asks for them. DuckDB itself has no file system, no
network and no secret; a statement can't change its settings, nor call a function that reads or writes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Timer
from typing import TYPE_CHECKING, Any, Protocol

from frazil.errors import FrazilError, RepairError, UsageError
from frazil.exact import shown
from frazil.extras import require
from frazil.quoting import double_quoted, in_shell

if TYPE_CHECKING:
    import pyarrow as pa
    from duckdb import DuckDBPyConnection
    from pyarrow import RecordBatch, RecordBatchReader
    from pyiceberg.table import Table

_LOCKED: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "python_enable_replacements": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "temp_directory": "",
    "memory_limit": "1GB",
}
_FUNCTIONS = {"generate_series", "range", "unnest"}
"""Table functions that read nothing. `enable_logging`, for one, makes DuckDB abort the process at its end."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a SELECT gave: its columns with DuckDB's types, its first rows, and whether there are more."""

    columns: dict[str, str]
    rows: list[tuple[Any, ...]]
    more: bool


class Readable(Protocol):
    """Rows that DuckDB asks for, as Arrow."""

    @property
    def failure(self) -> Exception | None:
        """Why they can't be read, once they were asked for."""

    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...


class Rows:
    """The rows of a table at one snapshot, as often as they are asked for: each time a new stream."""

    def __init__(self, table: Table, snapshot_id: int | None = None) -> None:
        from pyiceberg.io.pyarrow import schema_to_pyarrow

        self._table, self._scan = table, table.scan(snapshot_id=snapshot_id)
        self._schema = schema_to_pyarrow(self._scan.projection())
        self.failure: Exception | None = None

    def __arrow_c_schema__(self) -> object:
        return self._schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.reader().__arrow_c_stream__(requested_schema)

    def reader(self) -> RecordBatchReader:
        """A stream of all rows; one file after the other, for PyIceberg's own readers fetch all at once."""
        import pyarrow as pa

        return pa.RecordBatchReader.from_batches(self._schema, self._batches()).cast(self._schema)

    def _batches(self) -> Iterator[RecordBatch]:
        from pyiceberg.expressions import AlwaysTrue
        from pyiceberg.io.pyarrow import ArrowScan

        columns = self._scan.projection()
        scan = ArrowScan(self._table.metadata, self._table.io, columns, AlwaysTrue())
        try:
            for task in self._scan.plan_files():
                yield from scan.to_record_batches([task])
        except Exception as e:
            self.failure = e  # DuckDB would tell its text alone
            if "equality deletes" in str(e):  # as PyIceberg 0.12 refuses to plan them
                self.failure = _by_equality(self._table)
            raise


class Sandbox:
    """A DuckDB in memory that knows the tables it was given."""

    def __init__(self, connection: DuckDBPyConnection) -> None:
        self._duck = connection
        self._rows: list[Readable] = []

    def tables_of(self, sql: str) -> list[tuple[str, ...]]:
        """The names, each in its parts, of the tables that one SELECT reads; refuses any other statement."""
        nodes = self._parsed(sql)
        within = {entry["key"] for node in nodes for entry in (node.get("cte_map") or {}).get("map", ())}
        called = {n["function"]["function_name"] for n in nodes if n.get("type") == "TABLE_FUNCTION"}
        if refused := sorted(called - _FUNCTIONS):
            raise UsageError(
                f"A query can't call {', '.join(refused)} here.",
                where=sql,
                todo="Read tables of pipelines.",
            )
        names = {
            tuple(filter(None, (node["catalog_name"], node["schema_name"], node["table_name"])))
            for node in nodes
            if node.get("type") == "BASE_TABLE"
        }
        return sorted(name for name in names if name[0] not in within)

    def _parsed(self, sql: str) -> list[dict[str, Any]]:
        """Every node of DuckDB's own syntax tree."""
        with _duckdb_errors(sql):
            sql.encode()  # a shell's argument may hold what is no text
            row = self._duck.execute("SELECT json_serialize_sql(?)", [sql]).fetchone()
            tree = json.loads(row[0]) if row else {}
            nodes = list(_nodes(tree))
        if tree.get("error") or len(tree.get("statements", ())) != 1:
            why = tree.get("error_message", "")
            raise UsageError("This is not one SELECT.", where=f"{sql}\n{why}", todo="Write one SELECT.")
        return nodes

    def add(self, parts: tuple[str, ...], rows: Readable, query: Callable[[str], str] | None = None) -> None:
        """Shows a table under a name of one or two parts, or what a query makes of it."""
        source = f"_frazil_{len(self._rows)}"
        self._rows.append(rows)
        self._duck.register(source, rows)
        if schema := parts[:-1]:
            self._duck.execute(f"CREATE SCHEMA IF NOT EXISTS {double_quoted(*schema)}")
        asked = query(source) if query else f"SELECT * FROM {source}"
        self._duck.execute(f"CREATE VIEW {double_quoted(*parts)} AS {asked}")

    def parameters_of(self, sql: str) -> list[str]:
        """The names of the values, such as `$year`, that one SELECT asks for; refuses any other statement."""
        nodes = self._parsed(sql)
        return sorted({n["identifier"] for n in nodes if n.get("type") == "VALUE_PARAMETER"})

    def select(self, sql: str, *, rows: int, seconds: float) -> Answer:
        """The first rows of a SELECT over the tables that were added; interrupted when its time is up."""
        types, table = self.table(sql, rows=rows + 1, seconds=seconds)
        values = list(zip(*(shown(column) for column in table.columns), strict=True))
        return Answer(types, values[:rows], len(values) > rows)

    def table(
        self, sql: str, *, rows: int, seconds: float, values: Mapping[str, Any] | None = None
    ) -> tuple[dict[str, str], pa.Table]:
        """The same as Arrow, with DuckDB's types of the columns. `values` are those of `parameters_of`."""
        timer = Timer(seconds, self._duck.interrupt)
        timer.start()
        try:
            with _duckdb_errors(sql, seconds):
                relation = self._duck.sql(sql, params=dict(values) if values else None)
                types = dict(zip(relation.columns, map(str, relation.types), strict=True))
                return types, relation.limit(rows).to_arrow_table()
        except FrazilError:
            for failure in (each.failure for each in self._rows if each.failure):
                raise failure from None
            raise
        finally:
            timer.cancel()


@contextmanager
def sandbox() -> Iterator[Sandbox]:
    """A sandbox that is gone with the context; raises ConfigureError where DuckDB is not installed."""
    require("local", "DuckDB", "duckdb")
    import duckdb

    with duckdb.connect(":memory:", config=_LOCKED) as connection:
        connection.execute("SET TimeZone = 'UTC'; SET lock_configuration = true")
        yield Sandbox(connection)


def _by_equality(table: Table) -> RepairError:
    name = ".".join(table.name())
    return RepairError(
        "Another engine deleted rows of this table by equality, which PyIceberg can't read.",
        where=f"table {name}",
        meaning="Nothing was shown: rows that are deleted would be among them. Spark reads the table right.",
        todo=f"`frazil compact {in_shell(name)} --everything` applies these deletes; then ask again.",
    )


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    if isinstance(tree, dict):
        yield tree
    for part in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from _nodes(part)


@contextmanager
def _duckdb_errors(sql: str, seconds: float = 0.0) -> Iterator[None]:
    """Turns DuckDB's errors into one of ours."""
    import duckdb

    try:
        yield
    except duckdb.InterruptException:
        raise FrazilError(
            f"The query took longer than {seconds:g} s.",
            where=sql,
            meaning="Nothing was changed.",
            todo="Ask for less, or give it more time by --seconds.",
        ) from None
    except (duckdb.Error, MemoryError, RecursionError, UnicodeEncodeError) as e:
        raise UsageError(f"DuckDB can't answer the query: {e}", where=sql, todo="Fix the query.") from None
