"""`frazil run`: tables that follow their topics by seconds."""

from __future__ import annotations

import logging
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Annotated, Any

import typer

from frazil.cli.console import complain, console, print_json_line
from frazil.cli.selection import Pipelines, Selection, select_pipelines
from frazil.clients import Clients
from frazil.continuous.bulletin import Bulletin
from frazil.continuous.follower import Follower
from frazil.continuous.progress import Progress, Say
from frazil.continuous.runner import Own, Runner, all_of
from frazil.continuous.sharing import Sharing
from frazil.continuous.work import WarmWork
from frazil.errors import InterruptedWorkError, UsageError
from frazil.process import look_as_python_does, raise_soft_limit
from frazil.spec.table import AnyTable
from frazil.telemetry.logs import is_json

app = typer.Typer()
_log = logging.getLogger(__name__)

_COLOURS = {"failed": "bold red", "waits": "yellow", "recovered": "green", "overtaken": "dim"}

Share = Annotated[
    bool,
    typer.Option("--share", help="Share the tables with other runners that have the same ones, and --share."),
]
JsonLines = Annotated[bool, typer.Option("--json", help="Print one JSON document a line on stdout.")]


@app.command("run")
def run_command(pipeline: Pipelines = None, share: Share = False, as_json: JsonLines = False) -> None:
    """Land topics without a pause, and update all that follows, until it is stopped.

    Looks at Kafka once a second, and lands what is due by land_when and freshness. Then it updates Glue,
    Snowflake and the tables that are made of it. SIGTERM or Ctrl-C lets landings in hand end.
    """
    selection = select_pipelines(pipeline or ()).writable
    for name, error in selection.broken.items():
        complain(error, name)
    topics = selection.topics.specs
    if not topics:
        raise UsageError("There is no table to be landed.", todo="`frazil tables` lists all of them.")
    raise_soft_limit()
    look_as_python_does()
    say = _speaker(as_json=as_json)
    with _shared(selection, say, share=share) as own:
        runner = _runner(selection, say, own)
        begun = f"Landing {len(topics)} topics; Ctrl-C stops it."
        say(Progress("running", "", begun, {"topics": len(topics)}))
        with stopped_by_signals(runner.stop) as met:
            runner.run()
    if signal.SIGINT in met:
        raise InterruptedWorkError(
            "Stopped by Ctrl-C.",
            meaning="What was landed before stays; no table shows anything half done.",
            todo="The same command goes on.",
        )


@contextmanager
def _shared(selection: Selection[AnyTable], say: Say, *, share: bool) -> Iterator[Own]:
    """Which tables are this runner's: all, or its share while others are there."""
    topics = selection.topics.specs
    if not share:
        yield all_of
        return
    with closing(Sharing(topics, selection.connections.of(topics[0]).settings, say)) as sharing:
        yield sharing.own


def _runner(selection: Selection[AnyTable], say: Say, own: Own) -> Runner:
    settings = selection.connections.settings
    work = WarmWork(lambda: Clients(settings, keeps_snowflake=True), run_id=f"run-{time.time_ns()}")
    bulletin = Bulletin(selection.reporters, selection.specs, work.check)
    follower = Follower(selection.specs, work, bulletin, settings, say)
    return Runner(selection.topics.specs, work, follower, say, own=own)


@contextmanager
def stopped_by_signals(stop: Callable[[], None]) -> Iterator[list[int]]:
    """Stops in order at the first signal; a second one ends the process. Gives those that came."""
    met: list[int] = []

    def handle(number: int, _: object) -> None:
        signal.signal(number, signal.SIG_DFL)
        met.append(number)
        stop()

    before = {each: signal.signal(each, handle) for each in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield met
    finally:
        for each, was in before.items():
            signal.signal(each, was)


def _speaker(*, as_json: bool) -> Say:
    """For scripts a document a line; else a line of text, in the log where that is JSON."""

    def to_scripts(line: Progress) -> None:
        print_json_line(
            {"at": time.time(), "event": line.event, "table": line.table, "text": line.text, **line.facts}
        )

    def to_people(line: Progress) -> None:
        console.print(f"{time.strftime('%H:%M:%S')} {line.text}", style=_COLOURS.get(line.event))

    return to_scripts if as_json else _to_log if is_json() else to_people


def _to_log(line: Progress) -> None:
    level = logging.ERROR if line.event == "failed" else logging.INFO
    extra: dict[str, Any] = {"event": line.event, "table": line.table, **line.facts}
    _log.log(level, line.text, extra=extra)
