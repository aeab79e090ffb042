"""A commit that is bound to the head that it was made for, tried again on the next head."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from frazil.spec.names import TableName
from frazil.tables.catalog import is_conflict, load_table

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table

__all__ = ["TRIES", "heads", "through"]

TRIES = 30
_LONGEST_WAIT = 1.0


def heads(catalog: Catalog, name: TableName) -> Iterator[Table]:
    """The table as it is now, time and again, until the caller's commit is through; `TRIES` times.

    PyIceberg's own retry is off in what is handed out: it would commit again without looking.
    """
    for attempt in range(TRIES):
        if attempt:
            time.sleep(random.uniform(0, min(_LONGEST_WAIT, 0.02 * 2**attempt)))
        table = load_table(catalog, name)
        table.metadata.properties["commit.retry.num-retries"] = "0"  # in this loaded copy only
        yield table


def through(commit: Callable[[], object]) -> bool:
    """One try; False where the catalog refused, or where it is not known what became of it."""
    try:
        commit()
    except Exception as e:
        if is_conflict(e):
            return False
        raise
    return True
