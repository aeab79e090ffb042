"""Rows as the query gives them; where rows of the inputs changed or went, what those had made goes first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from frazil.derive.output import alike_sql, cast, stored_types, types_of
from frazil.derive.write import Kind, Result, Task, derivation_job, rows_within, write_counted
from frazil.errors import PositionLostError
from frazil.quoting import comparable, quoted
from frazil.tables.box import box_from, measures
from frazil.tables.format_v3.fields import ROW_ID_COLUMN
from frazil.tables.spark.session import Watched, aggregated, samples

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_RANK, _GONE = "$frazil_rank", "$frazil_gone"


class Plain(Kind):
    """Rows as the query gives them: appended (rows), or in the place of all others (full)."""

    def write(self, task: Task) -> Result:
        """See `Kind.write`. Rows in the place of all others are new ones."""
        rows = cast(task.delta, stored_types(task.table)) if task.before is None else task.delta
        return Result(write_counted(task, rows))


class Rows(Plain):
    """Each row by itself."""

    def write(self, task: Task) -> Result:
        """Appends what came; the files with a row that goes are written anew without it.

        Raises:
            PositionLostError: A row that should go is not there.
        """
        if task.before is None or task.changed is None:
            return super().write(task)
        types, stored = types_of(task.table), stored_types(task.table)
        job = derivation_job(task.name)
        going = cast(task.changed.went, types)
        facts = aggregated(going, {"rows": "count(1)"} | measures(types, types), job)
        if not facts["rows"]:
            return super().write(task)
        box = box_from(types, types, facts)
        there, rows = rows_within(task, box)
        if not there.entries:
            raise _not_there(task, facts["rows"], 0)
        state = cast(rows, stored)
        kept = _without(state.where(box.sql), going, types).unionByName(state.where(f"NOT ({box.sql})"))
        came = Watched(task.delta, {"rows": "count(1)"}, job, twice=samples(task.table))
        files = write_counted(task, kept.unionByName(cast(came.rows, stored)))
        gone = sum(there.rows.values()) + came.measured["rows"] - files.rows
        if gone != facts["rows"]:
            raise _not_there(task, facts["rows"], gone)
        return Result(files, there.rows, state_bytes=there.bytes)


def _without(rows: DataFrame, going: DataFrame, types: Mapping[str, str]) -> DataFrame:
    """Rows less others, each of which takes one away; Spark's EXCEPT ALL does not take maps.

    Of equal rows those with the newest ids go, where they have any.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    values = {f"$frazil_{n}": comparable(quoted(name), kind) for n, (name, kind) in enumerate(types.items())}
    order = F.col(ROW_ID_COLUMN).desc_nulls_first() if ROW_ID_COLUMN in rows.columns else F.lit(1)
    alike = Window.partitionBy(*map(F.expr, values.values())).orderBy(order)
    ranked = rows.withColumn(_RANK, F.row_number().over(alike))
    named = going.selectExpr(*(f"{sql} AS {quoted(name)}" for name, sql in values.items()))
    counted = named.groupBy(*map(quoted, values)).agg(F.count(F.lit(1)).alias(_GONE))
    both = ranked.join(counted, F.expr(alike_sql(values)), "left")
    return both.where(f"{quoted(_RANK)} > coalesce({quoted(_GONE)}, 0)").select(*map(quoted, rows.columns))


def _not_there(task: Task, wanted: int, actual: int) -> PositionLostError:
    return PositionLostError(
        f"Rows of the inputs of {task.name} changed or went, and what they had made is not all there.",
        where=f"of {wanted} rows that go {actual} were found",
        meaning="Others changed the table, or its rows depend on more than its inputs. Nothing was changed.",
        todo=f"`frazil derive {task.name} --rebuild` recomputes all rows, in one commit.",
    )
