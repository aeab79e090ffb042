"""How long commits took to reach each layer: of landings by the table's own snapshots."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from frazil.landing.position.ledger import ledgers
from frazil.tables.metadata.snapshots import made_at

if TYPE_CHECKING:
    from pyiceberg.table.metadata import TableMetadata

SHARES = (0.5, 0.95, 0.99)
"""Of the delays that `Delays.quantiles` tells of."""


@dataclass(frozen=True, slots=True)
class Delay:
    """One commit that reached a layer: when, in seconds since the epoch, and after how many seconds."""

    at: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Delays:
    """All that is known of one layer of one table; None: nobody kept it."""

    known: tuple[Delay, ...] | None

    def quantiles(self) -> tuple[float, ...]:
        """For each of `SHARES` the delay that so many did not exceed; nothing where there is none."""
        ordered = sorted(delay.seconds for delay in self.known or ())
        ranks = (max(0, math.ceil(share * len(ordered)) - 1) for share in SHARES)
        return tuple(ordered[rank] for rank in ranks) if ordered else ()

    def highest(self, start: float, end: float, parts: int) -> list[float | None]:
        """The longest delay of each part of a time; None where nothing came."""
        highest: list[float | None] = [None] * parts
        for delay in self.known or ():
            part = int((delay.at - start) / (end - start) * parts)
            if 0 <= part < parts:
                highest[part] = max(highest[part] or 0.0, delay.seconds)
        return highest


def landing_delays(metadata: TableMetadata, since: float) -> Delays:
    """From the newest record of each landing to its snapshot, as far back as snapshots are kept."""
    return Delays(tuple(_since(_landings(metadata), since)))


def _landings(metadata: TableMetadata) -> Iterator[Delay]:
    for snapshot, ledger in ledgers(metadata):
        if ledger.is_landing and ledger.read and ledger.max_timestamp is not None:
            late = (snapshot.timestamp_ms - ledger.max_timestamp) / 1000
            yield Delay(made_at(snapshot), max(0.0, late))


def _since(delays: Iterable[Delay], since: float) -> Sequence[Delay]:
    return [delay for delay in delays if delay.at >= since]
