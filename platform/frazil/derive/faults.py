"""What a derivation says where its Spark job failed: what is wrong with the query, and who was quicker."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from frazil.derive.ledger import read_derived
from frazil.errors import CommitConflictError, FrazilError, OvertakenError, RepairError, SpecError
from frazil.spec.names import TableName
from frazil.tables.catalog import load_table
from frazil.tables.faults import Job, first_line

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyspark.errors import PySparkException

__all__ = ["derivation_job", "overtaken"]

_ROW = ("21", "22", "23", "38", "39", "54", "P0")
"""Classes of SQL states that blame a value: wrong, too big, raised by the query or by a function of it."""

_UNSEEN = "Nothing of this derivation is visible; the next one starts at the same position."
_EXPIRED = (
    "iceberg.exceptions.NotFoundException",
    "NoSuchKey",
    "Cannot find snapshot",
    "is not a parent ancestor",
)


def derivation_job(name: TableName, table: Table | None = None) -> Job:
    """A job that makes rows of a table.

    Args:
        name: The table.
        table: As it was when the work on its branch began; None where nothing is written.
    """
    return Job(
        work="derivation",
        of=str(name),
        unseen=_UNSEEN,
        again="Derive again.",
        known=partial(_expired, name),
        otherwise=partial(_by_the_query, name),
        overtaken=lambda: overtaken(name) if table and _moved_on(name, table) else None,
    )


def overtaken(name: TableName) -> OvertakenError:
    """Another derivation published meanwhile."""
    return OvertakenError(
        f"Another derivation of {name} was quicker; this one was dropped.",
        meaning="Every row of the inputs counts exactly once; nothing of this derivation is visible.",
        todo="Nothing. Derive again if rows wait.",
    )


def _moved_on(name: TableName, before: Table) -> bool:
    return read_derived(load_table(before.catalog, name).metadata) != read_derived(before.metadata)


def _expired(name: TableName, text: str) -> FrazilError | None:
    if not any(sign in text for sign in _EXPIRED):
        return None
    return CommitConflictError(
        f"A snapshot or a file that {name} is made of was removed while it was read.",
        where=first_line(text),
        meaning=_UNSEEN,
        todo="Derive again: others expire or rewrite the inputs at the same time.",
    )


def _by_the_query(name: TableName, error: PySparkException) -> FrazilError | None:
    from pyspark.errors import AnalysisException, PythonException

    if isinstance(error, AnalysisException):
        return SpecError(
            f"The query of {name} does not fit its inputs.",
            where=first_line(str(error)),
            meaning="Nothing was derived.",
            todo="Mend the query; `frazil describe TABLE` shows the columns of its inputs.",
        )
    if isinstance(error, PythonException) or (error.getSqlState() or "").startswith(_ROW):
        return RepairError(
            f"The query of {name} fails on a row of its inputs.",
            where=first_line(str(error)),
            meaning=_UNSEEN,
            todo="Let the query say what such a row becomes: try_cast, try_divide, or a column `$$error`.",
        )
    return None
