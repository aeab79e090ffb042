"""`frazil undelete`: files of a bucket that keeps versions were deleted by mistake. See docs/disaster.md."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Annotated

import typer

from frazil.cli.console import console, print_json
from frazil.cli.moment import moment_of
from frazil.cli.recovery.rebuild import DryRun, From
from frazil.cli.selection import Json
from frazil.settings.profile import Settings
from frazil.telemetry.logs import configure_logs
from frazil.upkeep.versions.undeletion import Undeleted, undelete

app = typer.Typer()

Since = Annotated[
    str,
    typer.Option("--since", metavar="TIME", help="Deleted since a time such as 2026-11-21T17:00 (UTC)."),
]


@app.command("undelete")
def undelete_command(prefix: From, since: Since, dry_run: DryRun = False, as_json: Json = False) -> None:
    """Bring files back that were deleted by mistake, from the versions that a bucket keeps.

    Deletes no version, and changes no catalog.
    """
    moment = moment_of(since)
    if not isinstance(moment, datetime):
        raise typer.BadParameter(f"--since {since!r} is no time; write one such as 2026-11-21T17:00.")
    settings = Settings.load()
    configure_logs(settings.log, settings)
    with console.status(f"looking below {prefix}"):
        done = undelete(settings, prefix, moment, dry_run=dry_run)
    print_json(asdict(done)) if as_json else _show(done)


def _show(done: Undeleted) -> None:
    for path in done.samples:
        console.print(path)
    more = f", {done.files - len(done.samples):,} more" if done.files > len(done.samples) else ""
    console.print(f"{done.files:,} files {'would come' if done.dry_run else 'came'} back{more}.")
