"""`frazil sample` and `frazil query`: a quick look at tables' rows. See `frazil.cli.views.sandbox`."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table as Grid

from frazil.cli.console import Row, console, print_json, print_table
from frazil.cli.moment import moment_of
from frazil.cli.selection import Json, Name, select, select_topics
from frazil.cli.views.sandbox import Answer, Readable, Rows, Sandbox, sandbox
from frazil.errors import printable
from frazil.publishing.views.queries import CURRENT, current_sql
from frazil.quoting import double_quoted
from frazil.settings.profile import Settings
from frazil.spec.names import TableName, legal, things
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.catalog import catalog_errors
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.commits.rollback import snapshot_at

if TYPE_CHECKING:
    from pyiceberg.table import Table

app = typer.Typer()

AsOf = Annotated[
    str,
    typer.Option(
        metavar="SNAPSHOT|TIME", help="Read tables as they were: a snapshot's id, or 2026-11-21T17:00 (UTC)."
    ),
]
Shown = Annotated[int, typer.Option("--rows", min=1, help="Show this many rows at most.")]
Seconds = Annotated[float, typer.Option(min=0.1, help="Give up after this many seconds.")]


@app.command("sample")
def sample_command(
    table: Name, rows: Shown = 10, as_of: AsOf = "", seconds: Seconds = 60, as_json: Json = False
) -> None:
    """Show some rows of a table."""
    name = TableName.parse(table, legal(Settings.load().cluster))
    _run(f"SELECT * FROM {double_quoted(*name.identifier)}", rows, as_of, seconds, as_json)


@app.command("query")
def query_command(
    sql: Annotated[str, typer.Argument(metavar="SELECT", help="A SELECT over tables, in DuckDB's SQL.")],
    rows: Shown = 100,
    as_of: AsOf = "",
    seconds: Seconds = 60,
    as_json: Json = False,
) -> None:
    """Run a SELECT over tables in DuckDB, which can read their rows and nothing else."""
    _run(sql, rows, as_of, seconds, as_json)


def _run(sql: str, rows: int, as_of: str, seconds: float, as_json: bool) -> None:
    moment = moment_of(as_of) if as_of else None
    settings = Settings.load()
    with sandbox() as duck, catalog_errors(settings):
        add_tables(duck, duck.tables_of(sql), moment, settings)
        with console.status("reading"):
            answer = duck.select(sql, rows=rows, seconds=seconds)
    if as_json:
        records = [Row(zip(answer.columns, map(plain, row), strict=True)) for row in answer.rows]
        print_json({"columns": answer.columns, "rows": records, "more": answer.more})
    else:
        _show(answer)


def add_tables(
    duck: Sandbox,
    written: Sequence[tuple[str, ...]],
    moment: int | datetime | None,
    settings: Settings,
    rows_of: Callable[[Table, int | None], Readable] = Rows,
) -> None:
    """Shows tables of pipelines, their dead letters and newest records, under the names in the query.

    `rows_of` reads the rows of a table at one snapshot.
    """
    called = {parts: TableName.parse(".".join(parts), legal(settings.cluster)) for parts in written}
    if not called:
        return
    views = {name: spec for name in called.values() if (spec := _newest_of(name))}
    owners = {n: things(views[n], settings).table if n in views else n.owner for n in called.values()}
    selection = select(sorted(set(map(str, owners.values()))), every=False)
    catalogs = {names.table: selection.connections.of(spec).catalog for spec, names in selection.pairs}
    for parts, name in called.items():
        owner = owners[name]
        table = TableHandle(catalogs[owner], owner if name in views else name).load()
        snapshot = None if moment is None else snapshot_at(table, moment).snapshot_id
        columns = [field.name for field in table.schema().fields]
        query = partial(_newest, views[name], columns) if name in views else None
        duck.add(parts, rows_of(table, snapshot), query)


def _newest_of(name: TableName) -> TableSpec | None:
    """The table whose `..._current` view has this name; None if no table does, or a table has it itself."""
    base = TableName(name.namespace, name.table.removesuffix(CURRENT))
    if base == name:
        return None
    known = {names.table: spec for spec, names in select_topics(None, every=True).pairs}
    spec = known.get(base)
    return spec if spec and spec.current_by and name not in known else None


def _newest(spec: TableSpec, columns: Sequence[str], source: str) -> str:
    return current_sql(spec, source, columns, double_quoted)


def _show(answer: Answer) -> None:
    table = Grid(*map(printable, answer.columns))
    for row in answer.rows:
        table.add_row(*map(_cell, row))
    print_table(table)
    if answer.more:
        console.print(f"These are the first {len(answer.rows):,} rows; --rows shows more.", style="dim")


def _cell(value: Any) -> str:
    """A value for people: bytes as the text that they may be."""
    if value is None:
        return ""
    if isinstance(value, bytes) and (text := value.decode(errors="replace")).isprintable():
        return text
    return printable(str(plain(value)))


def plain(value: Any) -> Any:
    """A value as JSON can say it: bytes in base64, and what is no number as text."""
    match value:
        case bytes():
            return base64.b64encode(value).decode()
        case float() if not math.isfinite(value):
            return str(value)
        case dict():
            return {name: plain(each) for name, each in value.items()}
        case list() | tuple():
            return [plain(each) for each in value]
        case datetime():
            return value.isoformat()
        case _:
            return value
