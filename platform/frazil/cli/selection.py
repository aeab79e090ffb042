"""Which tables a command means, and the connections it works with."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import typer

from frazil.connections import Connections
from frazil.errors import MissingError
from frazil.naming import TableName, Things, legal, things
from frazil.pipelines import load_pipelines, pipeline_folders
from frazil.reporting import Reporter, load_reporters
from frazil.settings import Settings
from frazil.spec import TableSpec

__all__ = ["AllTables", "Json", "Selection", "Tables", "select"]

Tables = Annotated[
    list[str] | None, typer.Argument(metavar="TABLE...", help="namespace.table, or the table alone.")
]
AllTables = Annotated[bool, typer.Option("--all", help="Every table of every pipeline.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]


@dataclass(frozen=True)
class Selection:
    """The tables that a command works on."""

    specs: tuple[TableSpec, ...]
    connections: Connections

    @property
    def pairs(self) -> Iterable[tuple[TableSpec, Things]]:
        """Each spec with the names of its things."""
        return [(spec, things(spec, self.connections.settings)) for spec in self.specs]

    @cached_property
    def reporters(self) -> tuple[Reporter, ...]:
        """Who wants to hear of the work."""
        return load_reporters(self.connections.settings)


def select(names: Iterable[str] | None, *, every: bool) -> Selection:
    """The tables of those names, or all.

    Raises:
        BadParameter: Neither names nor `--all` were given, or both.
        MissingError: No pipeline has a table of that name.
    """
    settings = Settings.load()
    names = list(names or ())
    if bool(names) == every:
        raise typer.BadParameter("Name tables, or give --all, not both.")
    pipelines = load_pipelines(pipeline_folders(settings))
    known = {things(s, settings).table: s for p in pipelines for s in p.tables}
    wanted = [TableName.parse(n, legal(settings.cluster)) for n in names] if names else list(known)
    return Selection(tuple(_find(known, name) for name in wanted), Connections(settings))


def _find(known: dict[TableName, TableSpec], name: TableName) -> TableSpec:
    if spec := known.get(name):
        return spec
    near = difflib.get_close_matches(str(name), map(str, known), n=3)
    raise MissingError(
        f"No pipeline has a table {name}.",
        todo=f"Did you mean {' or '.join(near)}?" if near else "`frazil tables` lists all of them.",
    )
