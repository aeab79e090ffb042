"""`frazil redrive`, `replay`, `accept`, `rollback`: the way on from bad records, and back to what was."""

from __future__ import annotations

import sys
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from frazil.checks.run import run_check
from frazil.cli.console import console, print_json, print_table
from frazil.cli.moment import moment_of
from frazil.cli.results import person, run_id
from frazil.cli.selection import Json, Name, Selection, select, select_topics
from frazil.cli.work.land import span_of
from frazil.derive.derive import DeriveReport
from frazil.derive.positions.inputs import readers_of
from frazil.derive.publish import DerivedRollback, roll_back_derived
from frazil.landing.repairs.acceptance import accept
from frazil.landing.repairs.redrive import RedriveReport, redrive
from frazil.landing.repairs.repair import find_repair
from frazil.landing.repairs.rollback import RollbackReport, roll_back
from frazil.landing.replay.run import ReplayReport, replay
from frazil.landing.report import LandingReport
from frazil.spec.derived import DerivedSpec
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.handle import TableHandle

app = typer.Typer()

Where = Annotated[
    str, typer.Option(metavar="FILTER", help="Only these dead letters: \"reason_code = 'schema_id'\".")
]
With = Annotated[
    str,
    typer.Option(
        "--with",
        metavar="MODULE:FUNCTION",
        help="A function that repairs each one: DeadLetter -> bytes | DeadLetter | None.",
    ),
]
SnapshotId = Annotated[int, typer.Option(help="The snapshot of that commit. `frazil check` names it.")]
Because = Annotated[str, typer.Option(help="The reason. The table keeps it for good.")]
Spans = Annotated[
    list[str],
    typer.Option(metavar="PARTITION:FROM-TO", help="Offsets to read again; TO excluded. May be repeated."),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what is there of these offsets.")]
To = Annotated[
    str,
    typer.Option(
        "--to", metavar="SNAPSHOT|TIME", help="A snapshot's id, or a time such as 2026-11-21T17:00 (UTC)."
    ),
]
AcceptLoss = Annotated[
    bool,
    typer.Option(
        "--accept-loss", help="Go back even if the topic no longer holds the records that came later."
    ),
]


@app.command("redrive")
def redrive_command(table: Name, where: Where = "", repair: With = "", as_json: Json = False) -> None:
    """Land the dead letters of a table that can be decoded now, each one once."""
    selection = select_topics([table], every=False)
    ((spec, names),) = selection.pairs
    sys.path.insert(0, str(Path.cwd()))  # as `python -m` does: the user's module lies there
    function = find_repair(repair) if repair else None
    with console.status(f"redriving {names.table}"):
        report = redrive(spec, selection.connections.of(spec), where=where, repair=function, run_id=run_id())
    if report.redriven:
        selection.tell(spec, report.as_landing())
    print_json(asdict(report)) if as_json else _show(report)


@app.command("replay")
def replay_command(table: Name, spans: Spans, dry_run: DryRun = False, as_json: Json = False) -> None:
    """Read offsets that a table holds from Kafka once more, and replace what is there of them.

    Rows and dead letters of these offsets are replaced in one commit; the table's position stays.
    """
    selection = select_topics([table], every=False)
    ((spec, names),) = selection.pairs
    connections = selection.connections.of(spec)
    asked = dict(map(span_of, spans))
    if len(asked) < len(spans):
        raise typer.BadParameter("--spans names a partition twice: give one span of each.")
    with console.status(f"replaying {names.table}"):
        report = replay(spec, connections, asked, dry_run=dry_run, run_id=run_id())
    if report.snapshot_id:
        selection.tell(spec, report.as_landing())
    made = readers_of(TableHandle(connections.catalog, names.table).load())
    if as_json:
        print_json({**asdict(report), "made_of_it": made})
        return
    _show_replay(report)
    for reader in made if report.replaced else ():
        console.print(f"{reader} holds what was made of the old rows: `frazil derive {reader} --rebuild`.")


@app.command("accept")
def accept_command(table: Name, snapshot: SnapshotId, because: Because, as_json: Json = False) -> None:
    """Accept that another engine deleted rows, so that the checks no longer miss them."""
    selection = select_topics([table], every=False)
    ((spec, names),) = selection.pairs
    connections = selection.connections.of(spec)
    report = accept(spec, connections, snapshot, because, by=person(), run_id=run_id())
    selection.tell(spec, run_check("row_count", spec, connections))  # it blocks what shows the table
    readers = readers_of(TableHandle(connections.catalog, names.table).load())
    if as_json:
        print_json({**asdict(report), "made_of_it": readers})
        return
    console.print(f"{report.table}: {report.rows:,} rows that snapshot {snapshot} deleted are counted in.")
    for reader in readers:
        console.print(f"{reader} may hold what was made of them: `frazil derive {reader} --rebuild`.")


@app.command("rollback")
def rollback_command(table: Name, to: To, accept_loss: AcceptLoss = False, as_json: Json = False) -> None:
    """Roll a table back to an earlier snapshot and its position in the topic."""
    selection, moment = select([table], every=False), moment_of(to)
    report: RollbackReport | DerivedRollback
    if selection.derived.specs:
        report = _roll_back_derived(selection.derived, moment)
    else:
        report = _roll_back_landed(selection.topics, moment, accept_loss)
    if as_json:
        print_json(asdict(report))
        return
    console.print(report.text)
    if report.done:
        console.print(f"Rows: {report.rows_before:,} before, {report.rows:,} now.")


def _show_replay(report: ReplayReport) -> None:
    table = Table("table", "offsets", "replaced", "rows", "dead letters", "redriven", "left out", "seconds")
    numbers = (
        report.offsets, report.replaced, report.replayed, report.dead_letters, report.redriven,
        report.left_out,
    )  # fmt: skip
    table.add_row(report.table, *(f"{n:,}" for n in numbers), f"{report.seconds:.2f}")
    print_table(table)
    if report.dry_run:
        console.print(f"Nothing was changed. {report.files[0]} files hold rows of these offsets.")


def _show(report: RedriveReport) -> None:
    table = Table(
        "table", "chosen", "redriven", "already in", "left out", "expired", "still bad", "waiting", "seconds"
    )
    bad = sum(report.still_bad.values())
    numbers = (
        report.chosen, report.redriven, report.already_in, report.left_out, report.past, bad, report.waiting
    )  # fmt: skip
    table.add_row(report.table, *(f"{n:,}" for n in numbers), f"{report.seconds:.2f}")
    print_table(table)
    for reason in report.reasons:
        console.print(reason)


def _roll_back_landed(
    selection: Selection[TableSpec], to: int | datetime, accept_loss: bool
) -> RollbackReport:
    (spec,) = selection.specs
    report = roll_back(spec, selection.connections.of(spec), to, accept_loss=accept_loss)
    if report.done:
        selection.tell(spec, LandingReport(report.table, spec.topic, report.snapshot_id))
    return report


def _roll_back_derived(selection: Selection[DerivedSpec], to: int | datetime) -> DerivedRollback:
    (spec,) = selection.specs
    report = roll_back_derived(spec, selection.connections.of(spec), to)
    if report.done:
        derive_report = DeriveReport(
            report.table, spec.kind, report.snapshot_id, done=True, total_rows=report.rows,
            inputs=dict(report.inputs), text=report.text,
        )  # fmt: skip
        selection.tell(spec, derive_report)
    return report
