"""A tick tells Dagster of the tables whose freshness changed, a part of many at a time."""

from __future__ import annotations

from dataclasses import replace

import dagster as dg

from frazil.landing.arrivals import Arrivals
from frazil.landing.position.state import State, TableState
from frazil.settings.profile import Settings
from frazil.spec.topic import TableSpec
from kit.runs.continuous import Clock
from sensors.freshness import Freshness

LIMITS = {"iceberg": {"warn": "1m", "error": "10m"}}
STALE, FRESH = 3, 50


def state_of(topic: str, word: State) -> TableState:
    return TableState(f"local.{topic}", topic, "append", 1, 1, 1, 1, {0: 1}, 0, 0.0, word)


def verdicts_of_tick(instance: dg.DagsterInstance, seen: Arrivals, freshness: Freshness) -> list[bool]:
    """The verdicts of a tick that were news."""
    verdicts: list[bool] = []
    real = instance.report_runless_asset_event

    def report(event: dg.AssetCheckEvaluation) -> None:
        verdicts.append(event.passed)
        real(event)

    instance.report_runless_asset_event = report  # type: ignore[method-assign, assignment]
    freshness.tell(instance, seen, Settings())
    instance.report_runless_asset_event = real  # type: ignore[method-assign]
    return verdicts


def test_of_many_verdicts_a_tick_tells_those_first_that_fail_and_the_next_one_the_others(
    instance: dg.DagsterInstance,
) -> None:
    words: list[State] = ["current"] * FRESH + ["suspended"] * STALE
    specs = [TableSpec(topic=f"t{n}") for n in range(len(words))]
    pairs = zip(specs, words, strict=True)
    seen = Arrivals((), tuple((spec, state_of(spec.topic, word)) for spec, word in pairs))

    freshness = Freshness()

    first, second, third = (verdicts_of_tick(instance, seen, freshness) for _ in range(3))

    assert first == [False] * STALE + [True] * (FRESH - STALE)
    assert (second, third) == ([True] * STALE, [])


def test_the_first_record_after_a_quiet_hour_or_an_outage_has_not_waited_for_as_long(
    instance: dg.DagsterInstance,
) -> None:
    """Three alarms came when Kafka was back: the last landings were long ago, and all were landed at once."""
    clock, spec = Clock(), TableSpec(topic="t", freshness="1m")
    freshness = Freshness(clock)

    def look(lag: int, landed_at: float) -> list[bool]:
        age = clock() - landed_at if lag else 0.0
        state = replace(state_of("t", "behind" if lag else "current"), lag=lag, freshness=age)
        seen = Arrivals((), ((spec, replace(state, landed_at=landed_at)),))
        return verdicts_of_tick(instance, seen, freshness)

    back = look(5, 0.0)
    clock.now += 10
    landed = look(0, clock())
    clock.now += 3600
    first = look(1, 1010.0)
    clock.now += 61
    late = look(1, 1010.0)

    assert (back, landed, first, late) == ([], [True], [], [False])


def test_a_limit_is_told_once_as_a_warning_once_as_an_error_and_once_when_it_is_kept_again(
    instance: dg.DagsterInstance,
) -> None:
    clock, spec = Clock(), TableSpec(topic="t", fresh_within=LIMITS)
    freshness, key = (
        Freshness(clock),
        dg.AssetCheckKey(dg.AssetKey(["iceberg", "local", "t"]), "iceberg_fresh"),
    )

    def look(later: float, lag: int) -> tuple[int, str]:
        clock.now += later
        state = replace(state_of("t", "behind" if lag else "current"), lag=lag, landed_at=0.0)
        seen = Arrivals((), ((spec, replace(state, freshness=clock() if lag else 0.0)),))
        verdicts_of_tick(instance, seen, freshness)
        events = instance.event_log_storage.get_asset_check_execution_history(key, limit=20)
        evaluation = events[0].evaluation if events else None
        word = "" if evaluation is None else "" if evaluation.passed else evaluation.severity.value
        return len(events), word

    looks = [look(0, 5), look(50, 5), look(11, 5), look(60, 5), look(500, 5), look(60, 5), look(10, 0)]

    assert looks == [(0, ""), (0, ""), (1, "WARN"), (1, "WARN"), (2, "ERROR"), (2, "ERROR"), (3, "")]
