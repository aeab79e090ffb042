"""The queries of all pipelines, checked before any server is asked; all mistakes are mistakes at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

from frazil.derive.queries.columns import Column, typed
from frazil.derive.queries.legality import odd_fields, unfit, unfollowed
from frazil.derive.queries.query import ERROR_COLUMN, Mistake, Query, names_now, read_query, refusal
from frazil.derive.queries.scopes import ALL, nearest
from frazil.derive.queries.syntax import input_name, input_tables, start_of
from frazil.derive.queries.totals import merge_of, shadowed, unmergeable
from frazil.derive.queries.types import UNKNOWN
from frazil.errors import SpecError, explain
from frazil.formats.checks.binding import refuse_unknown
from frazil.formats.logical import Field
from frazil.formats.record import file_fields
from frazil.formats.types import spark_type
from frazil.pipelines.file import Pipeline
from frazil.pipelines.folder import Pipelines
from frazil.settings.profile import Settings
from frazil.spec.derived import DerivedSpec
from frazil.spec.names import TableName, things
from frazil.spec.table import AnyTable
from frazil.spec.topic import TableSpec

Known = dict[TableName, Sequence[Column] | None]
"""The columns of tables, of types that may be `unknown`; None where only a server knows them."""

Fields = Mapping[TableName, Sequence[Field] | None]
"""The columns of tables that are made of topics; None where the registry alone knows them."""

Specs = Mapping[TableName, AnyTable]
"""All tables that are read of files."""

Changing = Mapping[TableName, str]
"""Why the rows of tables change, for those where each does not stay as it came."""

MistakesByPipeline = dict[str, list[str]]
"""What is wrong in each pipeline, by its name."""


@dataclass(frozen=True, slots=True)
class Made:
    """One table that is made of others."""

    spec: DerivedSpec
    pipeline: str
    place: str  # file and line
    name: TableName
    query: Query | None  # None where a Python function makes its rows
    inputs: Mapping[str, TableName]  # the tables that it is made of, by the names that the user gave them

    def start(self, text: str) -> int:
        """Where its query names an input first."""
        tables = input_tables(self.query.tree) if self.query else ()
        return min((start_of(table) for table in tables if input_name(table) == text), default=0)

    def text_of(self, mistakes: Sequence[Mistake]) -> str:
        """Mistakes with their places in its query, if it has one."""
        if self.query:
            return refusal(self.query, mistakes).what
        return "\n".join(f"{self.place}: {text}" for _, text in mistakes)


@dataclass(frozen=True, slots=True)
class Checked:
    """The derived tables, each after those that it reads; every table's columns; each pipeline's mistakes.

    `fields` are the columns of the tables that are made of topics, as their schema files have them.
    """

    made: Sequence[Made]
    columns: Known
    fields: Fields
    mistakes: Mapping[str, Sequence[str]]


def check_queries(pipelines: Pipelines, settings: Settings) -> Checked:
    """Finds queries that can't be run, or not by the kind of their table.

    An input that nobody makes is no mistake where a pipeline can't be read: that one may make it.
    """
    mistakes: MistakesByPipeline = defaultdict(list)
    fields = _landed_tables(pipelines.sound, settings, mistakes)
    known: Known = {name: _spark_columns(landed) for name, landed in fields.items()}
    made, specs = _read(pipelines.sound, settings, mistakes), _specs(pipelines.sound, settings)
    ordered = _sorted(made, mistakes)
    changing = _changing(specs, ordered)
    for table in ordered:
        with _telling(mistakes[table.pipeline], table.place):
            texts = _mistakes(table, specs, changing, known, all_read=not pipelines.broken)
            mistakes[table.pipeline] += texts
    return Checked(ordered, known, fields, {name: texts for name, texts in mistakes.items() if texts})


def _landed_tables(pipelines: Sequence[Pipeline], settings: Settings, mistakes: MistakesByPipeline) -> Fields:
    landed: dict[TableName, Sequence[Field] | None] = {}
    for pipeline in pipelines:
        for spec, line in zip(pipeline.tables, pipeline.lines, strict=True):
            with _telling(mistakes[pipeline.name], f"{pipeline.file}:{line}"):
                fields = landed[things(spec, settings).table] = file_fields(spec)
                refuse_unknown(spec, fields, f"{pipeline.file}:{line}")
    return landed


def _spark_columns(fields: Sequence[Field] | None) -> Sequence[Column] | None:
    return [(field.name, spark_type(field.type)) for field in fields] if fields is not None else None


def _read(pipelines: Sequence[Pipeline], settings: Settings, mistakes: MistakesByPipeline) -> list[Made]:
    """The derived tables whose queries can be understood."""
    derived: list[Made] = []
    for pipeline in pipelines:
        for spec, line in zip(pipeline.derived, pipeline.derived_lines, strict=True):
            place = f"{pipeline.file}:{line}"
            with _telling(mistakes[pipeline.name], place):
                derived.append(_made(spec, pipeline.name, place, settings))
    return derived


@contextmanager
def _telling(mistakes: list[str], place: str) -> Iterator[None]:
    """Notes what is wrong with one table; a SpecError says itself where it stands."""
    try:
        yield
    except SpecError as e:
        mistakes.append(e.what)
    except Exception as e:  # noqa: BLE001 - whatever one table holds, it must not end the others
        error = explain(e)
        mistakes.append(f"{place}: {error.what} {error.todo}")


def _made(spec: DerivedSpec, pipeline: str, place: str, settings: Settings) -> Made:
    name = things(spec, settings).table
    query = read_query(spec, refuse=False) if spec.sql else None
    written = query.inputs if query else spec.inputs
    inputs = {text: TableName.parse(text, name.namespace) for text in written}
    return Made(spec, pipeline, place, name, query, inputs)


def _sorted(tables: Sequence[Made], mistakes: MistakesByPipeline) -> list[Made]:
    """The tables, each after those that it reads, without those that wait for each other."""
    by_name = {made.name: made for made in tables}
    graph = {made.name: [name for name in made.inputs.values() if name in by_name] for made in tables}
    try:
        return [by_name[name] for name in TopologicalSorter(graph).static_order()]
    except CycleError as e:
        ring = list(reversed(e.args[1]))
    ways = [f"{by_name[a].place}: {a} is made of {b}: a circle of tables" for a, b in pairwise(ring)]
    for pipeline in {by_name[name].pipeline for name in ring}:
        mistakes[pipeline] += ways
    return _sorted([made for made in tables if made.name not in ring], mistakes)


def stored_columns(columns: Sequence[Column] | None) -> Sequence[Column] | None:
    """The columns of a derived table, by what its query puts out; None where not all are known.

    Iceberg knows no whole numbers shorter than int.
    """
    if columns is None or any(name == ALL for name, _ in columns):
        return None
    longer = {"tinyint": "int", "smallint": "int", "void": UNKNOWN}
    return [(name, longer.get(kind, kind)) for name, kind in columns if name != ERROR_COLUMN]


def _specs(pipelines: Sequence[Pipeline], settings: Settings) -> Specs:
    return {things(spec, settings).table: spec for p in pipelines for spec, _ in p.every_table}


def _mistakes(made: Made, specs: Specs, changing: Changing, known: Known, *, all_read: bool) -> Iterator[str]:
    """The mistakes of one table; its columns are noted for the tables that read it."""
    known[made.name] = None
    mistakes = [*_odd_inputs(made, specs, changing, all_read=all_read)]
    if made.query is not None:
        mistakes += made.query.mistakes
        mistakes += unfit(made.query, made.spec)
        if made.spec.kind in ("totals", "windows"):
            mistakes += shadowed(
                made.query, {c for name in made.inputs.values() for c, _ in known.get(name) or ()}
            )
    if mistakes:
        yield made.text_of(mistakes)
    if made.query is not None:
        tables = {text: known.get(name) for text, name in made.inputs.items()}
        columns = typed(made.query, tables, made.spec.parameters) or ()
        known[made.name] = stored_columns(columns)
        yield from (f"{made.place}: {text}" for text in _odd_spec(made, made.query, columns))


def _odd_inputs(made: Made, specs: Specs, changing: Changing, *, all_read: bool) -> Iterator[Mistake]:
    for text, name in made.inputs.items():
        spec = specs.get(name)
        if spec is None and all_read:
            yield made.start(text), f"{text}: no pipeline makes a table {name}; {_near(name, specs)}"
        elif spec and spec.connection != made.spec.connection:
            where = f"connection {spec.connection}" if spec.connection else "no named connection"
            yield made.start(text), f"{text}: a table of {where}; tables are made of those of their own only"
        elif spec and name in changing and (why := _unfollowed(made)):
            yield made.start(text), f"{text}: rows of a table of {changing[name]} change, {why}"


def _unfollowed(made: Made) -> str:
    uses_now = made.query.uses_now if made.query else names_now(made.spec)
    return "" if made.spec.kind == "full" else unfollowed(made.spec, uses_now=uses_now)


def _changing(specs: Specs, ordered: Sequence[Made]) -> Changing:
    keyed = {name: spec for name, spec in specs.items() if isinstance(spec, TableSpec) and spec.is_keyed}
    changing = {name: f"mode {spec.mode}" for name, spec in keyed.items()}
    for made in ordered:
        if made.spec.kind != "rows":
            changing[made.name] = f"kind {made.spec.kind}"
        elif of := next((name for name in made.inputs.values() if name in changing), None):
            changing[made.name] = f"kind rows that is made of {of}"
    return changing


def _near(name: TableName, specs: Specs) -> str:
    """Names in the same namespace as they may be written without it."""
    near = [t.table if t.namespace == name.namespace else str(t) for t in specs]
    return nearest(name.table, near)


def _odd_spec(made: Made, query: Query, columns: Sequence[Column]) -> Iterator[str]:
    merges = made.spec.kind in ("totals", "windows") and not any(unmergeable(query))
    merge = merge_of(query) if merges else None
    yield from odd_fields(query, made.spec, [name for name, _ in columns], merge)
    kinds = dict(columns)
    if kinds.get(ERROR_COLUMN, "string") not in ("string", UNKNOWN):
        yield f"`{ERROR_COLUMN}` is of type {kinds[ERROR_COLUMN]}: it must say in words what is wrong"
    start = made.spec.window.start if made.spec.window else ""
    if start and kinds.get(start, UNKNOWN) not in ("timestamp", "timestamp_ntz", UNKNOWN):
        yield f"window.start: {start} is of type {kinds[start]}: it must be a timestamp"
