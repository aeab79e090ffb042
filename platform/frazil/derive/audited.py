"""Rows written upon a branch, counted on their way, and compared with what the new files say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from frazil.derive.faults import derivation_job
from frazil.derive.work import Task
from frazil.derive.write import append
from frazil.errors import AuditFailedError
from frazil.spec.names import TableName
from frazil.tables.faults import spark_job
from frazil.tables.stage import StagedFiles

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["asked", "write_counted"]

Measures = Mapping[str, str]
"""Aggregates in SQL, by alias."""


def write_counted(task: Task, rows: DataFrame, measures: Measures) -> tuple[StagedFiles, dict[str, Any]]:
    """Appends rows to the task's branch; returns the new files, and what was measured on the way.

    Raises:
        AuditFailedError: The files hold more rows or fewer.
        FrazilError: See `append`.
    """
    from pyspark.sql import Observation
    from pyspark.sql import functions as F

    wanted = {"written": "count(1)", **measures}
    seen = Observation("written")
    watched = rows.observe(seen, *(F.expr(e).alias(a) for a, e in wanted.items()))
    files = append(task.connections.catalog, task.name, task.table, watched, task.branch, task.spec.write)
    # A busy Connect server waits 100 ms for what was observed, and then sends none.
    found = seen.get or asked(task.name, rows, wanted)
    _audit(task.name, found["written"], files)
    task.done("written")
    return files, found


def asked(name: TableName, rows: DataFrame, measures: Measures) -> dict[str, Any]:
    """Aggregates over some rows."""
    from pyspark.sql import functions as F

    with spark_job(derivation_job(name)):
        found: dict[str, Any] = (
            rows.agg(*(F.expr(e).alias(a) for a, e in measures.items())).collect()[0].asDict()
        )
    return found


def _audit(name: TableName, written: int, files: StagedFiles) -> None:
    if files.rows != written:
        raise AuditFailedError(
            f"A derivation of {name} does not add up.",
            where=f"{written} rows written, {files.rows} in the new files",
            meaning="Nothing of it is visible; the table is as it was.",
            todo="Derive again. If it happens twice, it is a defect of Frazil: please report these numbers.",
        )
