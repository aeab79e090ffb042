"""`frazil check`: the checks of tables, from a shell."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from frazil.checks.readers import READERS, reader_of
from frazil.checks.result import CheckResult
from frazil.checks.run import run_checks, run_reader, run_values
from frazil.cli.console import fail, print_json, print_table
from frazil.cli.results import Results
from frazil.cli.selection import AllTables, Json, Tables, select
from frazil.errors import FrazilError

app = typer.Typer()

Deep = Annotated[
    bool, typer.Option("--deep", help="Also read the data: count every offset, derive all rows again.")
]

Values = Annotated[
    int,
    typer.Option(
        "--values",
        min=0,
        metavar="N",
        help="Also read N random records of each partition from Kafka again, decode them by another decoder, "
        "and compare them with their rows, all values.",
    ),
]

Readers = Annotated[
    list[str] | None,
    typer.Option(
        "--reader",
        metavar="ENGINE",
        help=f"Also say whether an engine can read them, by its documents: {', '.join(READERS)}. Repeatable.",
    ),
]


@app.command("check")
def check_command(
    tables: Tables = None, every: AllTables = False, deep: Deep = False, values: Values = 0,
    reader: Readers = None, as_json: Json = False,
) -> None:  # fmt: skip
    """Run the checks of tables. Exit code 1 if one fails, 5 if a server does not answer."""
    readers = [reader_of(name) for name in reader or ()]
    selection = select(tables, every=every)
    results = run_checks(selection.specs, selection.connections, deep=deep, partly=True)
    if values:
        results += [run_values(spec, selection.connections.of(spec), values) for spec in selection.specs]
    asked = [
        run_reader(spec, selection.connections.of(spec), each) for spec in selection.specs for each in readers
    ]
    specs = {str(names.table): spec for spec, names in selection.pairs}
    of_asset = [
        r for r in results if not r.down and r.check != "values"
    ]  # that is no check of the asset graph
    selection.tell_all([(specs[result.table], result) for result in of_asset])
    results += asked
    print_json([_row_of(r) for r in results]) if as_json else _show(results)
    Results[CheckResult](failed={**selection.broken, **{r.table: r.down for r in results if r.down}}).exit()
    if any(r.failed and r.severity == "ERROR" for r in results):
        failed = sum(r.failed for r in results)
        fail(FrazilError(f"{failed} of {len(results)} checks failed.", todo="Read what each one says above."))


def _row_of(result: CheckResult) -> dict[str, Any]:
    row = {name: value for name, value in asdict(result).items() if name != "down"}
    return {**row, "passed": result.passed}


def _show(results: list[CheckResult]) -> None:
    table = Table("table", "check", "result", "what was compared")
    for r in results:
        word = Text(r.severity, "red") if r.failed else Text(r.status, "green" if r.passed else "")
        table.add_row(r.table, r.check, word, r.text)
    print_table(table)
