"""`frazil changes`: what became of each row between two snapshots, a line of JSON each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from frazil.cli.console import Row, print_json, print_json_line
from frazil.cli.moment import moment_of
from frazil.cli.selection import Json, Name, select
from frazil.cli.views.query import plain
from frazil.errors import UsageError
from frazil.landing.upsert.key import row_identity
from frazil.spec.names import TableName
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.catalog import catalog_errors
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.changelog import Change, changelog
from frazil.tables.commits.rollback import snapshot_at
from frazil.tables.metadata.snapshots import ancestors

app = typer.Typer()

From = Annotated[
    str, typer.Option("--from", metavar="SNAPSHOT|TIME", help="Changes behind this state: an id, or a time.")
]
To = Annotated[
    str, typer.Option("--to", metavar="SNAPSHOT|TIME", help="Changes up to this one. Default: the newest.")
]


@app.command("changes")
def changes_command(table: Name, since: From, to: To = "", as_json: Json = False) -> None:
    """Print what became of each row between two snapshots, a line of JSON each.

    With --json all of them are one document, which is held in memory first.
    """
    changes = _changes(table, since, to)
    if as_json:
        print_json([*changes])
        return
    for change in changes:
        print_json_line(change)


def _changes(table: str, since: str, to: str) -> Iterator[dict[str, Any]]:
    selection = select([table], every=False)
    ((spec, names),) = selection.pairs
    connections, name = selection.connections.of(spec), names.table
    with catalog_errors(connections.settings):
        loaded = TableHandle(connections.catalog, name).load()
        start = snapshot_at(loaded, moment_of(since))
        end = snapshot_at(loaded, moment_of(to)) if to else next(ancestors(loaded.metadata))
        key = row_identity(spec, loaded) if isinstance(spec, TableSpec) else ()
        log = changelog(connections.spark, loaded, start, end, key)
        if log.parts and not (key or log.by_row_ids):
            raise _without_identity(name)
        for change in log:
            yield _line(change)


def _line(change: Change) -> dict[str, Any]:
    rows = {"before": change.before, "after": change.after}
    halves = {half: Row(plain(row)) for half, row in rows.items() if row is not None}
    row_id = {} if change.row_id is None else {"row_id": change.row_id}
    return {"change": change.kind, "snapshot_id": change.snapshot_id, **row_id, **halves}


def _without_identity(name: TableName) -> UsageError:
    return UsageError(
        f"What changed in {name} can't be told: it is made of other tables, and its rows have no ids.",
        where="its snapshots are of Iceberg's format version 2",
        meaning="Nothing was changed.",
        todo=f"`frazil upgrade-table {name} --to 3` gives them ids; changes after that can be told.",
    )
