"""`frazil upgrade-table`: a table gets Iceberg's format version 3. See docs/format-v3.md."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from frazil.cli.console import console, print_json
from frazil.cli.selection import Json, Name, select
from frazil.landing.schema.upgrade import UpgradeReport, upgrade

app = typer.Typer()

To = Annotated[int, typer.Option("--to", min=3, max=3, help="The format version; only 3.")]
ReadBy = Annotated[
    list[str] | None,
    typer.Option(
        metavar="TARGET", help="All who read there read version 3: glue or snowflake. May be repeated."
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only tell what would be done.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]


@app.command("upgrade-table")
def upgrade_command(
    table: Name, to: To, read_by: ReadBy = None, dry_run: DryRun = False, yes: Yes = False,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Upgrade a table to Iceberg's format version 3, with an id for each row.

    One commit; no data file is rewritten. No table goes back to version 2.
    """
    selection = select([table], every=False)
    ((spec, _),) = selection.pairs
    connections, readers = selection.connections.of(spec), read_by or ()
    report = upgrade(spec, connections, readers, dry_run=True)
    if not dry_run and report.before < to:
        if not yes:
            _show(report)
            typer.confirm("This can't be undone. Upgrade it?", abort=True, err=True)
        report = upgrade(spec, connections, readers)
    print_json(asdict(report)) if as_json else _show(report)


def _show(report: UpgradeReport) -> None:
    if report.before == report.after:
        console.print(f"{report.table} has format version {report.before}: nothing to do.")
        return
    words, shown = "would go" if report.dry_run else "went", ", ".join(report.shown) or "no target"
    console.print(
        f"{report.table} {words} from format version {report.before} to {report.after}: {report.rows:,} rows "
        f"get an id, and no data file is rewritten. Shown in: {shown}. Older engines can't read version 3."
    )
