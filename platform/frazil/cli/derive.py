"""`frazil derive`: brings tables that are made of others up to date."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.table import Table

from frazil.cli.console import console, print_json, print_table
from frazil.cli.results import OnStep, each, run_id
from frazil.cli.selection import AllTables, Json, Selection, Tables, select_derived
from frazil.derive.derive import DeriveReport, derive
from frazil.derive.queries.check import check_queries, in_order
from frazil.pipelines.folder import load_pipelines
from frazil.spec.derived import DerivedSpec
from frazil.spec.names import things

__all__ = ["app"]

app = typer.Typer()

Rebuild = Annotated[
    bool, typer.Option("--rebuild", help="Make all rows anew from the whole inputs, in one commit.")
]
FromHere = Annotated[
    bool,
    typer.Option("--from-here", help="A query that was changed makes the rows that come; the others stay."),
]


@app.command("derive")
def derive_command(
    tables: Tables = None, every: AllTables = False, rebuild: Rebuild = False, from_here: FromHere = False,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Bring tables made of others up to what their inputs hold now, each after those that it reads."""
    if rebuild and from_here:
        raise typer.BadParameter("--rebuild makes all rows anew, --from-here keeps them: give one of both.")
    selection = _ordered(select_derived(tables, every=every))

    def do(spec: DerivedSpec, on_step: OnStep) -> DeriveReport:
        return derive(
            spec, selection.connections, rebuild=rebuild, from_here=from_here, run_id=run_id(),
            on_step=on_step,
        )  # fmt: skip

    results = each(selection, "deriving", do)
    print_json([*map(asdict, results.reports), *results.errors]) if as_json else _show(results.reports)
    results.exit()


def _ordered(selection: Selection[DerivedSpec]) -> Selection[DerivedSpec]:
    """The same, each behind the tables that it reads.

    Raises:
        SpecError: A query of any pipeline is wrong.
    """
    settings = selection.connections.settings
    chosen = {names.table: spec for spec, names in selection.pairs}
    pipelines = load_pipelines(settings=settings)
    check_queries(pipelines, settings)
    order = (things(spec, settings).table for spec in in_order(pipelines, settings))
    return Selection(tuple(chosen[name] for name in order if name in chosen), selection.connections)


def _show(reports: Sequence[DeriveReport]) -> None:
    table = Table(
        "table", "kind", "read", "rows", "replaced", "total", "dead letters", "late", "watermark",
        "conflicts", "seconds",
    )  # fmt: skip
    for r in reports:
        counts = (r.input_rows, r.rows, r.removed, r.total_rows, r.bad, r.late)
        mark = "-" if r.watermark is None else f"{datetime.fromtimestamp(r.watermark / 1e6, UTC):%F %T}"
        table.add_row(
            r.table, r.kind, *(f"{n:,}" for n in counts), mark, str(r.conflicts), f"{r.seconds:.2f}"
        )
    print_table(table)
    for r in reports:
        console.print(r.text)
