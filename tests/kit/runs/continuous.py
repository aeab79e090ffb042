"""A runner's work without servers: topics that fill, and tables that land or fail as the test says."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from frazil.checks.result import CheckResult
from frazil.continuous.progress import Progress
from frazil.derive.report import DeriveReport
from frazil.landing.arrivals import Arrivals, Due
from frazil.landing.position.state import State, TableState
from frazil.landing.report import LandingReport
from frazil.publishing.glue import Glue
from frazil.publishing.target import Shown
from frazil.publishing.targets import OnFailure
from frazil.reporting import Done, Published
from frazil.settings.profile import Settings
from frazil.spec.derived import DerivedSpec
from frazil.spec.names import AssetPath, things
from frazil.spec.table import AnyTable
from frazil.spec.topic import TableSpec

__all__ = ["SETTINGS", "Clock", "FakeWork", "Heard", "due", "name_of"]

SETTINGS = Settings()


@dataclass
class Clock:
    """A clock that stands still until it is moved."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


def name_of(spec: AnyTable) -> str:
    """The table's name."""
    return str(things(spec, SETTINGS).table)


def due(spec: TableSpec, records: int = 10, age: float = 60.0, each: int = 100) -> Due:
    """A table for which so many records wait, of so many bytes each."""
    every = spec.interval.total_seconds()
    return Due(spec, name_of(spec), records, records * each, age, "", {}, every)


@dataclass
class FakeWork:
    """Lands what waits, and notes what it was asked for.

    Args:
        waiting: Records that wait, by table.
        fails: Raised, or called, when a table is worked on; by table.
        silent: Raised by looks.
        states: Of tables that stand still.
    """

    waiting: dict[str, int] = field(default_factory=dict)
    fails: dict[str, Exception] = field(default_factory=dict)
    silent: list[Exception] = field(default_factory=list)
    states: dict[str, State] = field(default_factory=dict)
    before: dict[str, LandingReport] = field(default_factory=dict)  # published by a landing that fails
    meanwhile: Callable[[str], object] = lambda _: None
    done: list[tuple[str, str]] = field(default_factory=list)
    looks: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def look(self, specs: Sequence[TableSpec]) -> tuple[list[Arrivals], list[Exception]]:
        """See `Work`."""
        self.looks += 1
        if self.silent:
            return [], list(self.silent)
        dues = [
            due(s, n)
            for s in specs
            if (n := self.waiting.get(name_of(s), 0)) and name_of(s) not in self.states
        ]
        states = tuple((s, _state(s, self.states[name_of(s)])) for s in specs if name_of(s) in self.states)
        return [Arrivals(tuple(dues), states)], []

    def land(self, spec: TableSpec, records: int) -> LandingReport:
        """See `Work`."""
        name = self._begin("land", spec)
        with self._lock:
            landed = min(records, self.waiting[name])
            self.waiting[name] -= landed
        return LandingReport(name, spec.topic, records=landed, landings=1 if landed else 0, seconds=0.5)

    def published(self, spec: TableSpec, since: float) -> LandingReport | None:
        """See `Work`."""
        return self.before.get(name_of(spec))

    def stop(self) -> None:
        """See `Work`."""

    def derive(self, spec: DerivedSpec) -> DeriveReport:
        """See `Work`."""
        return DeriveReport(self._begin("derive", spec), spec.kind, done=True, rows=1)

    def show(self, spec: AnyTable, on_failure: OnFailure) -> list[Shown]:
        """See `Work`."""
        names = things(spec, SETTINGS)
        try:
            name = self._begin("show", spec)
        except Exception as e:
            on_failure(Glue(spec, SETTINGS), e)
            raise
        return [Shown(("glue", "d", name), names.iceberg_path, name, "s3://lake/1.json", changed=True)]

    def check(self, spec: AnyTable) -> list[CheckResult]:
        """See `Work`."""
        path = things(spec, SETTINGS).iceberg_path
        return [CheckResult("row_count", self._begin("check", spec), "passed", "ERROR", "", {}, path)]

    def _begin(self, what: str, spec: AnyTable) -> str:
        name = name_of(spec)
        self.done.append((what, name))
        self.meanwhile(name)
        if error := self.fails.get(name):
            raise error
        return name


def _state(spec: TableSpec, word: State) -> TableState:
    return TableState(name_of(spec), spec.topic, "append", 1, 1, 1, 1, {0: 1}, 1, 60.0, word, "Look at it.")


@dataclass
class Heard:
    """Listens to a runner: to its lines as people do, and to its events as Dagster does."""

    lines: list[Progress] = field(default_factory=list)
    outcomes: list[tuple[str, Done]] = field(default_factory=list)
    pauses: list[float] = field(default_factory=list)
    listens: bool = True

    def __call__(self, line: Progress) -> None:
        self.lines.append(line)

    def events(self, table: str) -> list[str]:
        """What people heard of one table."""
        return [line.event for line in self.lines if line.table == table]

    def tell(self, spec: AnyTable, done: Done) -> None:
        """See `Reporter`."""
        self.tell_all([(spec, done)])

    def tell_all(self, news: Iterable[tuple[AnyTable, Done]]) -> None:
        """See `Reporter`."""
        self.outcomes += [(name_of(spec), done) for spec, done in news]

    def hold(self, specs: Sequence[TableSpec], until: float) -> None:
        """See `Reporter`."""
        self.pauses.append(until)

    def published(self, paths: Iterable[AssetPath], since: float) -> Mapping[AssetPath, Published]:
        """See `Reporter`."""
        return {}
