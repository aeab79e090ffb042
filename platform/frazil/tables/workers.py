"""Spark's Python workers where they write data files by themselves: whether they can, and what if not."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from frazil.errors import FrazilError, NotAllowedError
from frazil.tables.commit import LONGEST
from frazil.tables.faults import cause_line
from frazil.tables.spark import shares_workers
from frazil.tables.unwritable import takes_files

if TYPE_CHECKING:
    from datetime import timedelta

    from pyiceberg.manifest import DataFile
    from pyiceberg.table import Table
    from pyspark.sql import SparkSession

_log = logging.getLogger(__name__)

_CLOSED = "spark.frazil.lane"
"""Setting of a Spark session: says that its workers lack what they need for it."""

IN_MEMORY = 256 * 2**20
"""Bytes of a new file of a partition, which waits in a worker's memory until it is done."""

_TOLD: dict[tuple[str, str], None] = {}
"""What was said as a warning, and is not said so again: table, and work and reason without numbers."""

_MOST_TOLD = 1000
_NUMBERS = re.compile(r"[0-9a-f-]*\d[0-9a-f-]*")

_OF_WORKERS = (FrazilError, NotAllowedError)
"""Errors of a job that Spark's own way may not have: those of Python, of its memory, and of its keys for S3,
which Spark renews and a task can't. Of the parts that both ways need, others tell."""


def are_open(spark: SparkSession) -> bool:
    """Whether a session's workers may write data files; they stay closed where they lacked something."""
    return shares_workers(spark) and not spark.conf.get(_CLOSED, "")


def may_rewrite(spark: SparkSession, table: Table, files: Iterable[DataFile], largest: int) -> bool:
    """Whether they may write files of a table anew; `largest` is about the bytes of the largest new one."""
    return takes_files(table) and may_move(table, files, largest) and are_open(spark)


def may_move(table: Table, files: Iterable[DataFile], largest: int) -> bool:
    """Whether tasks can move a table's files into new ones of at most so many bytes, about, by columns."""
    from pyiceberg.manifest import FileFormat

    is_parquet = all(f.file_format == FileFormat.PARQUET for f in files)
    return is_parquet and (table.spec().is_unpartitioned() or largest <= IN_MEMORY)


def lifetime(orphans_after: timedelta) -> float:
    """Seconds within which files that no snapshot names are published, or never."""
    return min(orphans_after.total_seconds() / 2, LONGEST)


def give_up(spark: SparkSession, error: FrazilError, work: str, table: str) -> None:
    """Says that Spark does it; from now on, where its workers lack what all such work would need.

    `work` is what Spark does, such as `decodes and writes`. Raises the error where Spark would fail as well.
    """
    if type(error) not in _OF_WORKERS:
        raise error
    said = str(error.__cause__)
    missing = next((line for line in said.splitlines() if "ModuleNotFoundError:" in line), "")
    if missing:
        spark.conf.set(_CLOSED, "closed")
    what = "Spark's workers lack what the Arrow lane needs" if missing else "The Arrow lane's tasks failed"
    why = missing.strip() or cause_line(said)
    level = logging.WARNING if _is_news(table, f"{work}: {_NUMBERS.sub('', why)}") else logging.INFO
    _log.log(level, f"{what} for table {table}: {why}; Spark {work}", extra={"table": table, "why": why})


def _is_news(table: str, said: str) -> bool:
    """Whether it was not said of the table before, as far as that is remembered."""
    news = (table, said) not in _TOLD
    _TOLD[table, said] = None
    if len(_TOLD) > _MOST_TOLD:
        del _TOLD[next(iter(_TOLD))]
    return news
