"""The kinds of derived tables, by the word that the spec has for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from frazil.derive.merging.merge import Merging, State, Totals
from frazil.derive.merging.row_ids import with_id_of_key
from frazil.derive.merging.rows import Plain, Rows
from frazil.derive.merging.windows import Windows
from frazil.derive.write import Kind, Task
from frazil.quoting import comparable, quoted
from frazil.spec.derived import DerivedKind, DerivedSpec

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_RANK = "$frazil_rank"


class Latest(Merging):
    """The newest row per key."""

    def shape(self, spec: DerivedSpec, delta: DataFrame) -> DataFrame:
        """The newest row of each key."""
        return newest(delta, spec.key, spec.latest_by)

    def keys(self, task: Task) -> tuple[str, ...]:
        """The columns that the spec names."""
        return task.spec.key

    def merged(self, task: Task, state: State, delta: DataFrame) -> DataFrame:
        """The newest row of each key, of state and delta together."""
        if state.rows is None:
            return newest(delta, task.spec.key, task.spec.latest_by)
        rows = state.rows.unionByName(delta, allowMissingColumns=True)
        return newest(with_id_of_key(rows, task.spec.key), task.spec.key, task.spec.latest_by)


def newest(rows: DataFrame, key: Sequence[str], by: Sequence[str]) -> DataFrame:
    """One row per key; a missing key is a key, a missing time is the oldest.

    Where the columns of `by` are equal all others decide: no order of work shows in the result.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    order = [F.col(quoted(name)).desc_nulls_last() for name in by]
    window = Window.partitionBy(*map(quoted, key)).orderBy(*order, *_ties(rows, {*key, *by}))
    ranked = rows.withColumn(_RANK, F.row_number().over(window))
    return ranked.where(f"{quoted(_RANK)} = 1").drop(_RANK)


def _ties(rows: DataFrame, ordered: set[str]) -> Iterator[Column]:
    from pyspark.sql import functions as F

    for field in rows.schema.fields:
        if field.name not in ordered:
            column = F.expr(comparable(quoted(field.name), field.dataType.simpleString()))
            yield column.desc_nulls_last()


def kind_of(word: DerivedKind) -> Kind:
    """The kind that the spec names."""
    kinds: dict[DerivedKind, Kind] = {
        "rows": Rows(), "totals": Totals(), "windows": Windows(), "latest": Latest(), "full": Plain(),
    }  # fmt: skip
    return kinds[word]
