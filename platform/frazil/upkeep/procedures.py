"""Iceberg's own procedures, called through Spark, and what Spark's refusals mean to upkeep."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from frazil.errors import CommitConflictError, FrazilError, PartDownError
from frazil.spec.names import TableName
from frazil.tables.catalog import STALE
from frazil.tables.client_properties import SPARK_CATALOG
from frazil.tables.spark import silent_part

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["call", "spark_job"]

_CONFLICT = (
    STALE,
    "CommitFailedException",
    "CommitStateUnknownException",
    "Still referenced by refs",  # a branch, a tag or a rollback took the snapshot in between
)


def call(spark: SparkSession, name: TableName, procedure: str, **arguments: str) -> list[dict[str, Any]]:
    """Calls a procedure on a table; arguments are SQL expressions. Returns the rows it answers with.

    Raises:
        CommitConflictError: Another commit came in between.
        PartDownError: Spark, the catalog or the storage stopped answering.
        FrazilError: Anything else; the server's log has the whole story.
    """
    said = ", ".join(f"{key} => {value}" for key, value in {"table": f"'{name}'", **arguments}.items())
    with spark_job(name, procedure):
        rows = spark.sql(f"CALL {SPARK_CATALOG}.system.{procedure}({said})").collect()
    return [row.asDict() for row in rows]


@contextmanager
def spark_job(name: TableName, work: str) -> Iterator[None]:
    """Turns what Spark throws during upkeep of a table into one clear error; raises as `call` does."""
    from pyspark.errors import PySparkException

    try:
        yield
    except PySparkException as e:
        raise _meaning(str(e), name, work) from e


def _meaning(text: str, name: TableName, work: str) -> FrazilError:
    where = f"{work} on {name}: {text.splitlines()[0]:.300}"
    if any(sign in text for sign in _CONFLICT):
        return CommitConflictError(
            f"Another commit to {name} came in between.",
            where=where,
            meaning="The table is as the others left it.",
            todo="Try again.",
        )
    if part := silent_part(text):
        return PartDownError(
            f"{part} stopped answering during upkeep.",
            where=where,
            meaning="No row is lost or doubled; files that nothing names any more may be left over.",
            todo="`frazil status` shows what runs; then try again. `frazil orphans` removes leftovers.",
        )
    return FrazilError(
        "A Spark job of upkeep failed.",
        where=where,
        meaning="No row is lost or doubled; files that nothing names any more may be left over.",
        todo="The log of the Spark server has the whole story.",
    )
