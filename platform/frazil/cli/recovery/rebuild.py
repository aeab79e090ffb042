"""`frazil rebuild-catalog`: the catalog is lost, and the bucket is there. See docs/disaster.md."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer
from rich.table import Table

from frazil.cli.console import console, print_json, print_table
from frazil.cli.moment import moment_of
from frazil.cli.results import Results
from frazil.cli.selection import Json
from frazil.clients import Clients
from frazil.settings.profile import Settings
from frazil.spec.names import TableName, legal
from frazil.telemetry.logs import configure_logs
from frazil.upkeep.recovery.moves import Moves
from frazil.upkeep.recovery.rebuild import Order, rebuild_catalog
from frazil.upkeep.recovery.report import RebuildReport

app = typer.Typer()

From = Annotated[
    str,
    typer.Option("--from", metavar="S3://BUCKET/PREFIX", help="Where the tables lie: a bucket, or a folder."),
]
Only = Annotated[
    list[str] | None,
    typer.Option("--table", metavar="T", help="Only this table, and its dead letters. May be repeated."),
]
AsOf = Annotated[
    str,
    typer.Option(
        "--as-of", metavar="TIME", help="The newest state up to a time such as 2026-11-21T17:00 (UTC)."
    ),
]
Moved = Annotated[
    list[str] | None,
    typer.Option(
        "--moved",
        metavar="OLD=NEW",
        help="The files were copied: s3://old/prefix=s3://new/prefix. Writes metadata that names them there. "
        "May be repeated.",
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only look, and say what would come back.")]


@app.command("rebuild-catalog")
def rebuild_catalog_command(
    prefix: From, tables: Only = None, as_of: AsOf = "", moved: Moved = None, dry_run: DryRun = False,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Bring tables back into a catalog that lost them, from what lies in the bucket.

    A table that the catalog has is left alone. Exit code 1 if one can't be brought back.
    """
    settings = Settings.load()
    configure_logs(settings.log, settings)
    names = [TableName.parse(each, legal(settings.cluster)) for each in tables or ()]
    order = Order(prefix, frozenset(names), _moment(as_of), dry_run, Moves.parse(moved or ()))
    with console.status(f"looking below {prefix}"):
        report = rebuild_catalog(Clients(settings), order)
    print_json(_document(report)) if as_json else _show(report)
    failed = {each.table: each.error for each in report.tables if each.error}
    Results({each.table: each for each in report.tables if not each.error}, failed).exit()


def _moment(text: str) -> datetime | None:
    if not text:
        return None
    moment = moment_of(text)
    if isinstance(moment, datetime):
        return moment
    raise typer.BadParameter(f"--as-of {text!r} is no time; write one such as 2026-11-21T17:00.")


def _document(report: RebuildReport) -> dict[str, object]:
    return {**vars(report), "tables": [each.document for each in report.tables]}


def _show(report: RebuildReport) -> None:
    table = Table("table", "result", "state of", "rows", "tags", "holds")
    for each in report.tables:
        committed = f"{each.committed:%F %T} UTC" if each.committed else ""
        rows = f"{each.rows:,}" if each.committed else ""
        table.add_row(each.table, _WORDS[each.outcome], committed, rows, ", ".join(each.refs), each.holds)
    print_table(table)
    for each in report.tables:
        for doubt in each.unproven:
            console.print(f"{each.table}: {doubt}.")
    counts = ", ".join(f"{count:,} {_WORDS[outcome]}" for outcome, count in report.counts.items())
    console.print(f"{counts}, in {report.seconds:.1f} s.")
    if report.counts.get("rebuilt"):
        console.print("`frazil land --all` goes on where they end, and updates what shows them.")


_WORDS = {
    "rebuilt": "rebuilt",
    "found": "would be rebuilt",
    "there": "left alone, the catalog has it",
    "failed": "not rebuilt",
}
"""For people, by outcome."""
