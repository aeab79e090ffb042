"""`frazil compact`, `expire` and `orphans`: the upkeep that the sensor asks for, done from a shell."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.table import Table

from frazil.cli.console import console, print_json, print_table
from frazil.cli.results import Results
from frazil.cli.selection import AllTables, Json, Selection, Tables, select
from frazil.errors import explain
from frazil.spec.table import AnyTable
from frazil.upkeep.kind import Kind, Order, Work
from frazil.upkeep.kinds import KINDS
from frazil.upkeep.run import work_on
from frazil.upkeep.work import WorkReport

__all__ = ["app"]

app = typer.Typer()

DryRun = Annotated[bool, typer.Option("--dry-run", help="Tell only what would be done; nothing is touched.")]
Everything = Annotated[
    bool, typer.Option("--everything", help="Rewrite files that are large enough, too: as the spec says now.")
]
Rows = Annotated[
    bool, typer.Option("--rows", help="Delete rows older than keep_rows_for instead of snapshots.")
]


@app.command("compact")
def compact_command(
    tables: Tables = None,
    every: AllTables = False,
    everything: Everything = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Rewrite small data files of tables to the target size, sorted where the spec says so."""
    selection = select(tables, every=every)
    _keep_up(KINDS["compaction"], selection, Order(dry_run=dry_run, everything=everything), as_json)


@app.command("expire")
def expire_command(
    tables: Tables = None,
    every: AllTables = False,
    rows: Rows = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Expire snapshots that are too old, with the files that only they reach; or rows."""
    selection = select(tables, every=every)
    _keep_up(KINDS["row_expiry" if rows else "expiry"], selection, Order(dry_run=dry_run), as_json)


@app.command("orphans")
def orphans_command(
    tables: Tables = None, every: AllTables = False, dry_run: DryRun = False, as_json: Json = False
) -> None:
    """Delete files below tables' locations that no snapshot names."""
    _keep_up(KINDS["orphans"], select(tables, every=every), Order(dry_run=dry_run), as_json)


def _keep_up(kind: Kind, selection: Selection[AnyTable], order: Order, as_json: bool) -> None:
    results = Results[WorkReport]()
    works = [Work(kind, spec, str(n.table), "asked for on the command line") for spec, n in selection.pairs]
    with console.status(f"{kind.title} of {len(works)} tables"):
        for outcome in work_on(works, selection.connections, time.time(), order):
            work = outcome.work
            if outcome.report:
                results.done[work.table] = outcome.report
            if outcome.error:
                results.failed[work.table] = explain(outcome.error)
            if outcome.report and not order.dry_run:
                selection.tell(work.spec, outcome.report)
            if outcome.shown:
                selection.tell(work.spec, outcome.shown)
    print_json([*map(asdict, results.reports), *results.errors]) if as_json else _show(results.reports)
    results.exit()


def _show(reports: Iterable[WorkReport]) -> None:
    table = Table("table", "work", "done", "what", "conflicts", "seconds")
    for r in reports:
        done: Any = {True: "would be", False: "nothing"} if r.dry_run else {True: "yes", False: "nothing"}
        table.add_row(r.table, r.kind, done[r.done], r.text, str(r.conflicts), f"{r.seconds:.2f}")
    print_table(table)
