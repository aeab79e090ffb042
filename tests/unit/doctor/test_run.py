"""All systems are asked at the same time, and none keeps the others from being asked."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event

import pytest

from frazil.clients import Clients
from frazil.doctor import run
from frazil.doctor.probe import Patient, Probe, Probes, Unproven
from frazil.errors import ConfigureError, NotAllowedError, PartDownError
from frazil.settings.profile import Settings
from frazil.spec.derived import DerivedSpec
from frazil.spec.table import AnyTable
from frazil.spec.topic import TableSpec

FEEDING = DerivedSpec(table="d", sql="d.sql", publish=(), feeds={"topic": "t"})
PLAIN = {"value_format": "string", "key_format": "none"}


def patient(*specs: AnyTable) -> Patient:
    return Patient(specs, Clients(Settings()))


def refusing(error: Exception) -> Callable[[Patient], Probes]:
    def ask() -> None:
        raise error

    def probes(_: Patient) -> Probes:
        finding = yield Probe("ask", ask, "it", "the line that gives it")
        if finding.fine:
            yield Probe("ask for more", lambda: None)

    return probes


@pytest.mark.parametrize(
    ("specs", "systems"),
    [
        ([], []),
        ([TableSpec(topic="t", publish=())], ["kafka", "registry", "catalog", "spark"]),
        ([TableSpec(topic="t", publish=(), **PLAIN)], ["kafka", "catalog", "spark"]),
        ([TableSpec(topic="t")], ["kafka", "registry", "catalog", "spark", "glue", "snowflake"]),
        ([DerivedSpec(table="d", sql="d.sql", publish=("glue",))], ["catalog", "spark", "glue"]),
        ([FEEDING], ["kafka", "registry", "catalog", "spark"]),
    ],
    ids=["nothing", "a topic", "without schemas", "shown everywhere", "made of others", "feeding a topic"],
)  # fmt: skip
def test_only_what_the_tables_work_with_is_needed(specs: list[AnyTable], systems: list[str]) -> None:
    needed = run.needed(patient(*specs))

    assert [name for name in run.SYSTEMS if name in needed] == systems


@pytest.mark.parametrize(
    ("error", "status", "mend"),
    [
        (NotAllowedError("No.", todo="Elsewhere."), "missing", "the line that gives it"),
        (ConfigureError("Who are you?", todo="Fix the login."), "missing", "Fix the login."),
        (PartDownError("Nobody there.", todo="Start it."), "down", "Start it."),
        (Unproven("It can't be asked for."), "unproven", "the line that gives it"),
    ],
)
def test_each_answer_comes_with_what_mends_it(error: Exception, status: str, mend: str) -> None:
    first, *_ = run.findings_of("kafka", refusing(error)(patient()))

    assert (first.status, first.mend, first.of) == (status, mend, "it")
    assert first.fine == (status == "unproven")


def test_a_system_that_never_answers_keeps_none_from_being_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    for_ever = Event()

    def waiting(_: Patient) -> Probes:
        yield Probe("greet", lambda: None)
        yield Probe("wait", for_ever.wait, "an answer")

    systems = {"kafka": waiting, "catalog": refusing(ConfigureError("No.")), "spark": refusing(Unproven("?"))}
    monkeypatch.setattr(run, "SYSTEMS", systems)

    findings = run.examine(patient(TableSpec(topic="t")), seconds=0.5)
    for_ever.set()

    assert [(f.system, f.right, f.status) for f in findings] == [
        ("kafka", "greet", "ok"),
        ("kafka", "wait", "down"),
        ("catalog", "ask", "missing"),
        ("spark", "ask", "unproven"),
        ("spark", "ask for more", "ok"),
    ]


def test_systems_that_nobody_needs_are_not_asked() -> None:
    findings = run.examine(patient())

    assert [(f.system, f.status) for f in findings] == [(name, "not needed") for name in run.SYSTEMS]
