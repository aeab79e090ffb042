"""Which tables a command means, and the connections it works with."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Generic, TypeVar

import typer

from frazil.cli.console import console
from frazil.clients import Clients
from frazil.connections import Connections, apart
from frazil.derive.tables import load_tables
from frazil.errors import FrazilError, UsageError
from frazil.pipelines.folder import Broken, load_pipelines, pipeline_folders
from frazil.reporting import Done, Reporter, load_reporters, tell_each
from frazil.settings.profile import Settings
from frazil.spec.derived import DerivedSpec
from frazil.spec.names import TableName, Things, legal, things
from frazil.spec.table import AnyTable
from frazil.spec.topic import TableSpec
from frazil.telemetry.logs import configure_logs

S = TypeVar("S", bound=AnyTable, covariant=True)
T = TypeVar("T", bound=AnyTable)


def _completed(incomplete: str) -> list[str]:
    """The names of tables that a shell offers; none where a file or a setting is wrong."""
    try:
        settings = Settings.load()
        specs = [spec for p in load_pipelines(settings=settings).sound for spec, _ in p.every_table]
    except FrazilError:
        return []
    names = [things(spec, settings).table for spec in specs]
    forms = [*map(str, names), *(name.table for name in names)]
    return [form for form in forms if form.startswith(incomplete)]


Tables = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="TABLE...", help="namespace.table, or only the table's name.", autocompletion=_completed
    ),
]
Name = Annotated[
    str,
    typer.Argument(
        metavar="TABLE", help="namespace.table, or only the table's name.", autocompletion=_completed
    ),
]
AllTables = Annotated[bool, typer.Option("--all", help="Every table of every pipeline.")]
Pipelines = Annotated[
    list[str] | None,
    typer.Option("--pipeline", metavar="P", help="Only this pipeline. May be repeated."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")]


@dataclass
class Listeners:
    """Who wants to hear of what a command does; loaded when there is something to tell."""

    loaded: tuple[Reporter, ...] | None = None

    def of(self, settings: Settings) -> tuple[Reporter, ...]:
        """The reporters that have somebody to tell."""
        if self.loaded is None:
            self.loaded = load_reporters(settings)
        return self.loaded


@dataclass(frozen=True)
class Selection(Generic[S]):
    """The tables that a command works on."""

    specs: tuple[S, ...]
    connections: Connections
    broken: Mapping[str, FrazilError] = field(default_factory=dict)  # pipelines, where every table is meant
    listeners: Listeners = field(default_factory=Listeners)

    @property
    def pairs(self) -> Iterable[tuple[S, Things]]:
        """Each spec with the names of its things."""
        return [(spec, things(spec, self.connections.settings)) for spec in self.specs]

    @property
    def reporters(self) -> tuple[Reporter, ...]:
        """Who wants to hear of what is done: the same ones for other tables of the same command."""
        return self.listeners.of(self.connections.settings)

    def tell(self, spec: AnyTable, done: Done) -> None:
        """Reports what was done to one of the tables to those who want to hear."""
        self.tell_all([(spec, done)])

    def tell_all(self, news: Sequence[tuple[AnyTable, Done]]) -> None:
        """Reports several, as one batch."""
        if news:
            tell_each(self.reporters, lambda reporter: reporter.tell_all(news))

    @property
    def topics(self) -> Selection[TableSpec]:
        """The tables that are made of topics."""
        return self.of(s for s in self.specs if isinstance(s, TableSpec))

    @property
    def derived(self) -> Selection[DerivedSpec]:
        """The tables that are made of other tables."""
        return self.of(s for s in self.specs if isinstance(s, DerivedSpec))

    @property
    def writable(self) -> Selection[S]:
        """The tables that Frazil writes."""
        return self.of(s for s in self.specs if not s.is_read_only)

    @property
    def parts(self) -> list[Selection[S]]:
        """The tables, a selection for each connection."""
        return [Selection(tuple(own), clients) for own, clients in apart(self.specs, self.connections)]

    def of(self, specs: Iterable[T]) -> Selection[T]:
        """The same with other tables."""
        return Selection(tuple(specs), self.connections, self.broken, self.listeners)


def select(names: Iterable[str] | None, *, every: bool) -> Selection[AnyTable]:
    """The tables of those names, or all; each after those that it is made of."""
    settings = Settings.load()
    configure_logs(settings.log, settings)
    names = list(names or ())
    if bool(names) == every:
        raise typer.BadParameter(f"Name tables, or give --all{', not both' if names else ''}.")
    tables = load_tables(settings)
    topics = [spec for pipeline in tables.pipelines.sound for spec in pipeline.tables]
    known = {things(spec, settings).table: spec for spec in (*topics, *tables.derived)}
    wanted = [TableName.parse(n, legal(settings.cluster)) for n in names] or list(known)
    broken = tables.pipelines.broken
    if not known and not broken:
        folders = ", ".join(map(str, pipeline_folders(settings)))
        console.print(f"There is no table: write {folders}/NAME/defs.yaml, or fix FRAZIL_PIPELINES.")
    chosen = {name: _find(known, name, broken) for name in wanted}
    errors = {"/".join(b.path): b.error for b in broken} if every else {}
    return Selection(tuple(chosen[name] for name in known if name in chosen), Clients(settings), errors)


def select_pipelines(names: Sequence[str]) -> Selection[AnyTable]:
    """The tables of the pipelines of those names, or of all that can be used; in the order of `select`."""
    settings = Settings.load()
    configure_logs(settings.log, settings)
    loaded = load_tables(settings)
    pipelines = loaded.pipelines
    known = {pipeline.name: pipeline for pipeline in pipelines.sound}
    broken = {each.name: each.error for each in pipelines.broken}
    for name in names:
        if name not in known:
            missing = UsageError(
                f"There is no pipeline {name}.", todo=f"Known are {', '.join(known) or 'none'}."
            )
            raise broken.get(name, missing)
    wanted = [known[name] for name in names or known]
    topics = [spec for pipeline in wanted for spec in pipeline.tables]
    own = {things(spec, settings).table for pipeline in wanted for spec in pipeline.derived}
    derived = [spec for spec in loaded.derived if things(spec, settings).table in own]
    return Selection((*topics, *derived), Clients(settings), {} if names else broken)


def select_topics(names: Iterable[str] | None, *, every: bool) -> Selection[TableSpec]:
    """As `select`, of tables that are made of topics; refuses names of others."""
    selection = select(names, every=every)
    if not every:
        _refuse(selection.derived, "is made of other tables, not of a topic", "derive")
    return selection.topics


def select_derived(names: Iterable[str] | None, *, every: bool) -> Selection[DerivedSpec]:
    """As `select`, of tables that are made of others; refuses names of those that are made of topics."""
    selection = select(names, every=every)
    if not every:
        _refuse(selection.topics, "is made of a topic, not of other tables", "land")
    return selection.derived


def _refuse(selection: Selection[AnyTable], why: str, instead: str) -> None:
    for _, names in selection.pairs:
        raise UsageError(
            f"Table {names.table} {why}.", todo=f"`frazil {instead} {names.table}` brings it up to date."
        )


def _find(known: Mapping[TableName, AnyTable], name: TableName, broken: Sequence[Broken]) -> AnyTable:
    if spec := known.get(name):
        return spec
    if broken:
        raise UsageError(
            f"No pipeline that can be used has a table {name}.",
            where="\n".join(b.error.what for b in broken),
            meaning="Nothing was done. Tables of a pipeline with a mistake are not known.",
            todo="Fix what is named there; `frazil validate` says whether all is well.",
        )
    near = difflib.get_close_matches(str(name), map(str, known), n=3)
    raise UsageError(
        f"No pipeline has a table {name}.",
        todo=f"Did you mean {' or '.join(near)}?" if near else "`frazil tables` lists all of them.",
    )
