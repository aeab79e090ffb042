"""Sends what was done as OpenLineage events; found by the entry point group `frazil.reporters`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING

from frazil.checks.result import CheckResult
from frazil.clients import Clients
from frazil.connections import Connections
from frazil.reporting import Done, Published
from frazil.settings.profile import Settings
from frazil.spec.names import AssetPath
from frazil.spec.table import AnyTable
from frazil.spec.topic import TableSpec
from frazil_lineage.collector import Collector
from frazil_lineage.parent import Parent

if TYPE_CHECKING:
    from openlineage.client.event_v2 import RunEvent

News = tuple[AnyTable, Done]


class LineageReporter:
    """See `Reporter`. It never raises: lineage stops no work.

    Args:
        connections: By default clients of its own.
        parent: The run that all of the work is part of; by default this process.
    """

    def __init__(
        self, settings: Settings, connections: Connections | None = None, parent: Parent | None = None
    ) -> None:
        self._settings, self._given, self._parent = settings, connections, parent or Parent()

    @property
    def listens(self) -> bool:
        """Whether the profile says that events are sent."""
        return self._settings.lineage.send

    def tell(self, spec: AnyTable, done: Done) -> None:
        """Sends the events of one report."""
        self.tell_all([(spec, done)])

    def tell_all(self, news: Iterable[News]) -> None:
        """Sends the events of several, as one batch."""
        known = list(news)
        if known and self.listens:
            self._collector.send(lambda: list(self._events(known)))

    def hold(self, specs: Sequence[TableSpec], until: float) -> None:
        """Nothing of lineage goes by it."""

    def published(self, paths: Iterable[AssetPath], since: float) -> Mapping[AssetPath, Published]:
        """Nothing: no event is kept here."""
        return {}

    def _events(self, news: Sequence[News]) -> Iterator[RunEvent]:
        from openlineage.client.facet_v2 import set_producer

        from frazil_lineage.events import PRODUCER, run_events
        from frazil_lineage.work import Works

        set_producer(PRODUCER)
        namespace, ended = self._settings.lineage.namespace or self._settings.cluster, datetime.now(UTC)
        works: dict[str, Works] = {}
        for spec, _ in news:
            works.setdefault(spec.connection, Works(self._connections.of(spec)))
        others = ((spec, done) for spec, done in news if not isinstance(done, CheckResult))
        for spec, done in others:
            for work in works[spec.connection].of(spec, done):
                yield from run_events(work, namespace, self._parent, ended)
        for spec, results in _checks_of(news):
            for work in works[spec.connection].checks(spec, results):
                yield from run_events(work, namespace, self._parent, ended)

    @cached_property
    def _collector(self) -> Collector:
        return Collector(self._settings.lineage.seconds)

    @cached_property
    def _connections(self) -> Connections:
        return self._given or Clients(self._settings)


def _checks_of(news: Sequence[News]) -> Iterator[tuple[AnyTable, list[CheckResult]]]:
    """By table what its checks found."""
    by_table: dict[int, tuple[AnyTable, list[CheckResult]]] = {}
    for spec, done in news:
        if isinstance(done, CheckResult):
            by_table.setdefault(id(spec), (spec, []))[1].append(done)
    yield from by_table.values()
