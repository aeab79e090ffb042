"""Rows that a branch names, where Spark reads them once more before they are published: tasks write them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from frazil.errors import CommitConflictError
from frazil.spec.names import TableName
from frazil.tables.commit import commit
from frazil.tables.faults import Job, branch_gone
from frazil.tables.pyiceberg import transaction

if TYPE_CHECKING:
    from pyiceberg.table import Table, Transaction
    from pyspark.sql import DataFrame


def append_rows(
    rows: DataFrame, table: Table, name: TableName, branch: str, said: Mapping[str, str], job: Job
) -> None:
    """Writes rows to files, and appends these to a branch that is there, in one commit.

    Args:
        said: Stands in the summary of the new snapshot.
        job: Whose branch it is.

    Raises:
        CommitConflictError: The table has other partitions by now, or others committed time and again.
        OvertakenError: The branch is gone, for others published meanwhile.
        RetryError: It is gone for its age.
        DifferentError: The table asks something of its files that no task can give them.
        PySparkException: The rows can't be made or read, or a task can't write them.
    """
    from frazil.tables.insertion import insert_rows

    files = insert_rows(rows, table)

    def stage(now: Table) -> Transaction:
        if branch not in now.metadata.refs:
            raise branch_gone(job)
        if any(file.spec_id != now.spec().spec_id for file in files):
            raise _divided_anew(name, job)
        tx = transaction(now)
        with tx.update_snapshot(snapshot_properties=dict(said), branch=branch).fast_append() as append:
            for file in files:
                append.append_data_file(file)
        return tx

    commit(table.catalog, name, stage, work="branch", todo=job.again)


def _divided_anew(name: TableName, job: Job) -> CommitConflictError:
    return CommitConflictError(
        f"The partitions of {name} were changed while a {job.work} was written.",
        meaning=job.unseen,
        todo=job.again,
    )
