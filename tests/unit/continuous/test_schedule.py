"""Which table a runner lands next: fair by lag, and without those that fail."""

from __future__ import annotations

import pytest

from frazil.continuous.schedule import TURN_BYTES, Backoff, Pace, Schedule, turn_of
from frazil.errors import PartDownError, RepairError
from frazil.landing.arrivals import Due
from frazil.spec.topic import TableSpec
from kit.runs.continuous import Clock, due

SLOW = TableSpec(topic="slow")
QUICK = TableSpec(topic="quick", freshness="5s")
BROKEN = RepairError("A record can't be decoded.")
HUGE = 10**9


def started(schedule: Schedule, *dues: Due) -> list[str]:
    schedule.look(dues)
    return [turn.due.spec.topic for turn in schedule.turns()]


@pytest.mark.parametrize(
    ("freshness", "age", "seconds"),
    [(None, "30s", 30), ("5s", "30s", 2.5), ("1h", "30s", 30), ("10m", "1h", 300), ("0.5s", "30s", 0.25)],
)
def test_a_table_lands_twice_within_its_freshness_or_as_often_as_land_when_says(
    freshness: str | None, age: str, seconds: float
) -> None:
    spec = TableSpec(topic="t", freshness=freshness, land_when={"age": age})

    assert spec.interval.total_seconds() == seconds


def test_the_table_goes_first_that_has_waited_longest_for_what_it_was_promised() -> None:
    assert started(Schedule(1), due(SLOW, age=40), due(QUICK, age=10)) == ["quick"]
    assert started(Schedule(1), due(SLOW, age=400), due(QUICK, age=10)) == ["slow"]
    assert started(Schedule(1), due(QUICK, age=400), due(SLOW, age=float("inf"))) == ["slow"]


def test_a_table_is_landed_once_at_a_time_and_then_only_when_a_new_look_finds_it() -> None:
    schedule = Schedule(2)
    first = started(schedule, due(SLOW))
    beside = started(schedule, due(SLOW))
    schedule.ended(due(SLOW).table)
    stale = [turn.due.table for turn in schedule.turns()]

    assert (first, beside, stale) == (["slow"], [], [])
    assert started(schedule, due(SLOW)) == ["slow"]


def test_a_place_that_gets_free_is_taken_without_another_look() -> None:
    schedule = Schedule(1)
    assert started(schedule, due(SLOW, age=400), due(QUICK, age=5)) == ["slow"]

    schedule.ended(due(SLOW).table)

    assert [turn.due.spec for turn in schedule.turns()] == [QUICK]


def test_a_turn_is_no_larger_than_its_records_its_bytes_and_the_specs_caps_allow() -> None:
    capped = TableSpec(topic="t", max_records=7)

    assert turn_of(due(SLOW, HUGE, each=1)).records == 2_000_000
    assert turn_of(due(SLOW, HUGE, each=1024)).records == TURN_BYTES // 1024
    assert turn_of(due(SLOW, 1, each=10**12)).records == 1
    assert turn_of(due(capped, 10)).records == 7
    assert not turn_of(due(SLOW, 10)).is_large


def test_tables_with_backlogs_leave_one_place_to_the_others() -> None:
    backlogs = [due(TableSpec(topic=f"b{n}"), HUGE, age=1000) for n in range(5)]

    assert started(Schedule(3), *backlogs, due(SLOW, age=1)) == ["b0", "b1", "slow"]
    assert len(started(Schedule(1), *backlogs)) == 1


def test_small_landings_are_begun_beside_the_others_to_share_jobs() -> None:
    schedule = Schedule(2, small=3)
    backlogs = [due(TableSpec(topic=f"b{n}"), HUGE, age=1000) for n in range(2)]
    middling = [due(TableSpec(topic=f"m{n}"), 100_000, age=500) for n in range(2)]
    small = [due(TableSpec(topic=f"s{n}"), 10, age=9 - n) for n in range(5)]

    assert started(schedule, *backlogs, *middling, *small) == ["b0", "m0", "s0", "s1", "s2"]
    schedule.ended(small[1].table)
    assert started(schedule, *backlogs, *middling, *small[3:]) == ["s3"]
    schedule.ended(middling[0].table)
    assert started(schedule, *backlogs, *middling, small[4]) == ["m0"]


def test_no_table_starves_beside_those_that_never_come_to_their_end() -> None:
    schedule, waits = Schedule(2), {f"t{n}": 0 for n in range(10)}
    specs = {topic: TableSpec(topic=topic) for topic in waits}
    worst = 0
    for _ in range(200):  # turns of equal length; t0, t1 and t2 have a backlog for ever
        now = [due(s, HUGE if t in ("t0", "t1", "t2") else 1, 30.0 * waits[t]) for t, s in specs.items()]
        taken = started(schedule, *now)
        waits = {topic: 0 if topic in taken else n + 1 for topic, n in waits.items()}
        worst = max(worst, *waits.values())
        for topic in taken:
            schedule.ended(due(specs[topic]).table)

    assert worst <= 10


def test_what_failed_is_tried_ever_more_seldom_and_stops_no_other() -> None:
    clock = Clock()
    schedule = Schedule(2, clock)
    table = due(SLOW).table
    pauses = []
    for _ in range(12):
        schedule.backoff.failed(table, BROKEN)
        assert started(schedule, due(SLOW), due(QUICK)) == ["quick"]
        schedule.ended(due(QUICK).table)
        begun = clock.now
        while schedule.backoff.rests(table):
            clock.now += 1
        pauses.append(clock.now - begun)

    assert pauses[:4] == [2, 4, 8, 16]
    assert pauses[-1] == 300
    assert started(schedule, due(SLOW)) == ["slow"]


def test_a_failure_is_told_once_and_so_is_that_it_is_over() -> None:
    backoff = Backoff(Clock())

    assert [backoff.failed("t", BROKEN) for _ in range(3)] == [True, False, False]
    assert backoff.failed("t", RepairError("Another one."))
    assert [backoff.worked("t") for _ in range(2)] == [True, False]
    assert backoff.failed("t", BROKEN)


def test_what_may_pass_by_itself_is_told_when_it_does_not() -> None:
    backoff, down = Backoff(Clock()), PartDownError("Spark does not answer.")

    assert not backoff.failed("t", down)
    assert not backoff.worked("t")
    assert [backoff.failed("t", down) for _ in range(3)] == [False, True, False]


def test_a_system_that_lets_all_tables_fail_is_told_once_and_so_is_that_it_works_again() -> None:
    """An outage of the registry was told once for each table: with a thousand of them a flood."""
    backoff, down = Backoff(Clock()), PartDownError("The schema registry does not answer.")
    tables = [f"t{n}" for n in range(1000)]

    is_news = [backoff.failed(table, down) for _ in range(4) for table in tables]
    over = [backoff.worked(table) for table in tables]
    again = [backoff.failed(table, down) for _ in range(2) for table in tables]

    assert (sum(is_news), sum(over), sum(again)) == (1, 1, 1)


def test_another_failure_of_a_table_is_told_though_a_system_is_down() -> None:
    backoff, down = Backoff(Clock()), PartDownError("The schema registry does not answer.")
    for table in ("a", "b") * 2:
        backoff.failed(table, down)

    assert backoff.failed("b", BROKEN)
    assert [backoff.worked(table) for table in ("b", "a")] == [True, True]


def test_what_takes_long_comes_less_often_but_never_too_seldom() -> None:
    clock = Clock()
    pace = Pace(1.0, 20.0, clock)
    left = []
    for took in (0.1, 3.0, 12.0, 30.0):
        pace.begin()
        clock.now += took
        pace.end(0.5)
        left.append(round(pace.left, 3))

    assert left == [0.9, 3.0, 8.0, 0.0]
