"""`frazil doctor`: whether the systems are there, and give each right that the pipelines need."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from frazil.cli.console import complain, console, print_json, print_table
from frazil.cli.selection import Json, Pipelines, select_pipelines
from frazil.doctor.probe import Finding, Patient
from frazil.doctor.python import look_at_python
from frazil.doctor.run import SECONDS, examine, look_at_others
from frazil.errors import PartDownError

app = typer.Typer()

_COLOURS = {
    "ok": "green",
    "missing": "red",
    "down": "red",
    "unproven": "yellow",
    "slow": "yellow",
    "not needed": "dim",
}

Seconds = Annotated[float, typer.Option(help="How many seconds one system may take.", min=1)]


@app.command()
def doctor(pipeline: Pipelines = None, seconds: Seconds = SECONDS, as_json: Json = False) -> None:
    """Test each right that the pipelines need in each system. Exit code 5 if one is missing."""
    selection = select_pipelines(pipeline or ())
    with console.status("asking all systems"):
        findings = [
            look_at_python(),
            *examine(Patient(selection.specs, selection.connections), seconds=seconds),
            *look_at_others(selection.connections.settings, seconds),
        ]
    print_json(_document(findings)) if as_json else _show(findings)
    for name, error in selection.broken.items():
        complain(error, name)
    if not all(finding.fine for finding in findings):
        raise typer.Exit(PartDownError.exit_code)
    if selection.broken:
        raise typer.Exit(max(error.exit_code for error in selection.broken.values()))


def _document(findings: Sequence[Finding]) -> dict[str, Any]:
    return {"fine": all(f.fine for f in findings), "findings": [asdict(f) for f in findings]}


def _show(findings: Sequence[Finding]) -> None:
    table = Table("system", "asked for", "of", "answer", "seconds", box=None)
    for alike in _alike(findings, lambda f: (f.system, f.right, f.status)):
        first, seconds = alike[0], sum(f.seconds for f in alike)
        answer = Text(first.status, _COLOURS[first.status])
        of = f"{len(alike)} of them" if len(alike) > 1 else first.of
        table.add_row(first.system, first.right, of, answer, f"{seconds:.1f}" if first.right else "")
    print_table(table)
    missing = [finding for finding in findings if finding.what]
    for alike in _alike(missing, lambda f: (f.system, f.right, f.status, f.what)):
        _explain(alike)


def _alike(findings: Iterable[Finding], key: Callable[[Finding], Any]) -> Iterable[list[Finding]]:
    """Findings with the same key together, in the order in which the keys first appear."""
    groups: dict[Any, list[Finding]] = {}
    for finding in findings:
        groups.setdefault(key(finding), []).append(finding)
    return groups.values()


def _explain(alike: Sequence[Finding]) -> None:
    first, of = alike[0], ", ".join(f.of for f in alike if f.of)
    console.print(f"\n{first.system}: {first.right}{': ' if of else ''}{of}", style=_COLOURS[first.status])
    console.print(f"  {first.status}: {first.what}")
    for mend in dict.fromkeys(f.mend for f in alike if f.mend):
        console.print(f"  {'Needs' if first.status == 'unproven' else 'Fix'}: {mend}")
