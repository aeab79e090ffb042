"""A tick tells Dagster of the tables whose freshness changed, a part of many at a time."""

from __future__ import annotations

import dagster as dg

from frazil.landing.arrivals import Arrivals
from frazil.landing.state import State, TableState
from frazil.settings.profile import Settings
from frazil.spec.topic import TableSpec
from sensors import arrivals

STALE, FRESH = 3, 50


def state_of(topic: str, word: State) -> TableState:
    return TableState(f"local.{topic}", topic, "append", 1, 1, 1, 1, {0: 1}, 0, 0.0, word)


def told(instance: dg.DagsterInstance, seen: Arrivals) -> list[bool]:
    """The verdicts of a tick that were news."""
    said: list[bool] = []
    real = instance.report_runless_asset_event

    def report(event: dg.AssetCheckEvaluation) -> None:
        said.append(event.passed)
        real(event)

    instance.report_runless_asset_event = report  # type: ignore[method-assign, assignment]
    arrivals._tell_freshness(instance, seen, Settings())
    instance.report_runless_asset_event = real  # type: ignore[method-assign]
    return said


def test_of_many_verdicts_a_tick_tells_those_first_that_fail_and_the_next_one_the_others(
    instance: dg.DagsterInstance,
) -> None:
    words: list[State] = ["current"] * FRESH + ["suspended"] * STALE
    specs = [TableSpec(topic=f"t{n}") for n in range(len(words))]
    pairs = zip(specs, words, strict=True)
    seen = Arrivals((), tuple((spec, state_of(spec.topic, word)) for spec, word in pairs))

    first, second, third = (told(instance, seen) for _ in range(3))

    assert first == [False] * STALE + [True] * (FRESH - STALE)
    assert (second, third) == ([True] * STALE, [])
