"""What a failed Spark job means for a derivation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from frazil.errors import (
    CommitConflictError,
    FrazilError,
    OvertakenError,
    PartDownError,
    RepairError,
    SpecError,
)
from frazil.spec.names import TableName
from frazil.tables.catalog import STALE
from frazil.tables.spark import silent_part

__all__ = ["overtaken", "spark_job"]

_NOTHING = "Nothing of this derivation is visible; the next one starts at the same position."
_BRANCH_GONE = "Cannot use branch (does not exist)"
_CONFLICT = (
    STALE,
    "CommitFailedException",
    "CommitStateUnknownException",
    "EXTRA_COLUMNS",
    "CANNOT_FIND_DATA",
)
_EXPIRED = ("NotFoundException", "NoSuchKey", "Cannot find snapshot", "is not a parent ancestor")


@contextmanager
def spark_job(name: TableName) -> Iterator[None]:
    """Turns what Spark throws while rows of a table are made into one clear error.

    Raises:
        CommitConflictError: Another commit came in between.
        OvertakenError: Another derivation was quicker, and the one after it dropped this one's branch.
        SpecError: The query is wrong.
        RepairError: The query fails on some row.
        PartDownError: Spark, the catalog or the storage does not answer.
        FrazilError: Anything else; the server's log has the whole story.
    """
    from pyspark.errors import AnalysisException, PySparkException

    try:
        yield
    except PySparkException as e:
        text = str(e)
        known = _meaning(text, name)
        if known is None and isinstance(e, AnalysisException):
            known = _wrong(text, name)
        raise known or _failed(text, name, e.getCondition()) from e


def overtaken(name: TableName) -> OvertakenError:
    """What it means that a derivation's branch is gone: only a later one drops it."""
    return OvertakenError(
        f"Another derivation of {name} was quicker; this one was dropped.",
        meaning="Every row of the inputs counts exactly once; nothing of this derivation is visible.",
        todo="Nothing. Derive again if rows wait.",
    )


def _meaning(text: str, name: TableName) -> FrazilError | None:
    if _BRANCH_GONE in text:
        return overtaken(name)
    if any(sign in text for sign in (*_CONFLICT, *_EXPIRED)):
        return CommitConflictError(
            f"Another commit came in between while {name} was derived.",
            where=f"{text.splitlines()[0]:.200}",
            meaning=_NOTHING,
            todo="Derive again; others commit to it, or expire snapshots of its inputs, at the same time.",
        )
    if part := silent_part(text):
        return PartDownError(
            f"{part} stopped answering during a derivation.",
            where=f"{name}: {text.splitlines()[0]:.200}",
            meaning=_NOTHING,
            todo="`frazil status` shows what runs; then derive again.",
        )
    return None


def _wrong(text: str, name: TableName) -> SpecError:
    return SpecError(
        f"The query of {name} does not fit its inputs.",
        where=f"{text.splitlines()[0]:.300}",
        meaning="Nothing was derived.",
        todo="Mend the query; `frazil describe TABLE` shows the columns of its inputs.",
    )


def _failed(text: str, name: TableName, condition: str | None) -> FrazilError:
    if condition:
        return RepairError(
            f"The query of {name} fails on a row of its inputs.",
            where=f"{text.splitlines()[0]:.300}",
            meaning=_NOTHING,
            todo="Let the query say what such a row becomes: try_cast, try_divide, or a column `$$error`.",
        )
    return FrazilError(
        "The Spark job of a derivation failed.",
        where=f"{name}: {text.splitlines()[0]:.300}",
        meaning=_NOTHING,
        todo="The log of the Spark server has the whole story.",
    )
