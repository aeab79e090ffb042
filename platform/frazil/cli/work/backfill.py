"""`frazil backfill`: a long topic, with progress."""

from __future__ import annotations

import signal
import time
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Annotated

import typer

from frazil.cli.console import console, print_json_line
from frazil.cli.reports import show_landings
from frazil.cli.results import run_id, telling_checks
from frazil.cli.selection import Name, Selection, select_topics
from frazil.cli.work.land import provide_subjects, sync_each
from frazil.cli.work.run import JsonLines, stopped_by_signals
from frazil.continuous.backfill import Filled, backfill
from frazil.continuous.bulletin import HELD_FOR
from frazil.errors import InterruptedWorkError
from frazil.process import look_as_python_does, raise_soft_limit
from frazil.reporting import tell_each
from frazil.spec.topic import TableSpec
from frazil.upkeep.work import size_text

app = typer.Typer()

MaxRecords = Annotated[
    int | None, typer.Option(min=1, help="Most records of one landing. Default: a turn of `frazil run`.")
]


@app.command("backfill")
def backfill_command(table: Name, max_records: MaxRecords = None, as_json: JsonLines = False) -> None:
    """Land a long topic in bounded landings, with progress, up to where it ends now.

    SIGTERM or Ctrl-C lets the landing in hand end; the same command goes on. Dagster's arrivals sensor leaves
    the table alone meanwhile.
    """
    raise_soft_limit()
    look_as_python_does()
    selection = select_topics([table], every=False)
    (spec,) = selection.specs
    connections = selection.connections.of(spec)
    provide_subjects(spec, connections)
    stopped: list[bool] = []
    progress = _Progress(selection, spec, as_json)
    with telling_checks(selection, spec), stopped_by_signals(lambda: stopped.append(True)) as met:
        try:
            filled = backfill(
                spec, connections, max_records=max_records, run_id=run_id(),
                is_stopped=lambda: bool(stopped), tell=progress.tell,
            )  # fmt: skip
        finally:
            progress.end()
    shown = sync_each(selection)
    if not as_json:
        show_landings([filled.landed])
    if filled.left and signal.SIGINT in met:
        raise InterruptedWorkError(
            "Stopped by Ctrl-C.",
            meaning="What was landed before stays; the table shows nothing half done.",
            todo="The same command goes on.",
        )
    shown.exit()


@dataclass
class _Progress:
    """Tells of each landing, and keeps the table from Dagster's sensor until the next one."""

    selection: Selection[TableSpec]
    spec: TableSpec
    as_json: bool
    newest: Filled | None = None

    def tell(self, filled: Filled) -> None:
        """Shows how far it is."""
        self.newest = filled
        self._hold(time.time() + max(HELD_FOR, 3 * filled.landed.seconds))
        print_json_line(_document(filled)) if self.as_json else console.print(_line(filled))

    def end(self) -> None:
        """Gives the table back, and tells Dagster what was landed."""
        self._hold(0.0)
        if self.newest and self.newest.landed.landings:
            self.selection.tell(self.spec, self.newest.landed)

    def _hold(self, until: float) -> None:
        tell_each(self.selection.reporters, lambda reporter: reporter.hold([self.spec], until))


def _document(filled: Filled) -> dict[str, object]:
    landed = filled.landed
    return {
        "at": time.time(),
        **{k: v for k, v in asdict(filled).items() if k != "landed"},
        "done": filled.done,
        "seconds_left": filled.seconds_left,
        "records": landed.records,
        "dead_letters": landed.dead_letters,
        "bytes": landed.bytes,
        "landings": landed.landings,
    }


def _line(filled: Filled) -> str:
    share = filled.done / filled.offsets if filled.offsets else 1.0
    at = time.strftime("%H:%M:%S")
    parts = [
        f"{at} {filled.table}: {filled.done:,} of {filled.offsets:,} offsets, {share:.1%}",
        f"{filled.landed.records:,} records, {size_text(filled.landed.bytes)}",
    ]
    if filled.left and filled.seconds_left is not None:
        parts.append(f"{timedelta(seconds=round(filled.seconds_left))} left")
    if filled.overtaken:
        parts.append(f"overtaken {filled.overtaken} times")
    return "; ".join(parts)
