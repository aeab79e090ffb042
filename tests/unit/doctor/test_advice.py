"""What the doctor advises is done, and it has nothing left to say."""

from __future__ import annotations

from threading import Event
from types import SimpleNamespace
from typing import Any

import pyspark
import pytest

from frazil.clients import Clients
from frazil.doctor import run
from frazil.doctor.preflight import _of_python, _version
from frazil.doctor.probe import Patient, Probe, Probes
from frazil.errors import ConfigureError
from frazil.settings.profile import Settings
from frazil.spec.topic import TableSpec


def test_a_spark_of_the_version_that_is_named_is_taken() -> None:
    """By stand-ins that say their versions: no second Spark is at hand, and the embedded one is of this."""
    other: Any = SimpleNamespace(version="3.0.0")
    with pytest.raises(ConfigureError) as raised:
        _version(other)
    named = raised.value.todo.removeprefix("Run Spark ").rstrip(".")
    assert named == pyspark.__version__

    same: Any = SimpleNamespace(version=named)
    _version(same)


def test_workers_without_frazil_are_told_by_the_variable_that_spark_reads() -> None:
    """A cluster's executors with the wheel: `tests/stack/cluster` follows it."""
    error = _of_python("Traceback\nModuleNotFoundError: No module named 'frazil'\n")

    assert "PYSPARK_PYTHON" in error.todo
    assert error.where == "ModuleNotFoundError: No module named 'frazil'"


def test_a_system_that_was_too_slow_answers_within_more_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    awake = Event()

    def slow(_: Patient) -> Probes:
        yield Probe("wait", awake.wait, "an answer")

    monkeypatch.setattr(run, "SYSTEMS", {"kafka": slow})
    patient = Patient((TableSpec(topic="t"),), Clients(Settings()))
    (late,) = run.examine(patient, seconds=0.2)
    assert (late.status, late.mend) == ("down", "Ask again with more --seconds.")

    awake.set()

    assert [each.status for each in run.examine(patient, seconds=60.0)] == ["ok"]
