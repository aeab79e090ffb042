"""`frazil land`, `sync` and `derive`: doing what the assets do, from a shell."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from frazil.cli.console import console, print_json, print_table
from frazil.cli.reports import landed, show_derivations, show_landings
from frazil.cli.results import OnStep, R, Results, S, each, each_as_it_ends, run_id, tell_failure
from frazil.cli.selection import AllTables, Json, Selection, Tables, select, select_derived, select_topics
from frazil.connections import Connections
from frazil.errors import DifferentError, FrazilError, PartDownError
from frazil.kafka.provisioning import ensure_subjects, ensure_topic
from frazil.landing.land import land
from frazil.landing.lane.joint import alone
from frazil.landing.lane.parts import RunPart
from frazil.landing.many import land_together, quiet_tables
from frazil.landing.position.ledger import Span
from frazil.landing.position.published import published_by
from frazil.landing.report import LandingReport
from frazil.publishing.reading import snowflake_before
from frazil.publishing.target import Shown, Target
from frazil.publishing.targets import show_all
from frazil.reporting import Failure
from frazil.spec.derived import DerivedSpec
from frazil.spec.names import AssetPath, things
from frazil.spec.table import AnyTable
from frazil.spec.topic import TableSpec

if TYPE_CHECKING:
    from frazil.derive.report import DeriveReport

app = typer.Typer()

MaxRecords = Annotated[int | None, typer.Option(min=1, help="Stop after this many records.")]
Sync = Annotated[bool, typer.Option("--sync/--no-sync", help="Update Glue and Snowflake, as the spec says.")]
AcceptLoss = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PARTITION:FROM-TO",
        help="Go on without these offsets, which the topic lost; TO excluded. May be repeated.",
    ),
]
Rebuild = Annotated[
    bool, typer.Option("--rebuild", help="Make all rows again from the whole inputs, in one commit.")
]
FromHere = Annotated[
    bool,
    typer.Option("--from-here", help="Use a changed query for new rows only. The old rows stay."),
]

RowsLost = Annotated[
    int,
    typer.Option(
        "--accept-loss",
        min=0,
        help="How many rows a rebuild may lose because the inputs no longer hold them.",
    ),
]

MakeTopic = Annotated[
    bool, typer.Option("--make-topic", help="Make the topic, as the spec says, if it is missing.")
]

AdoptTopic = Annotated[
    bool,
    typer.Option(
        help="Go on with a topic that was recreated, or whose log was cut, as it is now. The old rows stay."
    ),
]


@app.command("land")
def land_command(
    tables: Tables = None, every: AllTables = False, max_records: MaxRecords = None,
    accept_loss: AcceptLoss = None, adopt_topic: AdoptTopic = False, make_topic: MakeTopic = False,
    sync: Sync = True, as_json: Json = False,
) -> None:  # fmt: skip
    """Land topics in their tables, and update the places that show them.

    Registers the spec's schema files if their subjects are missing. With --all, a table that already holds
    all of its topic is left as it is: a new schema comes with the next record.
    """
    selection = select_topics(tables, every=every)
    selection = selection.writable if every else selection
    lost = dict(map(span_of, accept_loss or ()))
    if (lost or adopt_topic) and len(tables or ()) != 1:
        raise typer.BadParameter("--accept-loss and --adopt-topic speak of one table's topic: name that one.")

    quiet, run = _quiet(selection) if every and not make_topic else {}, run_id()

    def do(spec: TableSpec, on_step: OnStep = lambda _: None, run_part: RunPart = alone) -> LandingReport:
        connections = selection.connections.of(spec)
        if nothing := quiet.get(str(things(spec, connections.settings).table)):
            return nothing
        if not spec.is_read_only:  # else the landing says so
            ensure_topic(spec, connections) if make_topic else provide_subjects(spec, connections)
        return land(
            spec, connections, run_id=run, max_records=max_records, accept_loss=lost,
            adopt_topic=adopt_topic, on_step=on_step, run_part=run_part,
        )  # fmt: skip

    if len(selection.specs) > 1:
        ended = land_together(selection.specs, lambda spec, run_part: do(spec, run_part=run_part))
        results = each_as_it_ends(selection, "landing", ended, every=every)
    else:
        results = each(selection, "landing", do, every=every)
    stopped = list(_landed_before(selection, results, run))
    if sync:
        _show_done(selection, results, stopped)
    documents = [*map(landed, results.reports), *results.errors]
    print_json(documents) if as_json else show_landings(results.reports)
    results.exit()


def _landed_before(
    selection: Selection[TableSpec], results: Results[LandingReport], run: str
) -> Iterator[TableSpec]:
    """The tables that failed after a landing of this command; reports that landing to Dagster."""
    for spec, names in selection.pairs:
        error = results.failed.get(str(names.table))
        if error is None or str(names.table) in results.done or isinstance(error, PartDownError):
            continue
        with suppress(Exception):  # the table's own error is the one that counts
            if report := published_by(run, spec, selection.connections.of(spec)):
                selection.tell(spec, report)
                yield spec


def _show_done(selection: Selection[S], results: Results[R], also: Iterable[S] = ()) -> None:
    """Brings the places in step that show what was done; not where somebody stopped the command."""
    if results.interrupted:
        return
    shown = {id(spec) for spec in also}
    done = [s for s, names in selection.pairs if str(names.table) in results.done or id(s) in shown]
    for table, error in sync_each(replace(selection.of(done), broken={})).failed.items():
        results.failed.setdefault(table, error)


def _quiet(selection: Selection[TableSpec]) -> dict[str, LandingReport]:
    """The reports of tables that hold all of their topics; found without the registry and its libraries."""
    states = [state for _, state in quiet_tables(selection.specs, selection.connections)]
    return {s.identifier: LandingReport(s.identifier, s.topic, s.snapshot_id, spans={}) for s in states}


def provide_subjects(spec: TableSpec, connections: Connections) -> None:
    """Registers the spec's schema files where their subjects are missing.

    A file that is not the registry's schema stops nothing: each record says how it was written.
    """
    try:
        ensure_subjects(spec, connections)
    except DifferentError as e:
        console.print(str(e), style="yellow")


@app.command("sync")
def sync_command(tables: Tables = None, every: AllTables = False, as_json: Json = False) -> None:
    """Update every place that shows the tables, such as Glue and Snowflake."""
    selection = select(tables, every=every)
    results = sync_each(selection, every=every)
    if as_json:
        rows = [{"table": table, **_synced(shown)} for table, shown in results.done.items()]
        print_json([*rows, *results.errors])
    else:
        _show_synced(results.done)
    results.exit()


def _show_synced(done: Mapping[str, Sequence[Shown]]) -> None:
    table = Table("table", "shown in", "as", "changed")
    for name, shown in done.items():
        for s in shown:
            table.add_row(name, s.path[0], s.name, "yes" if s.changed else "no")
    print_table(table)
    for s in (s for shown in done.values() for s in shown if s.replaced):
        console.print(f"{s.name}: replaced {s.replaced}, which another engine put there.")


def _synced(shown: Iterable[Shown]) -> dict[str, Any]:
    """What each target shows, by its word."""
    return {
        s.path[0]: {"name": s.name, "metadata_location": s.metadata_location, "changed": s.changed}
        | ({} if s.rows is None else {"rows": s.rows})
        | ({"replaced_foreign_metadata": s.replaced} if s.replaced else {})
        for s in shown
    }


def sync_each(selection: Selection[AnyTable], *, every: bool = False) -> Results[list[Shown]]:
    """Brings the places that show the tables in step."""

    def do(spec: AnyTable, on_step: OnStep) -> list[Shown]:
        def fail(target: Target, error: Exception) -> None:
            tell_failure(selection, spec, Failure.of("publish", error, target.path))

        return show_all(spec, selection.connections.of(spec), fail, seen)

    seen: dict[AssetPath, Shown | FrazilError | None] = {}
    with ExitStack() as sessions:
        for part in selection.parts:
            sessions.enter_context(part.connections.one_snowflake())
            seen |= snowflake_before(part.specs, part.connections)
        return each(selection, "syncing", do, every=every)


def span_of(text: str) -> tuple[int, Span]:
    """A partition and the offsets of it that somebody writes."""
    match = re.fullmatch(r"(\d+):(\d+)-(\d+)", text)
    if not match or int(match[2]) >= int(match[3]):
        raise typer.BadParameter(f"{text!r}: write PARTITION:FROM-TO, such as 0:1200-1234.")
    return int(match[1]), (int(match[2]), int(match[3]))


@app.command("derive")
def derive_command(
    tables: Tables = None, every: AllTables = False, rebuild: Rebuild = False, from_here: FromHere = False,
    accept_loss: RowsLost = 0, sync: Sync = True, as_json: Json = False,
) -> None:  # fmt: skip
    """Update tables that are made of other tables, and the places that show them."""
    from frazil.derive.derive import derive  # a landing need not wait for it

    if rebuild and from_here:
        raise typer.BadParameter("--rebuild makes all rows anew, --from-here keeps them: give one of both.")
    if accept_loss and not rebuild:
        raise typer.BadParameter("--accept-loss says what a --rebuild may lose; nothing else loses rows.")
    selection = select_derived(tables, every=every)

    def do(spec: DerivedSpec, on_step: OnStep) -> DeriveReport:
        return derive(
            spec, selection.connections.of(spec), rebuild=rebuild, from_here=from_here,
            accept_loss=accept_loss, run_id=run_id(), on_step=on_step,
        )  # fmt: skip

    results = each(selection, "deriving", do)
    if sync:
        _show_done(selection, results)
    documents = [*map(asdict, results.reports), *results.errors]
    print_json(documents) if as_json else show_derivations(results.reports)
    results.exit()
