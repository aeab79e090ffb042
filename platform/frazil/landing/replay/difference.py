"""What a table's head has of some spans, and how that differs from what was read of them now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from frazil.landing.ledger import Ledger, read_ledger
from frazil.landing.plan import Plan
from frazil.landing.selection import letters_within, offset_columns
from frazil.quoting import quoted
from frazil.spec.names import TableName
from frazil.spec.topic import TableSpec
from frazil.tables.catalog import load_table_or_none
from frazil.tables.erasure import forgettings, has_forgotten
from frazil.tables.faults import Job, spark_job
from frazil.tables.keys import Key, keys_in, within, within_sql
from frazil.tables.remainder import Holding, Sought, find_holding
from frazil.tables.spark import at_snapshot, spark_name

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyspark.sql import SparkSession


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


def find_present(
    spark: SparkSession, spec: TableSpec, name: TableName, table: Table, plan: Plan, job: Job
) -> Present:
    """Looks at the head: which files have rows of the spans, and which dead letters are there.

    Raises:
        CommitConflictError: Statistics of a file are wrong.
    """
    names, ledger = offset_columns(spec), read_ledger(table.metadata)
    assert ledger, "the plan is of one"
    sql, expression = within_sql(plan.busy, names), within(plan.busy, names)
    sought = Sought(sql, expression, "replayed", "Nothing was changed.", "replay")
    holding = find_holding(spark, name, table, sought, job)
    letters = letters_within(table.catalog, name, ledger, plan.busy)
    redriven = keys_in(table, letters, names)
    kept = load_table_or_none(
        table.catalog, name.dead_letters
    )  # behind the look: who forgets says so at once
    return Present(
        table=table,
        ledger=ledger,
        holding=holding,
        letters=frozenset(letters - redriven),
        redriven=frozenset(redriven),
        forgot=any(has_forgotten(each.metadata) for each in (kept, table) if each),
        looks=(forgettings(kept.metadata) if kept else 0, forgettings(table.metadata)),
    )


def differences(
    spark: SparkSession,
    name: TableName,
    head: int,
    new: tuple[int, int],
    sql: str,
    names: tuple[str, str],
    job: Job,
) -> tuple[int, int]:
    """How many rows of a head have no new one of their offset, and how many new ones have no such row.

    `new` are two snapshots of a branch: what came behind the first one, up to the second one.
    """
    columns = [quoted(name) for name in names]
    with spark_job(job):
        old = at_snapshot(spark, name, head).where(sql).select(*columns)
        came = spark.read.option("start-snapshot-id", str(new[0])).option("end-snapshot-id", str(new[1]))
        now = came.table(spark_name(name)).select(*columns)
        gone = old.join(now, list(names), "left_anti").count()
        back = now.join(old, list(names), "left_anti").count()
    return gone, back
