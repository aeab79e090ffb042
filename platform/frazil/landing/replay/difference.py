"""What a table's head has of some spans, and how that differs from what was read of them now."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from frazil.landing.plan import Plan
from frazil.landing.position.ledger import Ledger, read_ledger
from frazil.landing.repairs.selection import letters_within, offset_columns
from frazil.quoting import quoted
from frazil.spec.names import TableName
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.commits.erasure import forgettings, has_forgotten
from frazil.tables.keys import Key, keys_in, within, within_sql
from frazil.tables.reading.frame import files_frame
from frazil.tables.rewrites.remainder import Holding, Sought, find_holding
from frazil.tables.spark.faults import Job, spark_job
from frazil.tables.spark.session import at_snapshot

if TYPE_CHECKING:
    from pyiceberg.manifest import DataFile
    from pyiceberg.table import Table
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Present:
    """What one head has of the spans.

    Attributes:
        holding: The files that have rows of them.
        letters: The dead letters of these spans that no row is of.
        redriven: Those that a row is of.
        forgot: Whether dead letters of the table were forgotten, or rows of it, of which none was kept then:
            some may be missing above.
        looks: How often somebody looked for such dead letters, and for rows, to forget them.
    """

    table: Table
    ledger: Ledger
    holding: Holding
    letters: frozenset[Key]
    redriven: frozenset[Key]
    forgot: bool
    looks: tuple[int, int] = (0, 0)

    @property
    def head(self) -> int:
        """The snapshot that was looked at."""
        return self.table.metadata.current_snapshot_id or 0


def find_present(spark: SparkSession, spec: TableSpec, table: Table, plan: Plan, job: Job) -> Present:
    """Looks at the head: which files have rows of the spans, and which dead letters are there.

    Raises:
        CommitConflictError: Statistics of a file are wrong.
    """
    names, ledger = offset_columns(spec), read_ledger(table.metadata)
    assert ledger, "the plan is of one"
    sql, expression = within_sql(plan.busy, names), within(plan.busy, names)
    sought = Sought(sql, expression, "replayed", "Nothing was changed.", "replay")
    holding = find_holding(spark, table, sought, job)
    letters = letters_within(TableHandle.of(table), ledger, plan.busy)
    redriven = keys_in(table, letters, names)
    # Behind the look: who forgets says so at once.
    kept = TableHandle.of(table).dead_letters.load_or_none()
    return Present(
        table=table,
        ledger=ledger,
        holding=holding,
        letters=frozenset(letters - redriven),
        redriven=frozenset(redriven),
        forgot=any(has_forgotten(each.metadata) for each in (kept, table) if each),
        looks=(forgettings(kept.metadata) if kept else 0, forgettings(table.metadata)),
    )


@dataclass(frozen=True, slots=True)
class Difference:
    """How the rows of a head differ from new ones, by their partitions and offsets.

    Attributes:
        gone: How many rows of the head have no new one.
        back: How many new ones the head has no row of.
        mended: Of some dead letters those that are new rows.
    """

    gone: int
    back: int
    mended: frozenset[Key]


def difference(
    spark: SparkSession,
    name: TableName,
    present: Present,
    new: Sequence[DataFile],
    sql: str,
    names: tuple[str, str],
    letters: Collection[Key],
    job: Job,
) -> Difference:
    """Compares a head's rows with those of new files; `sql` is true of the head's rows in question."""
    columns = [quoted(name) for name in names]
    with spark_job(job):
        old = at_snapshot(spark, name, present.head).where(sql).select(*columns)
        now = files_frame(spark, present.table, new).select(*columns)
        gone = old.join(now, list(names), "left_anti").count()
        back = now.join(old, list(names), "left_anti").count()
        return Difference(gone, back, _among(now, letters, names))


def _among(rows: DataFrame, letters: Collection[Key], names: tuple[str, str]) -> frozenset[Key]:
    """Those of some dead letters that are rows."""
    import pyarrow as pa

    if not letters:
        return frozenset()
    partitions, offsets = ([key[part] for key in letters] for part in (0, 1))
    places = {names[0]: pa.array(partitions, pa.int32()), names[1]: pa.array(offsets, pa.int64())}
    met = rows.join(rows.sparkSession.createDataFrame(pa.table(places)), list(names), "left_semi")
    return frozenset((row[0], row[1]) for row in met.collect())
