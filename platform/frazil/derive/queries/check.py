"""The tables of all pipelines as far as they are known before any server is asked.

Every query is checked before anything runs, and all mistakes are told at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

from frazil.derive.queries.columns import Column, typed
from frazil.derive.queries.legality import odd_fields, unfit
from frazil.derive.queries.query import ERROR_COLUMN, Mistake, Query, read_query, refusal
from frazil.derive.queries.scopes import ALL, nearest
from frazil.derive.queries.syntax import input_name, input_tables, start_of
from frazil.derive.queries.totals import merge_of, shadowed, unmergeable
from frazil.derive.queries.types import UNKNOWN
from frazil.errors import ConfigureError, SpecError
from frazil.formats.record import file_fields
from frazil.formats.types import spark_type
from frazil.pipelines.file import Pipeline
from frazil.settings.profile import Settings
from frazil.spec.derived import DerivedSpec
from frazil.spec.names import TableName, things

Known = dict[TableName, Sequence[Column] | None]
"""The columns of tables, of types that may be `unknown`; None where only a server knows them."""


Kinds = Mapping[TableName, str]
"""All tables: `landed`, or the kind of a derived one."""


@dataclass(frozen=True, slots=True)
class KnownTables:
    """The derived tables of all pipelines, each after those that it reads, and every table's columns."""

    derived: tuple[DerivedSpec, ...]
    columns: Known


@dataclass(frozen=True, slots=True)
class _Made:
    """One table that is made of others."""

    spec: DerivedSpec
    place: str  # file and line
    name: TableName
    query: Query | None  # None where a Python function makes its rows
    inputs: Mapping[str, TableName]  # the tables that it is made of, by the names that the user gave them


def _landed_tables(pipelines: Sequence[Pipeline], settings: Settings) -> Known:
    known: Known = {}
    for spec in (spec for pipeline in pipelines for spec in pipeline.tables):
        fields = file_fields(spec)
        columns = [(field.name, spark_type(field.type)) for field in fields or ()]
        known[things(spec, settings).table] = columns if fields is not None else None
    return known


def _made(spec: DerivedSpec, place: str, settings: Settings) -> _Made:
    name = things(spec, settings).table
    query = read_query(spec) if spec.sql else None
    written = query.inputs if query else spec.inputs
    return _Made(spec, place, name, query, {text: TableName.parse(text, name.namespace) for text in written})


def _sorted(tables: Sequence[_Made]) -> list[_Made]:
    """The tables, each after those that it reads."""
    by_name = {made.name: made for made in tables}
    graph = {made.name: [name for name in made.inputs.values() if name in by_name] for made in tables}
    try:
        return [by_name[name] for name in TopologicalSorter(graph).static_order()]
    except CycleError as e:
        ring = list(reversed(e.args[1]))
        ways = [f"{by_name[a].place}: {a} is made of {b}" for a, b in pairwise(ring)]
        raise SpecError("\n".join(ways), todo="These tables wait for each other: leave one out.") from None


def _columns_made(made: _Made, known: Known) -> Sequence[Column] | None:
    """What a derived table's query puts out, from the columns of its inputs; None of a function."""
    if made.query is None:
        return None
    tables = {text: known.get(name) for text, name in made.inputs.items()}
    return typed(made.query, tables, made.spec.parameters)


def columns_held(columns: Sequence[Column] | None) -> Sequence[Column] | None:
    """The columns of a derived table, by what its query puts out; None where not all are known.

    Iceberg knows no whole numbers shorter than int.
    """
    if columns is None or any(name == ALL for name, _ in columns):
        return None
    longer = {"tinyint": "int", "smallint": "int", "void": UNKNOWN}
    return [(name, longer.get(kind, kind)) for name, kind in columns if name != ERROR_COLUMN]


def check_queries(pipelines: Sequence[Pipeline], settings: Settings) -> KnownTables:
    """Refuses pipelines whose queries can't be run, or not by the kind of their table.

    Raises:
        SpecError: Every mistake of every query, with its file and line; or no table can hold what a schema
            file describes.
    """
    told: list[str] = []
    made, kinds = _read(pipelines, settings, told), _kinds(pipelines, settings)
    known = _landed_tables(pipelines, settings)
    try:
        ordered = _sorted(made)
    except SpecError as e:
        told.append(e.what)
        ordered = []
    for table in ordered:
        told += _mistakes(table, kinds, known)
    if told:
        raise SpecError("\n".join(told), todo="Mend the files; nothing was started.")
    return KnownTables(tuple(table.spec for table in ordered), known)


def _read(pipelines: Sequence[Pipeline], settings: Settings, told: list[str]) -> list[_Made]:
    """The derived tables whose queries can be understood; what is wrong with others is told."""
    found = []
    for pipeline in pipelines:
        for spec, line in zip(pipeline.derived, pipeline.derived_lines, strict=True):
            place = f"{pipeline.file}:{line}"
            try:
                found.append(_made(spec, place, settings))
            except SpecError as e:
                told.append(e.what)
            except ConfigureError as e:
                told.append(f"{place}: {e.what} {e.todo}")
    return found


def _kinds(pipelines: Sequence[Pipeline], settings: Settings) -> Kinds:
    landed = {things(spec, settings).table: "landed" for p in pipelines for spec in p.tables}
    return landed | {things(spec, settings).table: spec.kind for p in pipelines for spec in p.derived}


def _mistakes(made: _Made, kinds: Kinds, known: Known) -> Iterator[str]:
    """The mistakes of one table; its columns are noted for the tables that read it."""
    known[made.name] = None
    if made.query is None:
        yield from (f"{made.place}: {text}" for _, text in _odd_inputs(made, kinds))
        return
    mistakes = [*_odd_inputs(made, kinds), *unfit(made.query, made.spec)]
    if made.spec.kind in ("totals", "windows"):
        mistakes += shadowed(
            made.query, {c for name in made.inputs.values() for c, _ in known.get(name) or ()}
        )
    if mistakes:
        yield refusal(made.query, mistakes).what
    try:
        columns = _columns_made(made, known) or ()
    except SpecError as e:
        yield e.what
    else:
        known[made.name] = columns_held(columns)
        yield from (f"{made.place}: {text}" for text in _odd_spec(made, made.query, columns))


def _odd_inputs(made: _Made, kinds: Kinds) -> Iterator[Mistake]:
    starts = {input_name(t): start_of(t) for t in input_tables(made.query.tree)} if made.query else {}
    for text, name in made.inputs.items():
        if (kind := kinds.get(name)) is None:
            yield starts.get(text, 0), f"{text}: no pipeline makes a table {name}; {_near(name, kinds)}"
        elif made.spec.kind != "full" and kind not in ("landed", "rows"):
            what = f"{text}: rows of a table of kind {kind} change, so nothing tells which are new"
            yield starts.get(text, 0), f"{what}; kind: full may read it"


def _near(name: TableName, kinds: Kinds) -> str:
    """Names in the same namespace as they may be written without it."""
    near = [t.table if t.namespace == name.namespace else str(t) for t in kinds]
    return nearest(name.table, near)


def _odd_spec(made: _Made, query: Query, columns: Sequence[Column]) -> Iterator[str]:
    merges = made.spec.kind in ("totals", "windows") and not any(unmergeable(query))
    merge = merge_of(query) if merges else None
    yield from odd_fields(query, made.spec, [name for name, _ in columns], merge)
    kinds = dict(columns)
    if kinds.get(ERROR_COLUMN, "string") not in ("string", UNKNOWN):
        yield f"`{ERROR_COLUMN}` is of type {kinds[ERROR_COLUMN]}: it must say in words what is wrong"
    start = made.spec.window.start if made.spec.window else ""
    if kinds.get(start, UNKNOWN) not in ("timestamp", "timestamp_ntz", UNKNOWN):
        yield f"window.start: {start} is of type {kinds[start]}: it must be a timestamp"
