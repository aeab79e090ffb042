"""Which tables a command means, and the connections it works with."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Generic, TypeVar

import typer

from frazil.clients import Clients
from frazil.connections import Connections
from frazil.errors import ConfigureError, MissingError
from frazil.pipelines.folder import load_pipelines, pipeline_folders
from frazil.reporting import Done, Reporter, load_reporters
from frazil.settings.profile import Settings
from frazil.spec.derived import DerivedSpec
from frazil.spec.names import TableName, Things, legal, things
from frazil.spec.table import AnyTable
from frazil.spec.topic import TableSpec

S = TypeVar("S", bound=AnyTable, covariant=True)

Tables = Annotated[
    list[str] | None, typer.Argument(metavar="TABLE...", help="namespace.table, or the table alone.")
]
AllTables = Annotated[bool, typer.Option("--all", help="Every table of every pipeline.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]


@dataclass(frozen=True)
class Selection(Generic[S]):
    """The tables that a command works on."""

    specs: tuple[S, ...]
    connections: Connections

    @property
    def pairs(self) -> Iterable[tuple[S, Things]]:
        """Each spec with the names of its things."""
        return [(spec, things(spec, self.connections.settings)) for spec in self.specs]

    @cached_property
    def _reporters(self) -> tuple[Reporter, ...]:
        return load_reporters(self.connections.settings)

    def tell(self, spec: AnyTable, done: Done) -> None:
        """Tells whoever wants to hear of it what was done to one of the tables."""
        for reporter in self._reporters:
            reporter.tell(spec, done)

    @property
    def topics(self) -> Selection[TableSpec]:
        """Those that are made of topics."""
        return Selection(tuple(s for s in self.specs if isinstance(s, TableSpec)), self.connections)

    @property
    def derived(self) -> Selection[DerivedSpec]:
        """Those that are made of other tables."""
        return Selection(tuple(s for s in self.specs if isinstance(s, DerivedSpec)), self.connections)


def select(names: Iterable[str] | None, *, every: bool) -> Selection[AnyTable]:
    """The tables of those names, or all."""
    settings = Settings.load()
    names = list(names or ())
    if bool(names) == every:
        raise typer.BadParameter("Name tables, or give --all, not both.")
    pipelines = load_pipelines(pipeline_folders(settings), settings)
    known = {things(spec, settings).table: spec for p in pipelines for spec, _ in p.every_table}
    wanted = [TableName.parse(n, legal(settings.cluster)) for n in names] if names else list(known)
    return Selection(tuple(_find(known, name) for name in wanted), Clients(settings))


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
        raise ConfigureError(
            f"Table {names.table} {why}.", todo=f"`frazil {instead} {names.table}` brings it up to date."
        )


def _find(known: Mapping[TableName, AnyTable], name: TableName) -> AnyTable:
    if spec := known.get(name):
        return spec
    near = difflib.get_close_matches(str(name), map(str, known), n=3)
    raise MissingError(
        f"No pipeline has a table {name}.",
        todo=f"Did you mean {' or '.join(near)}?" if near else "`frazil tables` lists all of them.",
    )
