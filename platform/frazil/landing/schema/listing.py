"""Where listed fields of JSON stand in records: another path is approved, for older rows keep theirs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from frazil.formats.evolution import Verdict
from frazil.formats.logical import Struct, Where
from frazil.spec.migrations import Migration, repathing
from frazil.spec.topic import TableSpec
from frazil.tables.commits.ledger import read

if TYPE_CHECKING:
    from pyiceberg.table import Transaction
    from pyiceberg.table.metadata import TableMetadata

PATHS = "frazil.paths"
"""Table property: the paths of listed fields, and the migrations that changed them, as JSON."""

Paths = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class NotedPaths:
    """What a table knows of its fields' paths, by column, and the ids of migrations that are done."""

    paths: Paths = field(default_factory=dict)
    done: tuple[str, ...] = ()

    @classmethod
    def of(cls, metadata: TableMetadata) -> NotedPaths:
        """What stands in a table's properties; nothing of one that was landed before paths were noted."""
        return read(PATHS, metadata.properties.get(PATHS, "{}"), _read)

    @property
    def properties(self) -> dict[str, str]:
        """The same, as a table keeps it; nothing where no fields are listed."""
        if not self.paths and not self.done:
            return {}
        return {PATHS: json.dumps({"paths": dict(sorted(self.paths.items())), "done": self.done})}


def listed_paths(spec: TableSpec) -> Paths:
    """The path of each field that a spec lists, by its column."""
    return {own.name: own.steps for own in spec.fields}


def path_verdicts(noted: NotedPaths, spec: TableSpec, have: Struct) -> list[Verdict]:
    """Changes of paths of columns that hold rows: approved ones, and those that stop the table."""
    return list(_verdicts(noted, listed_paths(spec), spec.migrations, have))


def stage_paths(tx: Transaction, noted: NotedPaths, spec: TableSpec, changes: Sequence[Verdict]) -> None:
    """Stages what the table notes of its fields' paths."""
    changed = {each.where.dotted for each in changes}
    done = {m.id for m in spec.migrations if m.path and m.path.column in changed}
    now = NotedPaths(listed_paths(spec), tuple(sorted({*noted.done, *done})))
    if now.properties != noted.properties:
        tx.set_properties(now.properties or {PATHS: "{}"})


def _verdicts(
    noted: NotedPaths, now: Paths, migrations: Sequence[Migration], have: Struct
) -> Iterator[Verdict]:
    for name, steps in now.items():
        was = noted.paths.get(name)
        if was is None or was == steps or have.get(name) is None:
            continue
        where = Where((name,), name)
        leaves = f"rows of before keep what stood at {'.'.join(was)}"
        fitting = (m.id for m in migrations if m.path and (m.path.column, m.path.steps) == (name, steps))
        if approval := next((each for each in fitting if each not in noted.done), ""):
            yield Verdict(where, "path", True, f"approved by migration {approval}: {leaves}")
            continue
        todo = (
            f"Approve it under migrations: `{repathing(name, steps)}`; to change older rows, too, replay "
            "their offsets (docs/json.md)."
        )
        yield Verdict(where, "path", False, f"its path becomes {'.'.join(steps)}, and {leaves}", todo)


def _read(text: str) -> NotedPaths:
    document = json.loads(text)
    paths = {str(name): tuple(map(str, steps)) for name, steps in document.get("paths", {}).items()}
    return NotedPaths(paths, tuple(map(str, document.get("done", []))))
