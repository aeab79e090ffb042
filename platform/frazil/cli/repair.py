"""`frazil redrive` and `frazil resume`: what to do about records that could not be decoded."""

from __future__ import annotations

import re
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from frazil.cli.console import console, print_json, print_table
from frazil.cli.land import landed, show_landings
from frazil.cli.results import run_id
from frazil.cli.selection import Json, Selection, select_topics
from frazil.landing.redrive import RedriveReport, redrive
from frazil.landing.repair import find_repair
from frazil.landing.report import LandingReport
from frazil.landing.resume import resume
from frazil.spec.names import Things
from frazil.spec.topic import TableSpec
from frazil.tables.keys import Key

__all__ = ["register"]

Name = Annotated[str, typer.Argument(metavar="TABLE", help="namespace.table, or the table alone.")]
Where = Annotated[
    str, typer.Option(metavar="FILTER", help="Which dead letters: \"reason_code = 'schema_id'\".")
]
With = Annotated[
    str,
    typer.Option(
        "--with", metavar="MODULE:FUNCTION", help="Mends each one: DeadLetter -> bytes | DeadLetter | None."
    ),
]
Past = Annotated[
    list[str] | None,
    typer.Option(metavar="PARTITION:OFFSET", help="Leave this bad record out, once. May be repeated."),
]


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command("redrive")(redrive_command)
    app.command("resume")(resume_command)


def redrive_command(table: Name, where: Where = "", repair: With = "", as_json: Json = False) -> None:
    """Land the dead letters of a table that decode by now, or after a repair; each one once."""
    selection = select_topics([table], every=False)
    spec, names = _only(selection)
    sys.path.insert(0, str(Path.cwd()))  # as `python -m` does: the user's module lies there
    function = find_repair(repair) if repair else None
    with console.status(f"redriving {names.table}"):
        report = redrive(spec, selection.connections, where=where, repair=function, run_id=run_id())
    if report.redriven:
        _tell(selection, spec, names, report.as_landing())
    print_json(asdict(report)) if as_json else _show(report)


def resume_command(table: Name, past: Past = None, as_json: Json = False) -> None:
    """Lift a table's suspension and land what waits."""
    selection = select_topics([table], every=False)
    spec, names = _only(selection)
    keys = [_key(text) for text in past or ()]
    with console.status(f"landing {names.table}"):
        report = resume(spec, selection.connections, past=keys, run_id=run_id())
    _tell(selection, spec, names, report)
    print_json([landed(report)]) if as_json else show_landings([report])


def _only(selection: Selection[TableSpec]) -> tuple[TableSpec, Things]:
    (pair,) = selection.pairs
    return pair


def _key(text: str) -> Key:
    found = re.fullmatch(r"(\d+):(\d+)", text)
    if not found:
        raise typer.BadParameter(f"{text!r}: write PARTITION:OFFSET, such as 0:1234.")
    return int(found[1]), int(found[2])


def _tell(selection: Selection[TableSpec], spec: TableSpec, names: Things, report: LandingReport) -> None:
    for reporter in selection.reporters:
        reporter.landed(spec, names, report)


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
