"""What `frazil doctor` asks of the collector of lineage: to take the events of a run of the job `doctor`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from frazil.deadline import call_all
from frazil.doctor.probe import Finding, Probe, Probes
from frazil.doctor.run import findings_of
from frazil.settings.profile import Settings
from frazil_lineage.collector import failure, send_now
from frazil_lineage.parent import Parent

if TYPE_CHECKING:
    from openlineage.client.event_v2 import RunEvent

_SYSTEM = "lineage"


def look_at_collector(settings: Settings, seconds: float) -> Iterator[Finding]:
    """One finding, where the profile sends lineage."""
    if settings.lineage.send:
        yield from findings_of(_SYSTEM, _probes(settings, seconds))


def _probes(settings: Settings, seconds: float) -> Probes:
    yield Probe("send an event", lambda: _ask(settings, seconds))


def _ask(settings: Settings, seconds: float) -> None:
    met = call_all({_SYSTEM: lambda: send_now(lambda: _events(settings))}, seconds)[_SYSTEM]
    if met is not None:
        raise failure(met)


def _events(settings: Settings) -> Sequence[RunEvent]:
    from frazil_lineage.events import run_events
    from frazil_lineage.work import Work

    namespace = settings.lineage.namespace or settings.cluster
    return list(run_events(Work("doctor", "doctor", []), namespace, Parent(), datetime.now(UTC)))
