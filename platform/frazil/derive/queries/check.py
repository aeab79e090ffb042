"""Every query of every pipeline checked before anything runs, all mistakes told at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from frazil.derive.queries.columns import UNKNOWN, Column
from frazil.derive.queries.known import (
    Known,
    Made,
    columns_held,
    columns_made,
    landed_tables,
    made_table,
    sorted_tables,
)
from frazil.derive.queries.legality import odd_fields, unfit
from frazil.derive.queries.query import ERROR_COLUMN, Mistake, Query, refusal
from frazil.derive.queries.scopes import nearest
from frazil.derive.queries.syntax import input_name, input_tables, start_of
from frazil.derive.queries.totals import merge_of, unmergeable
from frazil.errors import ConfigureError, SpecError
from frazil.pipelines.folder import Pipeline
from frazil.settings import Settings
from frazil.spec.names import TableName, things

__all__ = ["check_queries"]

Kinds = Mapping[TableName, str]
"""All tables: `landed`, or the kind of a derived one."""


def check_queries(pipelines: Sequence[Pipeline], settings: Settings) -> None:
    """Refuses pipelines whose queries can't be run, or not by the kind of their table.

    Raises:
        SpecError: Every mistake of every query, with its file and line.
    """
    told: list[str] = []
    made, kinds = _read(pipelines, settings, told), _kinds(pipelines, settings)
    known = landed_tables(pipelines, settings)
    try:
        ordered = sorted_tables(made)
    except SpecError as e:
        told.append(e.what)
        ordered = []
    for table in ordered:
        told += _mistakes(table, kinds, known)
    if told:
        raise SpecError("\n".join(told), todo="Mend the files; nothing was started.")


def _read(pipelines: Sequence[Pipeline], settings: Settings, told: list[str]) -> list[Made]:
    """The derived tables whose queries can be understood; what is wrong with others is told."""
    found = []
    for pipeline in pipelines:
        for spec, line in zip(pipeline.derived, pipeline.derived_lines, strict=True):
            place = f"{pipeline.file}:{line}"
            try:
                found.append(made_table(spec, place, settings))
            except SpecError as e:
                told.append(e.what)
            except ConfigureError as e:
                told.append(f"{place}: {e.what} {e.todo}")
    return found


def _kinds(pipelines: Sequence[Pipeline], settings: Settings) -> Kinds:
    landed = {things(spec, settings).table: "landed" for p in pipelines for spec in p.tables}
    return landed | {things(spec, settings).table: spec.kind for p in pipelines for spec in p.derived}


def _mistakes(made: Made, kinds: Kinds, known: Known) -> Iterator[str]:
    """Those of one table; what is known of it is noted for the tables that read it."""
    known[made.name] = None
    if made.query is None:
        yield from (f"{made.place}: {text}" for _, text in _odd_inputs(made, kinds))
        return
    if mistakes := [*_odd_inputs(made, kinds), *unfit(made.query, made.spec)]:
        yield refusal(made.query, mistakes).what
    try:
        columns = columns_made(made, known) or ()
    except SpecError as e:
        yield e.what
    else:
        known[made.name] = columns_held(columns)
        yield from (f"{made.place}: {text}" for text in _odd_spec(made, made.query, columns))


def _odd_inputs(made: Made, kinds: Kinds) -> Iterator[Mistake]:
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


def _odd_spec(made: Made, query: Query, columns: Sequence[Column]) -> Iterator[str]:
    merges = made.spec.kind in ("totals", "windows") and not any(unmergeable(query))
    merge = merge_of(query) if merges else None
    yield from odd_fields(query, made.spec, [name for name, _ in columns], merge)
    kinds = dict(columns)
    if kinds.get(ERROR_COLUMN, "string") not in ("string", UNKNOWN):
        yield f"`{ERROR_COLUMN}` is of type {kinds[ERROR_COLUMN]}: it must say in words what is wrong"
    start = made.spec.window.start if made.spec.window else ""
    if kinds.get(start, UNKNOWN) not in ("timestamp", "timestamp_ntz", UNKNOWN):
        yield f"window.start: {start} is of type {kinds[start]}: it must be a timestamp"
