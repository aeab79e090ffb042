"""The tables of all pipelines: those that can be made, and those that are broken or wait for others.

A mistake breaks the pipeline that it stands in. Of other pipelines only those tables are left out that are
made of its tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from frazil.derive.queries.check import Checked, Fields, Known, check_queries
from frazil.derive.queries.query import Mistake
from frazil.errors import SpecError
from frazil.pipelines.attributes import FILE
from frazil.pipelines.file import Pipeline
from frazil.pipelines.folder import Broken, Pipelines, load_pipelines
from frazil.settings.profile import Settings
from frazil.spec.derived import DerivedSpec
from frazil.spec.names import TableName, things

_WRONG = "Fix the files; nothing of this pipeline is started."
_WAITS = "Fix what is broken; the other tables of this pipeline go on."


@dataclass(frozen=True, slots=True)
class KnownTables:
    """The pipelines, their derived tables each after those that it reads, and every table's columns.

    `fields` are the columns of the tables that are made of topics, as their schema files have them.
    """

    pipelines: Pipelines
    derived: tuple[DerivedSpec, ...]
    columns: Known
    fields: Fields


def load_tables(settings: Settings) -> KnownTables:
    """The tables of the profile in force.

    Raises:
        SpecError: A pipeline is broken, and the profile is `strict`.
    """
    known = known_tables(load_pipelines(settings=settings), settings)
    if settings.strict:
        known.pipelines.all()
    return known


def known_tables(pipelines: Pipelines, settings: Settings) -> KnownTables:
    """The tables of some pipelines."""
    checked = check_queries(pipelines, settings)
    wrong = [p for p in pipelines.sound if p.name in checked.mistakes]
    gone = {things(spec, settings).table: _whose(p) for p in wrong for spec, _ in p.every_table}
    waiting = _waiting(checked, gone, " or ".join(map(_whose, pipelines.broken)))
    sound = [p for p in pipelines.sound if p not in wrong]
    broken = [
        *pipelines.broken,
        *(_broken(p, checked.mistakes[p.name], _WRONG) for p in wrong),
        *(_broken(p, waiting[p.name], _WAITS) for p in sound if p.name in waiting),
    ]
    return KnownTables(
        Pipelines(tuple(_without(gone, p, settings) for p in sound), tuple(broken)),
        tuple(made.spec for made in checked.made if made.name not in gone),
        {name: columns for name, columns in checked.columns.items() if name not in gone},
        checked.fields,
    )


def _waiting(checked: Checked, gone: dict[TableName, str], unread: str) -> Mapping[str, list[str]]:
    """What tables of each pipeline wait for: for one that is gone, or one that only `unread` may make.

    They are gone then, too: others may be made of them.
    """
    mistakes: dict[str, list[str]] = {}
    for made in checked.made:
        if made.name in gone:
            continue
        whys: list[Mistake] = []
        for text, name in made.inputs.items():
            if name in gone:
                why = f"{text}: waits for {gone[name]}, which is broken"
            elif name not in checked.columns:
                why = f"{text}: no pipeline makes a table {name}, unless {unread} does, which can't be read"
            else:
                continue
            whys.append((made.start(text), why))
            gone[made.name] = gone.get(name, unread)
        if whys:
            mistakes.setdefault(made.pipeline, []).append(made.text_of(whys))
    return mistakes


def _whose(pipeline: Pipeline | Broken) -> str:
    return f"pipeline {pipeline.name} ({pipeline.folder / FILE})"


def _broken(pipeline: Pipeline, mistakes: Sequence[str], todo: str) -> Broken:
    return Broken(pipeline.name, pipeline.folder, SpecError("\n".join(mistakes), todo=todo))


def _without(gone: Mapping[TableName, str], pipeline: Pipeline, settings: Settings) -> Pipeline:
    pairs = zip(pipeline.derived, pipeline.derived_lines, strict=True)
    kept = [(spec, line) for spec, line in pairs if things(spec, settings).table not in gone]
    return replace(pipeline, derived=tuple(s for s, _ in kept), derived_lines=tuple(n for _, n in kept))
