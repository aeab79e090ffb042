"""Rows that Spark writes upon a branch of the output, where nobody reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import stamina

from frazil.derive.faults import derivation_job
from frazil.derive.spark_types import cast, types_of
from frazil.errors import CommitConflictError
from frazil.spec.layout import Write
from frazil.spec.names import TableName
from frazil.tables.catalog import load_table
from frazil.tables.faults import Job, branch_gone, spark_job
from frazil.tables.spark import spark_name
from frazil.tables.stage import StagedFiles, staged_files

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table
    from pyspark.sql import DataFrame


__all__ = ["MARK", "append"]

MARK = {"frazil.plan": "derivation"}
"""In summaries of snapshots that are a branch's, and never on `main`."""

_WRITES = 12
"""Times that a branch is written where others commit to the table all the while."""


def append(
    catalog: Catalog, name: TableName, table: Table, rows: DataFrame, branch: str, write: Write
) -> StagedFiles:
    """Appends rows to a branch that is there; returns the files that hold them.

    Raises:
        FrazilError: See `spark_job`.
    """
    fitting, job = cast(rows, types_of(table)), derivation_job(name, table)
    for attempt in stamina.retry_context(on=CommitConflictError, attempts=_WRITES, wait_max=1.0):
        with attempt, spark_job(job):
            writer = fitting.writeTo(spark_name(name, branch))
            for key, value in MARK.items():
                writer = writer.option(f"snapshot-property.{key}", value)
            if write.distribution == "none":  # a sort order is for rewritten files
                writer = writer.option("use-table-distribution-and-ordering", "false")
            writer.option("fanout-enabled", "true").append()
    return _written(load_table(catalog, name), branch, job)


def _written(table: Table, branch: str, job: Job) -> StagedFiles:
    if files := staged_files(table, branch):
        return files
    raise branch_gone(job)
