"""What Spark's Python workers can write by themselves, and how long their files may wait for a commit."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from frazil.tables.commits.commit import LONGEST
from frazil.tables.reading.held import are_parquet

if TYPE_CHECKING:
    from datetime import timedelta

    from pyiceberg.manifest import DataFile
    from pyiceberg.table import Table

IN_MEMORY = 256 * 2**20
"""Bytes of a new file of a partition, which waits in a worker's memory until it is done."""


def may_move(table: Table, files: Iterable[DataFile], largest: int) -> bool:
    """Whether single tasks can move a table's files into new ones of about `largest` bytes at most."""
    return are_parquet(files) and (table.spec().is_unpartitioned() or largest <= IN_MEMORY)


def lifetime(orphans_after: timedelta) -> float:
    """Seconds within which files that no snapshot names are published, or never."""
    return min(orphans_after.total_seconds() / 2, LONGEST)


def latest_commit(orphans_after: timedelta, since: float | None = None) -> float:
    """Until when files are published that are written from now on, or since then; in seconds of the epoch."""
    return (time.time() if since is None else since) + lifetime(orphans_after)
