"""`frazil generate`: made-up records for real topics."""

from __future__ import annotations

import random
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from frazil.cli.console import console, print_json
from frazil.cli.selection import Json
from frazil.errors import UsageError
from frazil.settings.profile import Settings
from frazil.settings.profile_file import frazil_home

if TYPE_CHECKING:
    # An extra: imported by the commands that need it.
    from frazil_local.generators.generator import GeneratedReport, Generator

app = typer.Typer()


class Kind(StrEnum):
    """What can be made up, by the topic it goes to."""

    STOCK_TRADES = "stock_trades"
    USERS = "users"
    SKYONE = "skyone"
    SUNSET = "sunset"
    SKYONE_AVRO = "skyone_avro"
    SUNSET_AVRO = "sunset_avro"
    SHIPMENTS = "shipments"
    NORTHWIND = "northwind"


Count = Annotated[
    int | None, typer.Option(min=1, help="How many records of each kind. Default: until Ctrl-C.")
]
Rate = Annotated[
    float | None,
    typer.Option(min=0.001, help="Records of each kind per second. Default: 10, or no limit with --count."),
]
Seed = Annotated[int | None, typer.Option(help="The same seed gives the same records.")]
Topic = Annotated[
    str | None, typer.Option(help="The topic to write to, if one kind is named. Default: its own.")
]

_ENDLESS_RATE = 10.0


@app.command("generate")
def generate_command(
    kinds: Annotated[list[Kind], typer.Argument(help="What to make up. Several can be named.")],
    count: Count = None,
    rate: Rate = None,
    seed: Seed = None,
    topic: Topic = None,
    as_json: Json = False,
) -> None:
    """Produce made-up records. Makes topics and subjects that are missing.

    `northwind` changes rows of the stack's database instead, of which Debezium makes records.
    """
    from frazil_local.generators.generator import generate_several

    if count is None and rate is None:
        rate = _ENDLESS_RATE
    if Kind.NORTHWIND in kinds:
        _change_database(kinds, topic, count, rate, seed, as_json)
        return
    generators = _chosen(kinds, topic)
    with _until_interrupted() as stop, _progress([g.topic for g in generators], count) as on_progress:
        reports = generate_several(
            generators, Settings.load(), count=count, rate=rate, seed=seed, on_progress=on_progress, stop=stop
        )
    print_json([asdict(report) for report in reports]) if as_json else _show(reports)


def _change_database(
    kinds: Sequence[Kind],
    topic: str | None,
    count: int | None,
    rate: float | None,
    seed: int | None,
    as_json: bool,
) -> None:
    from frazil_local.home import Home
    from frazil_local.northwind.changes import change_rows
    from frazil_local.ports import recall

    if len(set(kinds)) > 1 or topic:
        raise UsageError("northwind changes a database.", todo="Name it alone, and no --topic.")
    home = Home(frazil_home())
    with _until_interrupted() as stop, _progress([Kind.NORTHWIND], count) as advance:
        report = change_rows(
            home,
            recall(home.ports),
            count=count,
            rate=rate,
            seed=random.getrandbits(32) if seed is None else seed,
            on_progress=lambda done: advance(Kind.NORTHWIND, done),
            stop=stop,
        )
    if as_json:
        print_json(asdict(report))
        return
    console.print(
        f"{report.transactions:,} transactions changed {report.rows:,} rows in {report.seconds:.1f} s"
    )


def _chosen(kinds: Sequence[Kind], topic: str | None) -> list[Generator]:
    """The generators, each once; one alone may write to another topic."""
    from frazil_local.generators import GENERATORS

    generators = [GENERATORS[kind] for kind in dict.fromkeys(kinds)]
    if topic is None:
        return generators
    if len(generators) > 1:
        problem = f"{topic} can't take records of {len(generators)} kinds."
        raise UsageError(problem, todo="Name --topic for one kind at a time.")
    return [replace(generators[0], topic=topic)]


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
def _progress(topics: Sequence[str], count: int | None) -> Iterator[Callable[[str, int], None]]:
    """A bar for each topic, on a terminal only."""
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(show_speed=True))
    bars = Progress(
        *columns, TimeRemainingColumn(), console=console, disable=not console.is_terminal, transient=True
    )
    with bars:
        tasks = {topic: bars.add_task(f"producing to {topic}", total=count) for topic in topics}
        yield lambda topic, sent: bars.update(tasks[topic], completed=sent)


def _show(reports: Sequence[GeneratedReport]) -> None:
    for report in reports:
        speed = report.records / max(report.seconds, 0.001)
        facts = f"{speed:,.0f}/s, {report.bytes:,} bytes, schema id {report.schema_id}"
        console.print(f"{report.records:,} records to {report.topic} in {report.seconds:.1f} s ({facts})")
