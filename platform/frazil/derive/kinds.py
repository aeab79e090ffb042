"""The kinds of derived tables, by the word that the spec has for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil.derive.latest import Latest
from frazil.derive.summed import Totals
from frazil.derive.windows import Windows
from frazil.derive.work import Kind, Result, Task
from frazil.derive.write import write_all
from frazil.derived_spec import DerivedKind, DerivedSpec

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
        return write_all(task, task.delta)

    def letters(self, task: Task) -> DataFrame | None:
        """See `Kind.letters`."""
        return None


def kind_of(word: DerivedKind) -> Kind:
    """The kind that the spec names."""
    merging: dict[DerivedKind, Kind] = {"totals": Totals(), "windows": Windows(), "latest": Latest()}
    return merging.get(word, _Plain())
