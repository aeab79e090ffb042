"""`frazil rollback`: an earlier state of a table becomes its present one."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated

import typer

from frazil.cli.console import console, print_json
from frazil.cli.selection import Json, Selection, select
from frazil.derive.report import DeriveReport
from frazil.derive.rollback import DerivedRollback, roll_back_derived
from frazil.landing.report import LandingReport
from frazil.landing.rollback import RollbackReport, roll_back
from frazil.spec.derived import DerivedSpec
from frazil.spec.topic import TableSpec

__all__ = ["register"]

Name = Annotated[str, typer.Argument(metavar="TABLE", help="namespace.table, or the table alone.")]
To = Annotated[
    str,
    typer.Option(
        "--to", metavar="SNAPSHOT|TIME", help="A snapshot's id, or a time such as 2026-11-21T17:00 (UTC)."
    ),
]
AcceptLoss = Annotated[
    bool, typer.Option("--accept-loss", help="Even if the topic no longer holds what came later.")
]


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("rollback")(rollback_command)


def rollback_command(table: Name, to: To, accept_loss: AcceptLoss = False, as_json: Json = False) -> None:
    """Put a table back to an earlier snapshot; what fills it continues from the position of that one."""
    selection, moment = select([table], every=False), _meant(to)
    report: RollbackReport | DerivedRollback
    if selection.derived.specs:
        report = _roll_back_derived(selection.derived, moment)
    else:
        report = _roll_back_landed(selection.topics, moment, accept_loss)
    print_json(asdict(report)) if as_json else _show(report)


def _roll_back_landed(
    selection: Selection[TableSpec], to: int | datetime, accept_loss: bool
) -> RollbackReport:
    ((spec, names),) = selection.pairs
    report = roll_back(spec, selection.connections, to, accept_loss=accept_loss)
    if report.done:
        for reporter in selection.reporters:
            reporter.landed(spec, names, LandingReport(report.table, spec.topic, report.snapshot_id))
    return report


def _roll_back_derived(selection: Selection[DerivedSpec], to: int | datetime) -> DerivedRollback:
    ((spec, names),) = selection.pairs
    report = roll_back_derived(spec, selection.connections, to)
    if report.done:
        told = DeriveReport(
            report.table, spec.kind, report.snapshot_id, done=True, total_rows=report.rows,
            inputs=dict(report.inputs), text=report.text,
        )  # fmt: skip
        for reporter in selection.reporters:
            reporter.derived(spec, names, told)
    return report


def _meant(text: str) -> int | datetime:
    """Digits are a snapshot's id, all else is a time; one without an offset is UTC."""
    if text.isdecimal():
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is neither a snapshot's id nor a time such as 2026-11-21T17:00."
        ) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _show(report: RollbackReport | DerivedRollback) -> None:
    console.print(report.text)
    if report.done:
        console.print(f"Rows: {report.rows_before:,} before, {report.rows:,} now.")
