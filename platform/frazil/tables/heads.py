"""Loops over heads that do not go through `tables.commit` yet."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from frazil.spec.names import TableName
from frazil.tables.catalog import is_conflict, load_table
from frazil.tables.commit import TRIES

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table

__all__ = ["TRIES", "heads", "through"]


def heads(catalog: Catalog, name: TableName) -> Iterator[Table]:
    """The table as it is now, time and again, until the caller's commit is through; `TRIES` times."""
    for attempt in range(TRIES):
        if attempt:
            time.sleep(random.uniform(0, min(1.0, 0.02 * 2**attempt)))
        table = load_table(catalog, name)
        table.metadata.properties["commit.retry.num-retries"] = "0"  # in this loaded copy only
        yield table


def through(commit: Callable[[], object]) -> bool:
    """One try; False where the catalog refused, or where it is not known what became of it."""
    from pyiceberg.exceptions import CommitStateUnknownException

    try:
        commit()
    except Exception as e:
        if is_conflict(e) or isinstance(e, CommitStateUnknownException):
            return False
        raise
    return True
