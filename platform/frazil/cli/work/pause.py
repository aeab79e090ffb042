"""`frazil pause` and `resume`: tables that nobody lands into, and those that go on."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import Annotated

import typer

from frazil.cli.console import console, print_json
from frazil.cli.reports import landed, show_landings
from frazil.cli.results import OnStep, each, person, run_id
from frazil.cli.selection import Json, Pipelines, Selection, Tables, select_pipelines, select_topics
from frazil.errors import StopError
from frazil.landing.halts.pause import PauseReport, pause, paused
from frazil.landing.halts.resume import refuse_running, resume
from frazil.landing.report import LandingReport
from frazil.spec.topic import TableSpec
from frazil.tables.keys import Key

app = typer.Typer()

Because = Annotated[str, typer.Option(help="The reason. Everybody who looks at the table reads it.")]
Past = Annotated[
    list[str] | None,
    typer.Option(metavar="PARTITION:OFFSET", help="Leave out this bad record. May be repeated."),
]


@app.command("pause")
def pause_command(
    because: Because, tables: Tables = None, pipelines: Pipelines = None, as_json: Json = False
) -> None:
    """Stop all landings into tables until they are resumed. Upkeep goes on.

    A landing that is under way is dropped; nothing of it becomes visible.
    """
    selection = _select(tables, pipelines)

    def do(spec: TableSpec, on_step: OnStep) -> PauseReport:
        return pause(spec, selection.connections.of(spec), because, by=person(), run_id=run_id())

    results = each(selection, "pausing", do)
    if as_json:
        print_json([*map(asdict, results.reports), *results.errors])
    else:
        for report in results.reports:
            console.print(f"{report.table} {'is' if report.changed else 'was already'} {report.reason}")
    results.exit()


@app.command("resume")
def resume_command(
    tables: Tables = None, pipelines: Pipelines = None, past: Past = None, as_json: Json = False
) -> None:
    """Lift tables' suspensions or pauses, and land what waits.

    Of a pipeline, those tables go on that are paused.
    """
    selection = _select(tables, pipelines)
    keys = [_key(text) for text in past or ()]
    if keys and len(tables or ()) != 1:
        raise typer.BadParameter("--past speaks of one table's topic: name that one.")
    if pipelines:
        selection = _paused(selection)

    def do(spec: TableSpec, on_step: OnStep) -> LandingReport:
        connections = selection.connections.of(spec)
        if not keys:
            refuse_running(spec, connections)
        return resume(spec, connections, past=keys, run_id=run_id(), on_step=on_step)

    results = each(selection, "landing", do)
    documents = [*map(landed, results.reports), *results.errors]
    print_json(documents) if as_json else show_landings(results.reports)
    results.exit()


def _select(tables: list[str] | None, pipelines: list[str] | None) -> Selection[TableSpec]:
    if bool(tables) == bool(pipelines):
        raise typer.BadParameter("Name tables, or pipelines with --pipeline.")
    return select_topics(tables, every=False) if tables else select_pipelines(pipelines or ()).topics.writable


def _paused(selection: Selection[TableSpec]) -> Selection[TableSpec]:
    paused_specs = [spec for part in selection.parts for spec in paused(part.specs, part.connections)]
    if not paused_specs:
        raise StopError("None of these tables is paused.", meaning="Nothing was done.")
    return selection.of(paused_specs)


def _key(text: str) -> Key:
    match = re.fullmatch(r"(\d+):(\d+)", text)
    if not match:
        raise typer.BadParameter(f"{text!r}: write PARTITION:OFFSET, such as 0:1234.")
    return int(match[1]), int(match[2])
