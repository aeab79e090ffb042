"""Rows that are deleted and stay: with the values that they had last, and the marks of their delete.

The marks are the metadata columns: where the deleting record is, what it did, and since when the row is gone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from frazil.formats.columns.columns import deleted_name, names_by_word
from frazil.formats.types import from_iceberg, spark_type
from frazil.landing.upsert.order import newest_first, with_candidates
from frazil.landing.upsert.words import DELETED, OFFSET, PARTITION, ROW, TOMBSTONE
from frazil.quoting import literal, quoted
from frazil.spec.topic import TableSpec

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyspark.sql import DataFrame, WindowSpec

_BEFORE, _PUT, _VALUES = (f"$frazil_{word}" for word in ("before", "put", "values"))
_LSN = "source-lsn"  # a tombstone has none: then the row keeps its own
_MARK = "$frazil_mark_"


def mark_types(spec: TableSpec, table: Table) -> dict[str, str]:
    """The columns that a delete fills anew, with Spark's types; none where rows go."""
    if not spec.keeps_deleted:
        return {}
    own = set(names_by_word(spec).values())
    return {f.name: spark_type(f.type) for f in from_iceberg(table.schema()) if f.name in own}


def is_deleted(spec: TableSpec) -> str:
    """Whether a row of the table is deleted, as SQL."""
    name = deleted_name(spec)
    return f"coalesce({quoted(name)}, false)" if name else "false"


def without_echoes(changes: DataFrame, of_key: WindowSpec) -> DataFrame:
    """The changes without tombstones that follow the delete of their row, and know less of it."""
    from pyspark.sql import functions as F

    there = F.struct(F.col(quoted(PARTITION)).alias("partition"), F.col(quoted(DELETED)).alias("deleted"))
    by_offset = of_key.orderBy(quoted(PARTITION), F.desc(quoted(OFFSET)))
    before, here = quoted(_BEFORE), quoted(PARTITION)
    echo = f"{quoted(TOMBSTONE)} AND {before}.deleted AND {before}.partition = {here}"
    seen = changes.withColumn(_BEFORE, F.lead(there).over(by_offset))
    return seen.where(f"NOT coalesce({echo}, false)").drop(_BEFORE)


def with_values(changes: DataFrame, of_key: WindowSpec, spec: TableSpec) -> DataFrame:
    """Adds to each change the row that the last one left which was no delete: null where there is none."""
    from pyspark.sql import functions as F

    puts = with_candidates(changes, of_key, spec, _PUT, puts=True)
    newest = of_key.orderBy(F.desc(quoted(_PUT)), *newest_first(spec))
    values = F.first(F.expr(f"CASE WHEN {quoted(_PUT)} THEN {quoted(ROW)} END")).over(newest)
    return puts.withColumn(_VALUES, values).drop(_PUT)


def filled(changes: DataFrame, spec: TableSpec, columns: Iterable[str], marks: Collection[str]) -> DataFrame:
    """Changes in which a delete has the last values of its row; it stays bare where these are not known."""
    from pyspark.sql import functions as F

    lsn = quoted(names_by_word(spec)[_LSN])
    taken = {c: f"{quoted(ROW if c in marks else _VALUES)}.{quoted(c)}" for c in columns}
    taken |= {names_by_word(spec)[_LSN]: f"coalesce({quoted(ROW)}.{lsn}, {quoted(_VALUES)}.{lsn})"}
    parts = ", ".join(f"{literal(c)}, {sql}" for c, sql in taken.items())
    known = f"{quoted(DELETED)} AND {quoted(_VALUES)} IS NOT NULL"
    row = F.expr(f"CASE WHEN {known} THEN named_struct({parts}) ELSE {quoted(ROW)} END")
    bare = F.expr(f"{quoted(DELETED)} AND {quoted(_VALUES)} IS NULL")
    return changes.withColumn(ROW, row).withColumn(DELETED, bare).drop(_VALUES)


def marked(
    rows: DataFrame, ends: DataFrame, spec: TableSpec, key: Collection[str], marks: Mapping[str, str]
) -> DataFrame:
    """Those rows of a table whose keys end, with the marks of what ended them."""
    new = {c: _MARK + c for c in marks}
    told = ends.selectExpr(*map(quoted, key), *(f"{quoted(c)} AS {quoted(to)}" for c, to in new.items()))
    met = rows.join(told, list(key))
    lsn = names_by_word(spec)[_LSN]
    taken = {c: quoted(new.get(c, c)) for c in rows.columns} | {
        lsn: f"coalesce({quoted(new[lsn])}, {quoted(lsn)})"
    }
    return met.selectExpr(*(f"{sql} AS {quoted(c)}" for c, sql in taken.items()))
