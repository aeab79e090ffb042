"""`frazil generate`: made-up records for a real topic."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from frazil.cli.console import console, print_json
from frazil.settings import Settings

if TYPE_CHECKING:
    from frazil.local.generators.generator import GeneratedReport

__all__ = ["generate_command", "register"]


class Kind(StrEnum):
    """What can be made up, by the topic it goes to."""

    STOCK_TRADES = "stock_trades"
    SKYONE = "skyone"
    FLIGHT_AVRO = "flight_avro"
    SHIPMENTS = "shipments"


Count = Annotated[int | None, typer.Option(min=1, help="How many records; none: until Ctrl-C.")]
Rate = Annotated[
    float | None, typer.Option(min=0.001, help="Records a second; none: 10 without --count, else all.")
]
Seed = Annotated[int | None, typer.Option(help="The same seed gives the same records.")]
Topic = Annotated[str | None, typer.Option(help="Where to; none: the topic of that name.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]

_ENDLESS_RATE = 10.0


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("generate")(generate_command)


def generate_command(
    kind: Annotated[Kind, typer.Argument(help="What to make up.")],
    count: Count = None,
    rate: Rate = None,
    seed: Seed = None,
    topic: Topic = None,
    as_json: Json = False,
) -> None:
    """Produce made-up records; makes topic and subjects where they are missing."""
    from frazil.local.generators.generator import generate  # 0.4 s of imports
    from frazil.local.generators.known import GENERATORS

    if count is None and rate is None:
        rate = _ENDLESS_RATE
    with _until_interrupted() as stop, _progress(topic or kind.value, count) as on_progress:
        report = generate(
            GENERATORS[kind],
            Settings.load(),
            topic=topic,
            count=count,
            rate=rate,
            seed=seed,
            on_progress=on_progress,
            stop=stop,
        )
    print_json(asdict(report)) if as_json else _show(report)


@contextmanager
def _until_interrupted() -> Iterator[threading.Event]:
    """Ctrl-C ends the records, not the command: what was handed over still arrives."""
    stop = threading.Event()
    before = signal.signal(signal.SIGINT, lambda *_: stop.set())
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _progress(topic: str, count: int | None) -> Iterator[Callable[[int], None]]:
    """A bar, on a terminal only."""
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(show_speed=True))
    bar = Progress(
        *columns, TimeRemainingColumn(), console=console, disable=not console.is_terminal, transient=True
    )
    with bar:
        task = bar.add_task(f"producing to {topic}", total=count)
        yield lambda sent: bar.update(task, completed=sent)


def _show(report: GeneratedReport) -> None:
    speed = report.records / max(report.seconds, 0.001)
    console.print(
        f"{report.records:,} records to {report.topic} in {report.seconds:.1f} s "
        f"({speed:,.0f}/s, {report.bytes:,} bytes, schema id {report.schema_id})"
    )
