"""`frazil derive`: brings tables that are made of others up to date."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.table import Table

from frazil.cli.console import console, print_json, print_table
from frazil.cli.land import fail
from frazil.cli.selection import AllTables, Json, Selection, Tables, select_derived
from frazil.derive.derive import derive
from frazil.derive.queries.check import check_queries
from frazil.derive.queries.known import in_order
from frazil.derive.report import DeriveReport
from frazil.errors import FrazilError
from frazil.pipelines.folder import load_pipelines
from frazil.spec.derived import DerivedSpec
from frazil.spec.names import things

__all__ = ["derive_tables", "register"]

Rebuild = Annotated[
    bool, typer.Option("--rebuild", help="Make all rows anew from the whole inputs, in one commit.")
]


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("derive")(derive_command)


def derive_command(
    tables: Tables = None, every: AllTables = False, rebuild: Rebuild = False, as_json: Json = False
) -> None:
    """Bring tables made of others up to what their inputs hold now, each after those that it reads."""
    selection = select_derived(tables, every=every)
    reports, failed = derive_tables(selection, rebuild=rebuild)
    print_json([asdict(r) for r in reports]) if as_json else _show(reports)
    fail(failed)


def derive_tables(
    selection: Selection[DerivedSpec], *, rebuild: bool = False
) -> tuple[list[DeriveReport], list[FrazilError]]:
    """Derives each table; one that fails does not keep the others from it."""
    reports, failed = [], []
    for spec, names in _ordered(selection).pairs:
        try:
            with console.status(f"deriving {names.table}") as status:
                report = derive(
                    spec,
                    selection.connections,
                    rebuild=rebuild,
                    run_id=f"cli-{time.time_ns()}",
                    on_step=lambda step, t=names.table, s=status: s.update(f"{t}: {step}"),  # type: ignore[misc]
                )
        except FrazilError as e:
            failed.append(e)
            continue
        reports.append(report)
        for reporter in selection.reporters:
            reporter.derived(spec, names, report)
    return reports, failed


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
        console.print(r.text, markup=False)
