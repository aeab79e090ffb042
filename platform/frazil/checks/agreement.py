"""Does a derived table hold what its query makes of its whole inputs? All of both is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil.checks.result import Number, Subject, Verdict
from frazil.derive.columns import cast, types_in, types_of
from frazil.derive.inputs import rows_of, whole
from frazil.derive.ledger import read_derived
from frazil.derive.recomputation import Recomputation
from frazil.quoting import quoted
from frazil.spec.derived import DerivedSpec
from frazil.tables.catalog import load_table

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyspark.sql import DataFrame

__all__ = ["compare_query"]

_SIDE = "$frazil_side"
_DIGITS = "%.9g"
"""Sums of floating-point numbers differ by their order, in digits far behind these."""


def compare_query(subject: Subject[DerivedSpec]) -> Verdict:
    """All rows against those of the query upon the inputs, as of the snapshots that were read."""
    table = load_table(subject.connections.catalog, subject.things.table)
    ledger = read_derived(table.metadata)
    if ledger is None:
        return Verdict.skip("nothing was derived yet")
    anew = Recomputation(subject.spec, subject.connections, ledger)
    inputs = ", ".join(sorted(ledger.inputs))
    if hindrance := anew.hindrance:
        return Verdict.skip(f"the rows can't be made anew of {inputs}: {hindrance}")
    with anew.rows() as rows:
        missing, extra = _differences(_held(subject, table), rows, table)
    agree = missing == extra == 0
    name = subject.things.table
    text = (
        f"{ledger.total_rows} rows against the query upon {inputs}, as read last: {missing} are missing, "
        f"{extra} are too many{'.' if agree else f': `frazil derive {name} --rebuild` makes them anew.'}"
    )
    numbers: dict[str, Number] = {"missing": missing, "extra": extra, "compared": 1}
    return Verdict(agree, text, numbers)


def _held(subject: Subject[DerivedSpec], table: Table) -> DataFrame:
    return rows_of(subject.connections.spark, subject.things.table, table, whole(table))


def _differences(held: DataFrame, made: DataFrame, table: Table) -> tuple[int, int]:
    """Rows of `made` that `held` lacks, and rows of it that it should not have."""
    from pyspark.sql import functions as F

    types = {name: kind for name, kind in types_of(table).items() if name in made.columns}
    have, want = (_comparable(cast(rows, types)) for rows in (held, made))
    both = have.withColumn(_SIDE, F.lit(-1)).unionByName(want.withColumn(_SIDE, F.lit(1)))
    per_row = both.groupBy(*map(quoted, types)).agg(F.sum(quoted(_SIDE)).alias("n"))
    found = per_row.agg(F.sum(F.greatest("n", F.lit(0))), F.sum(F.greatest(-F.col("n"), F.lit(0)))).collect()
    missing, extra = found[0]
    return int(missing or 0), int(extra or 0)


def _comparable(rows: DataFrame) -> DataFrame:
    """Maps, which Spark does not group by, as JSON; floating-point numbers as text."""
    return rows.selectExpr(
        *(f"{_said(name, kind)} AS {quoted(name)}" for name, kind in types_in(rows).items())
    )


def _said(name: str, kind: str) -> str:
    if "map<" in kind:
        return f"to_json(struct({quoted(name)}))"
    return f"format_string('{_DIGITS}', {quoted(name)})" if kind in ("float", "double") else quoted(name)
