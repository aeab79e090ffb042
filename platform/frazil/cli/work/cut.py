"""`frazil cut`: the tables of a pipeline as of one moment. See docs/cut.md."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.table import Table

from frazil.cli.console import console, print_json, print_table
from frazil.cli.moment import duration_of
from frazil.cli.results import OnStep, Results, each, person, run_id
from frazil.cli.selection import Json, Pipelines, Selection, select_pipelines
from frazil.errors import RetryError
from frazil.landing.cut.create import begin_cut
from frazil.landing.cut.listing import Cut, cut_named, drop_cut, members_of, read_cuts
from frazil.landing.land import land
from frazil.landing.report import LandingReport
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.catalog import catalog_errors
from frazil.upkeep.work import WorkReport

app = typer.Typer()


class Action(StrEnum):
    """What is done with cuts."""

    create = "create"
    list = "list"
    describe = "describe"
    drop = "drop"


What = Annotated[Action, typer.Argument(help="What to do.")]
Cuts = Annotated[str, typer.Argument(metavar="NAME", help="The cut. Its tags are called cut_NAME.")]
Keep = Annotated[str, typer.Option(metavar="DURATION", help="The tags go by then: 30d. Default: never.")]


@app.command("cut")
def cut_command(
    action: What, name: Cuts = "", pipelines: Pipelines = None, keep: Keep = "", as_json: Json = False
) -> None:
    """Tag the tables of a pipeline as of one moment: create, list, describe or drop such cuts.

    A cut is complete once every table has its tag. An incomplete one goes on with the next landings, or with
    the same command.
    """
    if (action is Action.list) == bool(name):
        raise typer.BadParameter("`list` takes no name; create, describe and drop take that of a cut.")
    if action is Action.create:
        if len(pipelines or ()) != 1:
            raise typer.BadParameter("Say of which pipeline: --pipeline P.")
        _create(name, (pipelines or [""])[0], duration_of(keep, "--keep") if keep else None, as_json)
        return
    selection = select_pipelines(pipelines or ()).topics.writable
    members = members_of(selection.specs, selection.connections)
    with catalog_errors(selection.connections.settings):
        if action is Action.list:
            _show_all(read_cuts(members), as_json)
            return
        cut = cut_named(name, members)
        if action is Action.drop:
            drop_cut(name, members)
    _show(cut, as_json, "dropped" if action is Action.drop else "")


def _create(name: str, pipeline: str, keep: timedelta | None, as_json: bool) -> None:
    whole = select_pipelines([pipeline])
    selection = whole.topics.writable
    members = members_of(selection.specs, selection.connections)
    begin_cut(name, pipeline, selection.specs, selection.connections, keep=keep, by=person())
    results = _landed(selection, cut_named(name, members))
    cut = cut_named(name, members)
    _tell(selection, cut)
    _show(cut, as_json)
    left = [str(n.table) for s, n in whole.pairs if s not in selection.specs]
    if left:
        console.print(f"Not in the cut, for no landing of Frazil's makes them: {', '.join(left)}.")
    results.exit()
    if not cut.is_complete:
        raise _incomplete(cut)


def _landed(selection: Selection[TableSpec], cut: Cut) -> Results[LandingReport]:
    """Lands the tables that have not reached the cut."""
    waiting = {table.table for table in cut.tables if table.state == "landing"}
    specs = [spec for spec, names in selection.pairs if str(names.table) in waiting]

    def do(spec: TableSpec, on_step: OnStep) -> LandingReport:
        return land(spec, selection.connections.of(spec), run_id=run_id(), on_step=on_step)

    return each(selection.of(specs), "landing", do)


def _tell(selection: Selection[TableSpec], cut: Cut) -> None:
    """Reports each table's tag to Dagster, on the table's asset."""
    tagged = {table.table: table for table in cut.tables if table.state == "tagged"}
    for spec, names in selection.pairs:
        if table := tagged.get(str(names.table)):
            text = f"Tag {table.tag}: as of {_time(cut.at)}, with {len(cut.tables)} tables."
            selection.tell(spec, WorkReport(table.table, "cut", True, text, table.snapshot_id))


def _show_all(cuts: list[Cut], as_json: bool) -> None:
    if as_json:
        print_json([*map(_document, cuts)])
        return
    table = Table("cut", "pipeline", "as of", "state", "tables", "until", "by")
    for cut in cuts:
        tagged = sum(each.state == "tagged" for each in cut.tables)
        count = f"{tagged} of {len(cut.tables)}"
        table.add_row(cut.name, cut.pipeline, _time(cut.at), cut.state, count, _time(cut.until), cut.by)
    print_table(table)


def _show(cut: Cut, as_json: bool, done: str = "") -> None:
    if as_json:
        print_json({**_document(cut), **({"state": done} if done else {})})
        return
    until = f", kept until {_time(cut.until)}" if cut.until else ""
    console.print(f"{cut.name} of pipeline {cut.pipeline}: {done or cut.state}; as of {_time(cut.at)}{until}")
    table = Table("table", "tag", "snapshot", "state", "offsets to land")
    for each_table in cut.tables:
        snapshot = str(each_table.snapshot_id or "")
        waiting = f"{each_table.waiting:,}" if each_table.waiting else ""
        table.add_row(each_table.table, each_table.tag, snapshot, each_table.state, waiting)
    print_table(table)


def _document(cut: Cut) -> dict[str, Any]:
    return {**asdict(cut), "state": cut.state}


def _time(at: float | None) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%F %T} UTC" if at else ""


def _incomplete(cut: Cut) -> RetryError:
    return RetryError(
        f"The cut {cut.name} is incomplete.",
        where=", ".join(f"{table.table}: {table.state}" for table in cut.tables if table.state != "tagged"),
        meaning="Tables that have the tag are right; together they are not as of one moment yet.",
        todo=f"`frazil cut create {cut.name} --pipeline {cut.pipeline}` goes on, or starts again if "
        "a table went past it.",
    )
