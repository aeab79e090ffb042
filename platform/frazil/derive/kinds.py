"""The kinds of derived tables, by the word that the spec has for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil.derive.merging.latest import Latest
from frazil.derive.merging.totals import Totals
from frazil.derive.merging.windows import Windows
from frazil.derive.task import Kind, Result, Task
from frazil.derive.write import write_counted
from frazil.spec.derived import DerivedKind, DerivedSpec
from frazil.tables.branches import branch_from_head

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["kind_of"]


class _Plain:
    """Rows as the query gives them: appended (rows), or in the place of all others (full)."""

    def shape(self, spec: DerivedSpec, delta: DataFrame) -> DataFrame:
        """See `Kind.shape`."""
        return delta

    def write(self, task: Task) -> Result:
        """See `Kind.write`."""
        branch_from_head(task.connections.catalog, task.name, task.branch)
        task.done("branched")
        return Result(write_counted(task, task.delta, {})[0])

    def letters(self, task: Task) -> DataFrame | None:
        """See `Kind.letters`."""
        return None


def kind_of(word: DerivedKind) -> Kind:
    """The kind that the spec names."""
    merging: dict[DerivedKind, Kind] = {"totals": Totals(), "windows": Windows(), "latest": Latest()}
    return merging.get(word, _Plain())
