"""What tables took and cost, as the pages show it."""

from __future__ import annotations

import time
from typing import Any

from frazil.cli.costs.cost import costs_of, document_of
from frazil.cli.selection import select
from frazil.costs.prices import load_prices
from frazil.costs.units import Grouping, Period
from frazil.upkeep.work import MB

DAYS = 30
"""The time that is looked at."""

_COUNTS = ("records", "files", "commits", "writes", "reads", "task_seconds")
_SIZES = ("bytes_in", "bytes_written", "live_bytes", "history_bytes")


def read_costs(by: Grouping, name: str = "") -> dict[str, Any]:
    """What all tables took, or one; see `frazil cost --json`.

    Raises:
        FrazilError: There is no such table, or the list of prices has a mistake.
    """
    now = time.time()
    period = Period(now - DAYS * 86400, now)
    selection = select([name], every=False) if name else select((), every=True)
    prices = load_prices(selection.connections.settings.prices)
    results = costs_of(selection, period)
    document = document_of(results.reports, by, period, prices)
    return {**document, "shown": [_shown(row, by, prices.currency) for row in document["rows"]]}


def _shown(row: dict[str, Any], by: Grouping, currency: str) -> dict[str, Any]:
    counts = {name.replace("_", " "): row.get(name) for name in _COUNTS}
    sizes = {name.replace("bytes", "MB").replace("_", " "): _mb(row.get(name)) for name in _SIZES}
    return {by: row[by], **counts, **sizes, currency: row["cost"]}


def _mb(size: float | None) -> float | None:
    return None if size is None else round(size / MB, 1)
