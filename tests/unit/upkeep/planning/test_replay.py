"""The model of landings and compactions, against a simulation of each record and each second."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.upkeep.compaction.bins import Rule
from frazil.upkeep.planning.partition import Rates, Rules
from frazil.upkeep.planning.replay import Arrival, Outcome, replay
from kit.drawn.examples import examples
from kit.runs.simulated import Pattern, bursts, nights, one_huge_partition, simulated, steady

RULE = Rule(target=1000, small=750, large=1800, share=0.4)
RULES = Rules(RULE, small_bytes=600, compact_after=40.0, kept_for=300.0, manifests=12)
RATES = Rates(record_bytes=10.0, spread=1, landing_seconds=0.5, record_seconds=0.01, byte_seconds=0.001)


def compared(arrivals: list[Arrival], every: int, rules: Rules = RULES) -> Outcome:
    outcome, wanted = replay(arrivals, every, rules, RATES), simulated(arrivals, every, rules, RATES)
    assert {name: getattr(outcome, name) for name in wanted} == pytest.approx(wanted)
    return outcome


@pytest.mark.parametrize("pattern", [steady, bursts, nights, one_huge_partition])
@pytest.mark.parametrize("every", [1, 5, 60, 300])
def test_a_replay_is_what_a_simulation_of_every_second_comes_to(pattern: Pattern, every: int) -> None:
    compared(pattern(Random(38)), every)


@examples(100)
@given(
    st.lists(st.tuples(st.integers(0, 200), st.integers(1, 150)), min_size=1, max_size=40),
    st.sampled_from([1, 5, 17, 60]),
    st.floats(0.0, 3.0),
)
def test_any_arrivals_are_replayed_alike(came: list[tuple[int, int]], every: int, share: float) -> None:
    rules = Rules(replace(RULE, share=share), 600, 40.0, 60.0, manifests=12)
    compared([Arrival(float(at), records) for at, records in sorted(came)], every, rules)


@pytest.mark.parametrize("pattern", [steady, bursts, nights])
def test_landing_less_often_never_takes_more_commits_or_files(pattern: Pattern) -> None:
    outcomes = [replay(pattern(Random(7)), every, RULES, RATES) for every in (1, 5, 60, 300)]

    assert [o.commits for o in outcomes] == sorted((o.commits for o in outcomes), reverse=True)
    assert [o.files for o in outcomes] == sorted((o.files for o in outcomes), reverse=True)


def test_nothing_that_came_costs_nothing() -> None:
    assert replay([], 60, RULES, RATES) == Outcome(0, 0, 0, 0.0, 0.0, 0.0, 0.0)
