"""`frazil reset` and `drop`: a table starts over, or is gone for good. See docs/reset.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer
from rich.table import Table

from frazil.cli.console import console, print_json, print_table
from frazil.cli.selection import Json, Name, Selection, select
from frazil.clients import Clients
from frazil.connections import Connections
from frazil.derive.tables import KnownTables, load_tables
from frazil.errors import UsageError
from frazil.settings.profile import Settings
from frazil.spec.derived import DerivedSpec
from frazil.spec.names import TableName, legal, things
from frazil.spec.table import AnyTable
from frazil.spec.topic import TableSpec
from frazil.upkeep.removal import RemovalReport, remove
from frazil.upkeep.work import size_text

app = typer.Typer()

DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show what would go.")]
KeepFiles = Annotated[
    bool, typer.Option("--keep-files", help="Do not delete data and metadata files. The catalog still may.")
]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]


@app.command("reset")
def reset_command(
    table: Name, dry_run: DryRun = False, keep_files: KeepFiles = False, yes: Yes = False,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Start a table over: remove it, and all that is made of it or shows it. Its topic stays.

    The next landing begins at the topic's first offset, by the spec as it is then.
    """
    selection: Selection[AnyTable] = select([table], every=False)
    ((spec, _),) = selection.pairs
    derived = load_tables(Settings.load()).derived
    report = _removed(spec, selection.connections.of(spec), derived, keep_files, dry_run, yes)
    print_json(asdict(report)) if as_json else _show(report, "`frazil land` or `frazil derive` starts over.")


@app.command("drop")
def drop_command(
    table: Name, dry_run: DryRun = False, keep_files: KeepFiles = False, yes: Yes = False,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Remove a table that no pipeline names any more, with its dead letters and what shows it."""
    settings = Settings.load()
    name = TableName.parse(table, legal(settings.cluster))
    known = load_tables(settings)
    _refuse_known(name, known, settings)
    shown = ("glue", *(["snowflake"] if settings.snowflake.account else []))
    shown = (*shown, *(["views"] if settings.catalog == "rest" else []))
    spec = TableSpec(topic=name.table, namespace=name.namespace, table=name.table, publish=shown)
    report = _removed(spec, Clients(settings), known.derived, keep_files, dry_run, yes)
    print_json(asdict(report)) if as_json else _show(report, "")


def _refuse_known(name: TableName, known: KnownTables, settings: Settings) -> None:
    """A pipeline that can't be read may name the table, so its mistakes come first."""
    for pipeline in known.pipelines.all():
        if any(things(spec, settings).table == name for spec, _ in pipeline.every_table):
            raise UsageError(
                f"Pipeline {pipeline.name} names table {name}.",
                meaning="It would be recreated. Nothing was removed.",
                todo=f"Remove it from {pipeline.folder}/defs.yaml, or run `frazil reset {name}`.",
            )


def _removed(
    spec: AnyTable, connections: Connections, derived: Sequence[DerivedSpec], keep_files: bool,
    dry_run: bool, yes: bool,
) -> RemovalReport:  # fmt: skip
    if not (dry_run or yes):
        _show(remove(spec, connections, derived, keep_files=keep_files, dry_run=True), "")
        typer.confirm("This can't be undone. Remove all of it?", abort=True, err=True)
    with console.status("looking" if dry_run else "removing"):
        return remove(spec, connections, derived, keep_files=keep_files, dry_run=dry_run)


def _show(report: RemovalReport, following: str) -> None:
    shown = Table("table", "rows", "files", "size", "shown as")
    for each in report.removed:
        rows = "unknown" if each.rows is None else f"{each.rows:,}"
        shown.add_row(each.table, rows, f"{each.files:,}", size_text(each.bytes), ", ".join(each.shown))
    print_table(shown)
    for each in report.removed:
        if each.left:
            console.print(f"{each.table} is not in the catalog. Its files stay in {each.left}.")
    for topic in report.fed:
        console.print(f"Topic {topic} keeps the records that were fed to it; name another one in `feeds`.")
    if not report.removed:
        console.print("There is no such table.")
    elif not report.dry_run:
        console.print(f"Removed. {following}".strip())
