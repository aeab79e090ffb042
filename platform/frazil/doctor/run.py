"""All systems are asked at the same time; one that is down, or never ends, does not keep the others."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import entry_points

from frazil.connections import apart
from frazil.deadline import call_all
from frazil.doctor import catalog, glue, kafka, registry, snowflake, spark
from frazil.doctor.probe import Finding, Patient, Probe, Probes, Status, Unproven
from frazil.errors import FrazilError, NotAllowedError, PartDownError, explain
from frazil.settings.profile import Settings

SECONDS = 120.0
"""How long a system may take."""

_FIRST = Probe("open a client", lambda: None)

SYSTEMS: Mapping[str, Callable[[Patient], Probes]] = {
    "kafka": kafka.probes,
    "registry": registry.probes,
    "catalog": catalog.probes,
    "spark": spark.probes,
    "glue": glue.probes,
    "snowflake": snowflake.probes,
}

GROUP = "frazil.doctor"
"""Entry points of this group are called with the settings and a number of seconds, and give findings."""


def needed(patient: Patient) -> set[str]:
    """The systems that the tables work with."""
    systems = {"catalog", "spark"} if patient.specs else set()
    systems |= {target for target in ("glue", "snowflake") if patient.shown_in(target)}
    if patient.topics or patient.feeds:
        systems.add("kafka")
    if registry.subjects(patient):
        systems.add("registry")
    return systems


def examine(
    patient: Patient, systems: Collection[str] = tuple(SYSTEMS), seconds: float = SECONDS
) -> list[Finding]:
    """What was found of each system of each connection, in the order of `SYSTEMS`."""
    all_findings: list[Finding] = []
    for own, clients in [*apart(patient.specs, patient.connections)] or [([], patient.connections)]:
        behind = f" of {own[0].connection}" if own and own[0].connection else ""
        findings = _examine(Patient(own, clients), systems, seconds)
        all_findings += [replace(finding, system=finding.system + behind) for finding in findings]
    return all_findings


def _examine(patient: Patient, systems: Collection[str], seconds: float) -> list[Finding]:
    wanted = needed(patient)
    examinations = {
        name: _Examination(name, patient) for name in SYSTEMS if name in systems and name in wanted
    }
    met = call_all({name: each.make for name, each in examinations.items()}, seconds)
    findings: list[Finding] = []
    for name in (name for name in SYSTEMS if name in systems):
        if name in examinations:
            findings += examinations[name].report(met[name], seconds)
        else:
            findings.append(Finding(name, "", "", "not needed", 0.0))
    return findings


@dataclass
class _Examination:
    """What is known of one system so far. It may go on while nobody waits for it any more."""

    system: str
    patient: Patient
    asked: Probe = _FIRST
    findings: list[Finding] = field(default_factory=list)

    def make(self) -> None:
        """Finds what there is to find."""
        for finding in findings_of(self.system, SYSTEMS[self.system](self.patient), self._note):
            self.findings.append(finding)

    def _note(self, probe: Probe) -> None:
        self.asked = probe

    def report(self, error: Exception | None, seconds: float) -> list[Finding]:
        """All that was found by now; with a finding for what was not answered in time."""
        findings = list(self.findings)
        if isinstance(error, TimeoutError):
            late = PartDownError(f"No answer within {seconds:.0f} s.", todo="Ask again with more --seconds.")
            findings.append(_failed(self.system, self.asked, seconds, late))
        return findings


def findings_of(
    system: str, probes: Probes, note: Callable[[Probe], None] = lambda _: None
) -> Iterator[Finding]:
    """Asks one after the other, each knowing what came of the one before; `note` hears of each first."""
    asked = _FIRST
    try:
        asked = next(probes)
        while True:
            note(asked)
            finding = _ask(system, asked)
            yield finding
            asked = probes.send(finding)
    except StopIteration:
        return
    except Exception as e:  # noqa: BLE001 - a client that can't be opened is a finding
        yield _failed(system, asked, 0.0, e)


def _ask(system: str, probe: Probe) -> Finding:
    since = time.monotonic()
    try:
        probe.ask()
    except Unproven as e:
        seconds = time.monotonic() - since
        return Finding(system, probe.right, probe.of, e.status, seconds, str(e), probe.mend)
    except Exception as e:  # noqa: BLE001 - it is the finding
        return _failed(system, probe, time.monotonic() - since, e)
    return Finding(system, probe.right, probe.of, "ok", time.monotonic() - since)


def _failed(system: str, probe: Probe, seconds: float, error: Exception) -> Finding:
    met = explain(error)
    status: Status = "down" if isinstance(met, PartDownError) else "missing"
    return Finding(system, probe.right, probe.of, status, seconds, _what(met), _mend(met, probe))


def _what(error: FrazilError) -> str:
    return f"{error.what} ({error.where})" if error.where else error.what


def _mend(error: FrazilError, probe: Probe) -> str:
    """The line of the right that was asked for, where a server knows the caller and refuses."""
    return probe.mend if isinstance(error, NotAllowedError) and probe.mend else error.todo


def look_at_others(settings: Settings, seconds: float) -> Iterator[Finding]:
    """What packages beside the engine found: by entry point, for the engine knows none of them.

    They find nothing of what the profile does not use.
    """
    for point in entry_points(group=GROUP):
        yield from point.load()(settings, seconds)
