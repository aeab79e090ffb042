"""`frazil schema diff`: what a schema would do to a table, before it is registered."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from frazil.checks.candidate import Preview, ShownColumn, preview
from frazil.cli.console import console, fail, print_json, print_table
from frazil.cli.selection import Json, Name, select_topics
from frazil.errors import FrazilError
from frazil.formats.protocol import KEY, VALUE
from frazil.spec.topic import SCHEMA_KINDS

app = typer.Typer(name="schema", help="Compare schemas with tables.", no_args_is_help=True)

Candidate = Annotated[
    Path,
    typer.Option(
        exists=True, dir_okay=False, help="The schema's file, which ends with .avsc, .json or .proto."
    ),
]
ForKey = Annotated[bool, typer.Option("--key", help="The schema is that of the keys, not of the values.")]
_COLOURS = {"refused": "red", "applied": "green", "no change": "dim"}


@app.callback()
def _group() -> None:
    """Keeps `diff` a subcommand, though it is the only one."""


@app.command("diff")
def diff_command(table: Name, candidate: Candidate, key: ForKey = False, as_json: Json = False) -> None:
    """Compare a schema with the live table. Exit code 1 if a change is refused."""
    if candidate.suffix not in SCHEMA_KINDS:
        raise typer.BadParameter(f"{candidate}: a schema's name ends with {', '.join(SCHEMA_KINDS)}.")
    selection = select_topics([table], every=False)
    spec, names = next(iter(selection.pairs))
    changes = preview(spec, names, selection.connections.of(spec), candidate, KEY if key else VALUE)
    print_json(_document(changes, candidate)) if as_json else _show(changes)
    if changes.refused:
        fail(_refusal(changes))


def _refusal(changes: Preview) -> FrazilError:
    return FrazilError(
        f"{len(changes.refused)} of {len(changes.verdicts)} changes would suspend table {changes.table}.",
        where="; ".join(f"field {v}" for v in changes.refused),
        meaning="Nothing was changed.",
        todo=" ".join(dict.fromkeys(v.todo for v in changes.refused)),
    )


def _document(changes: Preview, candidate: Path) -> dict[str, Any]:
    return {
        "table": changes.table,
        "candidate": str(candidate),
        "allowed": not changes.refused,
        "verdicts": [v.document() for v in changes.verdicts],
        "columns": [_column(c) for c in changes.columns],
        "readers": [asdict(r) for r in changes.readers],
    }


def _column(column: ShownColumn) -> dict[str, Any]:
    """With its type in each target, by the target's word."""
    document = asdict(column)
    return {**document.pop("shown"), **document}


def _show(changes: Preview) -> None:
    if not changes.exists:
        console.print(f"There is no table {changes.table} yet; it would be made with these columns.")
    elif not changes.verdicts:
        console.print(f"Table {changes.table} fits as it is.")
    else:
        _show_verdicts(changes)
    columns = Table("column", "iceberg", *(changes.columns[0].shown if changes.columns else ()))
    for c in changes.columns:
        shown = (c.name, c.iceberg + (" required" if c.required else ""), *c.shown.values())
        columns.add_row(*shown, style="bold" if c.touched else None)
    print_table(columns)
    for reader in changes.readers:
        console.print(f"{reader.asset} ({reader.relation}) shows {', '.join(reader.columns)}")


def _show_verdicts(changes: Preview) -> None:
    verdicts = Table("field", "change", "outcome", "rule", "what to do")
    for v in changes.verdicts:
        outcome = Text(v.outcome, _COLOURS[v.outcome])
        verdicts.add_row(v.field or "(order)", v.change, outcome, v.rule, v.todo)
    print_table(verdicts)
