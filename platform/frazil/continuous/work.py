"""What a runner does to tables, by the engine's own functions, with clients that are kept warm."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Protocol

from frazil.checks.result import CheckResult
from frazil.checks.run import run_checks
from frazil.connections import Connections
from frazil.derive.derive import DeriveReport, derive
from frazil.errors import CommitConflictError, DifferentError, MissingError, RepairError, SpecError, StopError
from frazil.kafka.provisioning import ensure_subjects
from frazil.landing.arrivals import Arrivals, Memory, look_at_each
from frazil.landing.land import land
from frazil.landing.lane.joint import JointJobs
from frazil.landing.many import AT_ONCE
from frazil.landing.position.published import published_by
from frazil.landing.report import LandingReport
from frazil.publishing.target import Shown
from frazil.publishing.targets import OnFailure, show_all
from frazil.spec.derived import DerivedSpec
from frazil.spec.table import AnyTable
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.catalog import catalog_errors

_LOOKS_A_TURN = 10  # each tenth look asks for some of the tables that are not due, as the sensor's do
_KEEPS = 120.0  # seconds for which new clients are kept, whatever fails with them

_SOUND = (RepairError, StopError, CommitConflictError, MissingError, SpecError)
"""What clients are sound with. Any other error may be a client's that is spent: a token that ended, one of
Kafka's that gave itself up, a session that was forgotten. Not all say so in words that are known here."""


class Work(Protocol):
    """Everything that a runner asks of the outside."""

    def look(self, specs: Sequence[TableSpec]) -> tuple[list[Arrivals], list[Exception]]:
        """What has arrived; and why some connections can't tell."""

    def land(self, spec: TableSpec, records: int) -> LandingReport:
        """One landing of at most `records` records."""

    def published(self, spec: TableSpec, since: float) -> LandingReport | None:
        """What landings of this process published since a time, as one; None where that is nothing."""

    def stop(self) -> None:
        """Begins none of the landings any more that wait for others to end."""

    def derive(self, spec: DerivedSpec) -> DeriveReport:
        """Brings a table up to what its inputs hold."""

    def show(self, spec: AnyTable, on_failure: OnFailure) -> list[Shown]:
        """Brings its targets in step; `on_failure` hears of the one that fails."""

    def check(self, spec: AnyTable) -> list[CheckResult]:
        """Runs the checks that read no data."""


class WarmWork:
    """The engine's. Clients are opened anew after a failure that a new session or a new login may fix.

    A Spark server forgets a session that is idle for an hour, and all of them when it is started again.
    """

    def __init__(self, open_clients: Callable[[], Connections], run_id: str, at_once: int = AT_ONCE) -> None:
        self._open = open_clients
        self._clients, self._opened = open_clients(), time.monotonic()
        self._opening = threading.Lock()
        self._run_id = run_id
        self._jobs = JointJobs(at_once)
        self._memory: Memory = {}
        self._looks = 0
        self._known_to_registry: set[int] = set()

    def look(self, specs: Sequence[TableSpec]) -> tuple[list[Arrivals], list[Exception]]:
        """See `Work`."""
        used = self._clients
        self._looks += 1
        try:
            seen, silent = look_at_each(specs, used, self._memory, in_turn=self._looks % _LOOKS_A_TURN == 0)
        except Exception as e:  # noqa: BLE001 - the next look may do better
            self._renew(used)
            return [], [e]
        if silent:
            self._renew(used)
        return seen, [*silent]

    def land(self, spec: TableSpec, records: int) -> LandingReport:
        """See `Work`; the first landing registers the spec's schema files for subjects without a schema."""
        with self._jobs.landing() as run_part, self._connections(spec) as connections:
            if id(spec) not in self._known_to_registry:
                _register(spec, connections)
                self._known_to_registry.add(id(spec))
            return land(spec, connections, run_id=self._run_id, max_records=records, run_part=run_part)

    def published(self, spec: TableSpec, since: float) -> LandingReport | None:
        """See `Work`."""
        with self._connections(spec) as connections:
            return published_by(self._run_id, spec, connections, since)

    def stop(self) -> None:
        """See `Work`."""
        self._jobs.stop()

    def derive(self, spec: DerivedSpec) -> DeriveReport:
        """See `Work`."""
        with self._connections(spec) as connections:
            return derive(spec, connections, run_id=self._run_id)

    def show(self, spec: AnyTable, on_failure: OnFailure) -> list[Shown]:
        """See `Work`."""
        with self._connections(spec) as connections, catalog_errors(connections.settings):
            return show_all(spec, connections, on_failure)

    def check(self, spec: AnyTable) -> list[CheckResult]:
        """See `Work`."""
        return run_checks([spec], self._clients, partly=True)

    @contextmanager
    def _connections(self, spec: AnyTable) -> Iterator[Connections]:
        used = self._clients
        try:
            yield used.of(spec)
        except _SOUND:
            raise
        except Exception:
            self._renew(used)
            raise

    def _renew(self, used: Connections) -> None:
        with self._opening:
            if self._clients is used and time.monotonic() - self._opened > _KEEPS:
                self._clients, self._opened = self._open(), time.monotonic()


def _register(spec: TableSpec, connections: Connections) -> None:
    """A file that is not the registry's schema stops nothing: `frazil land` tells of it."""
    with suppress(DifferentError):
        ensure_subjects(spec, connections)
