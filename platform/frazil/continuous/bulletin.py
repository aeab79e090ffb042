"""What others, such as Dagster, hear of a runner's work: in batches, for each event costs them something."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from frazil.checks.result import CheckResult
from frazil.continuous.schedule import Clock, Pace
from frazil.derive.derive import DeriveReport
from frazil.landing.report import LandingReport, sum_of
from frazil.publishing.target import Shown
from frazil.reporting import Done, Failure, Reporter, is_news, tell_each
from frazil.spec.names import AssetPath
from frazil.spec.table import AnyTable
from frazil.spec.topic import TableSpec

EVERY = 60.0
"""Seconds between two batches; Dagster's storage takes 15 ms of CPU for each of its events."""

_SHARE = 0.05
"""Most of the time that batches may take: with very many busy tables they come less often."""

HELD_FOR = 3 * EVERY
"""Seconds after which nobody believes any more that a silent runner lands its tables."""

T = TypeVar("T", LandingReport, DeriveReport)


@dataclass(frozen=True, slots=True)
class Batch:
    """The tables that were worked on, and what was done."""

    touched: Sequence[AnyTable]
    gathered: Sequence[tuple[AnyTable, Done]]


class Bulletin:
    """Gathers what was done, and tells it: one event a table for all of its landings since the last batch.

    Tables are told in the order of `specs`, each after those that it is made of. A batch has a landing
    together with what followed it, so that Dagster's automation finds nothing to do.
    """

    def __init__(
        self,
        reporters: Sequence[Reporter],
        specs: Sequence[AnyTable],
        check: Callable[[AnyTable], Sequence[CheckResult]],
        clock: Clock = time.monotonic,
    ) -> None:
        self._reporters, self._all, self._check = reporters, specs, check
        self._pace = Pace(EVERY, clock=clock)
        self._touched: set[int] = set()
        self._landed: dict[int, LandingReport] = {}
        self._derived: dict[int, DeriveReport] = {}
        self._shown: dict[int, Sequence[Shown]] = {}
        self._judged: dict[int, dict[str, CheckResult]] = {}
        self._failed: dict[tuple[int, str, AssetPath], tuple[AnyTable, Failure]] = {}

    @property
    def is_due(self) -> bool:
        """Whether it is time for a batch."""
        return not self._pace.left

    def add(self, spec: AnyTable, done: Done) -> None:
        """Keeps what is news until the next batch; of a check that stops a table what it said last."""
        if not self._reporters or not is_news(done):
            return
        key = id(spec)
        if isinstance(done, Failure):
            self._failed[key, done.kind, done.target] = spec, done
            return
        self._touched.add(key)
        match done:
            case LandingReport():
                before = self._landed.get(key)
                self._landed[key] = _both(before, done, sum_of) if before else done
                self._judged.pop(key, None)
            case DeriveReport():
                then = self._derived.get(key)
                self._derived[key] = _both(then, done, DeriveReport.followed_by) if then else done
                self._judged.pop(key, None)
            case CheckResult():
                self._judged.setdefault(key, {})[done.check] = done
            case _:
                self._shown[key] = done  # type: ignore[assignment]

    def take(self) -> Batch:
        """All that was gathered; from now on the next batch is gathered."""
        self._pace.begin()
        touched = [spec for spec in self._all if id(spec) in self._touched]
        gathered: list[tuple[AnyTable, Done]] = [(s, done) for s in touched for done in self._done(id(s))]
        gathered += self._failed.values()
        self._failed = {}
        self._touched, self._landed, self._derived, self._shown, self._judged = set(), {}, {}, {}, {}
        return Batch(touched, gathered)

    def tell(self, batch: Batch) -> None:
        """Tells a batch, with the checks of its tables; and that this process is alive."""
        try:
            self._tell(batch)
        finally:
            self._pace.end(_SHARE)

    def _tell(self, batch: Batch) -> None:
        self.hold()
        tell_each(self._reporters, lambda reporter: reporter.tell_all(batch.gathered))
        checks = [(spec, result) for spec in batch.touched for result in self._check(spec)]
        tell_each(self._reporters, lambda reporter: reporter.tell_all(checks))

    def hold(self) -> None:
        """Says that this process lands its tables, for as long as one of the next batches comes in time."""
        self._hold(time.time() + HELD_FOR)

    def release(self) -> None:
        """Says that it no longer does."""
        self._hold(0.0)

    def _hold(self, until: float) -> None:
        topics = [spec for spec in self._all if isinstance(spec, TableSpec)]
        tell_each(self._reporters, lambda reporter: reporter.hold(topics, until))

    def _done(self, key: int) -> Iterator[Done]:
        kinds: tuple[Mapping[int, Done], ...] = (self._landed, self._derived, self._shown)
        yield from (of_kind[key] for of_kind in kinds if key in of_kind)
        yield from self._judged.get(key, {}).values()


def _both(one: T, two: T, add: Callable[[T, T], T]) -> T:
    both = add(one, two)
    return replace(both, seconds=round(one.seconds + two.seconds, 3))
