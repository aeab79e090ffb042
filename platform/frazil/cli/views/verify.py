"""`frazil verify`: a table beside its topic, judged by a program of its own."""

from __future__ import annotations

import typer
from rich.table import Table
from rich.text import Text

from frazil.checks.result import Subject
from frazil.checks.verification import Verified, verify
from frazil.cli.console import fail, print_json, print_table
from frazil.cli.results import Results
from frazil.cli.selection import AllTables, Json, Tables, select
from frazil.errors import FrazilError
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.catalog import catalog_errors

app = typer.Typer()

_MOST = 20  # findings of a table that are shown; --json has more of them


@app.command("verify")
def verify_command(tables: Tables = None, every: AllTables = False, as_json: Json = False) -> None:
    """Compare every record of topics with every row, by a program that shares no code.

    Exit code 1 if something does not agree.
    """
    selection = select(tables, every=every)
    results = Results[Verified](failed=dict(selection.broken))
    for spec, names in selection.pairs:
        if not isinstance(spec, TableSpec):
            continue
        connections = selection.connections.of(spec)
        try:
            with catalog_errors(connections.settings):
                results.done[str(names.table)] = verify(Subject(spec, names, connections))
        except FrazilError as e:
            results.fail(str(names.table), e, every=every)
    verified = results.reports
    print_json([{"table": v.table, **v.document} for v in verified]) if as_json else _show(verified)
    results.exit()
    if wrong := [v.table for v in verified if not v.is_sound and not v.unverifiable]:
        what = f"{len(wrong)} of {len(verified)} tables do not hold what their topics hold."
        fail(FrazilError(what, where=", ".join(wrong), todo="Read what each one says above."))


def _show(verified: list[Verified]) -> None:
    table = Table("table", "result", "records", "rows", "bad records", "not compared")
    for each in verified:
        document = each.document
        if each.unverifiable:
            table.add_row(each.table, Text("not verified", "yellow"), "", "", "", each.unverifiable)
            continue
        word = Text("agrees", "green") if each.is_sound else Text("differs", "red")
        numbers = [str(document[name]) for name in ("records", "rows", "bad_records")]
        table.add_row(each.table, word, *numbers, ", ".join(document["not_compared"]))
    print_table(table)
    if any(each.document.get("samples") for each in verified):
        print_table(_findings(verified))


def _findings(verified: list[Verified]) -> Table:
    table = Table("table", "finding", "in all", "partition", "offset", "columns, or what it is")
    for each in verified:
        for sample in each.document.get("samples", ())[:_MOST]:
            place = [str(sample[name]) if sample[name] >= 0 else "" for name in ("partition", "offset")]
            what = ", ".join(sample["columns"]) or sample["text"]
            kind = sample["kind"]
            table.add_row(each.table, kind, str(each.document["counts"][kind]), *place, what)
    return table
