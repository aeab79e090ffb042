"""The model of landings and compactions, against a simulation of each record and each second."""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.costs.planning.replay import Arrival, Outcome, Rates, Rules, replay
from kit.drawn.examples import examples

RULES = Rules(target=1000, small=750, small_bytes=600, compact_after=40.0, copies=1500, kept_for=300.0)
RATES = Rates(record_bytes=10.0, spread=1, landing_seconds=0.5, record_seconds=0.01, byte_seconds=0.001)


def simulated(arrivals: list[Arrival], every: int, rules: Rules, rates: Rates) -> dict[str, float]:
    """Second by second, with each file as (its size, the seconds of its landing or compaction, by what)."""
    waiting, files, rewritings = 0, [], []  # type: ignore[var-annotated]
    landings = commits = written = records = opened = 0
    begin, end = int(arrivals[0].at), int(arrivals[-1].at) + every
    last, came = float(begin), {}
    for arrival in arrivals:
        came[int(arrival.at)] = came.get(int(arrival.at), 0) + arrival.records
    for second in range(begin, end + 1):
        waiting += came.get(second, 0)
        if (second - begin) % every or second == begin or not waiting:
            continue
        size, records, waiting = int(waiting * rates.record_bytes), records + waiting, 0
        parts = max(1, math.ceil(size / rules.target))
        files += [(size // parts, "landed")] * parts
        landings, commits, written = landings + 1, commits + 1, written + parts
        fresh = [f for f in files if f[0] < rules.small and f[1] == "landed"]
        stale = [f for f in files if f[0] < rules.small and f[1] == "compacted"]
        bytes_of = lambda some: sum(size for size, _ in some)  # noqa: E731
        copies = sum(n for at, n in rewritings if second - at < rules.kept_for)
        crowded = copies + bytes_of(fresh) + bytes_of(stale) > rules.copies
        taken = fresh if crowded and bytes_of(stale) > bytes_of(fresh) else fresh + stale
        due = bytes_of(fresh) >= rules.small_bytes or second - last >= rules.compact_after
        total = bytes_of(taken)
        into = max(1, math.ceil(total / int(1.1 * rules.target)))
        if due and into < len(taken):
            for gone in taken:
                files.remove(gone)
            files += [(total // into, "compacted")] * into
            rewritings.append((second, total))
            commits, written, last = commits + 1, written + into, float(second)
        opened += len(files)
    again = sum(n for _, n in rewritings)
    seconds = landings * rates.landing_seconds + records * rates.record_seconds + again * rates.byte_seconds
    return {
        "commits": commits, "files": written, "rewritten": again, "task_seconds": seconds,
        "opened": opened / landings,
    }  # fmt: skip


def compared(arrivals: list[Arrival], every: int, rules: Rules = RULES) -> Outcome:
    found, wanted = replay(arrivals, every, rules, RATES), simulated(arrivals, every, rules, RATES)
    assert {name: getattr(found, name) for name in wanted} == pytest.approx(wanted)
    return found


def steady(_: Random) -> list[Arrival]:
    return [Arrival(second, 3) for second in range(600)]


def bursts(chance: Random) -> list[Arrival]:
    return [Arrival(at + s, chance.randint(1, 60)) for at in range(0, 600, 97) for s in range(5)]


def nights(chance: Random) -> list[Arrival]:
    return [Arrival(s, chance.randint(1, 9)) for s in range(900) if s % 300 < 180]


def one_huge_partition(_: Random) -> list[Arrival]:
    return [Arrival(second, 400) for second in range(300)]


@pytest.mark.parametrize("pattern", [steady, bursts, nights, one_huge_partition])
@pytest.mark.parametrize("every", [1, 5, 60, 300])
def test_a_replay_is_what_a_simulation_of_every_second_comes_to(
    pattern: Callable[[Random], list[Arrival]], every: int
) -> None:
    compared(pattern(Random(38)), every)


@examples(100)
@given(
    st.lists(st.tuples(st.integers(0, 200), st.integers(1, 150)), min_size=1, max_size=40),
    st.sampled_from([1, 5, 17, 60]),
    st.integers(0, 4000),
)
def test_any_arrivals_are_replayed_alike(came: list[tuple[int, int]], every: int, copies: int) -> None:
    rules = Rules(1000, 750, 600, 40.0, copies, 60.0)
    compared([Arrival(float(at), records) for at, records in sorted(came)], every, rules)


@pytest.mark.parametrize("pattern", [steady, bursts, nights])
def test_landing_less_often_never_takes_more_commits_or_files(
    pattern: Callable[[Random], list[Arrival]],
) -> None:
    outcomes = [replay(pattern(Random(7)), every, RULES, RATES) for every in (1, 5, 60, 300)]

    assert [o.commits for o in outcomes] == sorted((o.commits for o in outcomes), reverse=True)
    assert [o.files for o in outcomes] == sorted((o.files for o in outcomes), reverse=True)


def test_nothing_that_came_costs_nothing() -> None:
    assert replay([], 60, RULES, RATES) == Outcome(0, 0, 0, 0.0, 0.0)
