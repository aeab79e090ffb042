"""How long commits took to reach each layer: of landings by the table's own snapshots."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from frazil.landing.position.ledger import Ledger, ledgers
from frazil.tables.commits.stage import OLDER, record_times
from frazil.tables.metadata.snapshots import made_at, summary_of

if TYPE_CHECKING:
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.table.snapshots import Snapshot

SHARES = (0.5, 0.95, 0.99)
"""Of the delays that `Delays.quantiles` gives; those of records come from `OLDER`."""

_STEPS = 5
"""Parts between two shares that a landing tells of, within which its records are taken as evenly spread."""

_ALMOST = 1 - 1e-9
"""Sums of shares are not exact."""

Part = tuple[float, float]
"""Seconds, and how many records, or commits, took no longer."""


@dataclass(frozen=True, slots=True)
class Delay:
    """One commit that reached a layer: when, in seconds since the epoch, and after how many seconds.

    Args:
        seconds: Of a landing from its newest record.
        records: Of a landing how long its records took, as far as is known.
    """

    at: float
    seconds: float
    records: tuple[Part, ...] = ()

    @property
    def parts(self) -> tuple[Part, ...]:
        """Its records, or itself as one."""
        return self.records or ((self.seconds, 1.0),)

    @property
    def longest(self) -> float:
        """What 99 of 100 of its records did not exceed."""
        return max(seconds for seconds, _ in self.parts)


@dataclass(frozen=True, slots=True)
class Delays:
    """All that is known of one layer of one table; None: nobody kept it."""

    known: tuple[Delay, ...] | None

    @property
    def parts(self) -> list[Part]:
        """All records, or commits, the quickest first."""
        return sorted(part for delay in self.known or () for part in delay.parts)

    def quantiles(self) -> tuple[float, ...]:
        """For each of `SHARES` the delay that so many did not exceed; nothing where there is none."""
        parts = self.parts
        sums = [*accumulate(number for _, number in parts)]
        places = (bisect_left(sums, share * sums[-1] * _ALMOST) for share in SHARES if sums)
        return tuple(parts[place][0] for place in places)

    def highest(self, start: float, end: float, parts: int) -> list[float | None]:
        """The longest delay of each part of a time; None where nothing came."""
        highest: list[float | None] = [None] * parts
        for delay in self.known or ():
            part = int((delay.at - start) / (end - start) * parts)
            if 0 <= part < parts:
                highest[part] = max(highest[part] or 0.0, delay.longest)
        return highest


def landing_delays(metadata: TableMetadata, since: float) -> Delays:
    """From the records of each landing to its snapshot, as far back as snapshots are kept."""
    return Delays(tuple(_since(_landings(metadata), since)))


def _landings(metadata: TableMetadata) -> Iterator[Delay]:
    for snapshot, ledger in ledgers(metadata):
        if ledger.is_landing and ledger.read and ledger.max_timestamp is not None:
            yield _delay(snapshot, ledger, ledger.max_timestamp)


def _delay(snapshot: Snapshot, ledger: Ledger, newest: int) -> Delay:
    """A landing whose snapshot tells of its newest record only counts as if all were as new."""
    times = record_times(summary_of(snapshot))
    late, *older = (max(0.0, (snapshot.timestamp_ms - at) / 1000) for at in (newest, *times))
    parts = _parts(late, older) if older else [(late, 1.0)]
    records = tuple((seconds, share * ledger.read) for seconds, share in parts)
    return Delay(made_at(snapshot), late, records)


def _parts(newest: float, older: Sequence[float]) -> Iterator[Part]:
    """Seconds, and the share of records that took so long, by the delays of the shares in `OLDER`.

    Records older than the last share but one all count as late as the last one.
    """
    *between, oldest = older
    steps = zip(pairwise((newest, *between)), pairwise((1.0, *OLDER[:-1])), strict=True)
    for (low, high), (more, less) in steps:
        for step in range(1, _STEPS + 1):
            yield low + (high - low) * step / _STEPS, (more - less) / _STEPS
    yield oldest, OLDER[-2]


def _since(delays: Iterable[Delay], since: float) -> Sequence[Delay]:
    return [delay for delay in delays if delay.at >= since]
