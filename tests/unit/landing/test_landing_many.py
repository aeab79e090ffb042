"""Many tables at once: whoever is stopped begins no commit any more."""

from __future__ import annotations

import time
from threading import Event
from typing import Any, cast

import pytest

from frazil.connections import Connections
from frazil.errors import InterruptedWorkError
from frazil.landing import many
from frazil.landing.land import Step
from frazil.landing.report import LandingReport
from frazil.settings.profile import Settings
from frazil.spec.topic import TableSpec
from kit.runs.waiting import wait_for

QUICK, SLOW = TableSpec(topic="quick"), TableSpec(topic="slow")


class Opened:
    """Connections that nobody uses."""

    settings = Settings()

    def of(self, _: object) -> Opened:
        return self


def test_a_landing_that_is_under_way_when_others_stop_ends_before_its_commit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun, ended = Event(), list[object]()

    def land(spec: TableSpec, _: object, *, on_step: Step, **__: Any) -> LandingReport:
        if spec is QUICK:
            begun.wait(10)
            return LandingReport("local.quick", "quick", landings=1)
        begun.set()
        try:
            wait_for(lambda: on_step("written"), 10)  # None, until it raises
        except InterruptedWorkError as e:
            ended.append(e)
            raise
        ended.append("committed")
        return LandingReport("local.slow", "slow", landings=1)

    monkeypatch.setattr(many, "land", land)
    outcomes = many.land_many([SLOW, QUICK], cast("Connections", Opened()))
    spec, _ = next(outcomes)
    began = time.monotonic()
    outcomes.close()

    assert spec is QUICK
    assert [type(end) for end in ended] == [InterruptedWorkError]
    assert time.monotonic() - began < 5


def test_a_landing_whose_commit_is_done_is_not_said_to_be_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    def land(spec: TableSpec, _: object, *, on_step: Step, **__: Any) -> LandingReport:
        on_step("published")
        return LandingReport("local.quick", spec.topic, landings=1)

    monkeypatch.setattr(many, "land", land)

    ((spec, report),) = many.land_many([QUICK], cast("Connections", Opened()))

    assert isinstance(report, LandingReport)
    assert (spec, report.landings) == (QUICK, 1)
