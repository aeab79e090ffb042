"""Which snapshots expire, and that whatever stays can be rolled back to without losing the position."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.spec.upkeep import Upkeep
from frazil.upkeep.expiry.retention import plan_expiry
from kit.drawn.examples import examples
from kit.tables.histories import HOUR, START, History

WEEK = Upkeep(min_snapshots=2)


@pytest.fixture
def history() -> History:
    made = History()
    made.commit()  # the empty head that every table begins with
    return made


def landed(history: History, times: int, each: float = 1.0) -> list[int]:
    snapshots = []
    for _ in range(times):
        history.hours(each)
        snapshots.append(history.land())
    return snapshots


def upkeep(hours: float, **more: Any) -> Upkeep:
    return Upkeep(keep_snapshots_for=timedelta(hours=hours), **{"min_snapshots": 1, **more})


def test_what_is_younger_than_the_retention_stays_and_what_is_older_goes(history: History) -> None:
    landings = landed(history, 10)

    gone = history.expire(upkeep(3.5))

    assert set(landings[:6]) < set(gone)
    assert history.ids == landings[6:]


def test_the_newest_ones_stay_however_old_they_are(history: History) -> None:
    landings = landed(history, 5)
    history.hours(10_000)

    history.expire(upkeep(1, min_snapshots=3))

    assert history.ids == landings[2:]


def test_more_than_the_most_go_however_young_they_are(history: History) -> None:
    landings = landed(history, 20, each=0.01)

    history.expire(upkeep(1000, max_snapshots=7))

    assert history.ids == landings[13:]


def test_snapshots_of_branches_that_landings_and_compactions_left_go_at_once(history: History) -> None:
    landed(history, 3)
    history.compact()

    gone = history.expire(upkeep(1000))

    on_main = set(history.once_on_main())
    assert set(gone) == set(history.truth) - on_main
    assert len(gone) == 4


def test_the_tips_of_refs_stay(history: History) -> None:
    landings = landed(history, 6)
    history.point("release", landings[0], "tag")
    history.point("experiment", landings[2])
    history.hours(1000)

    history.expire(upkeep(1))

    assert history.ids == [landings[0], landings[2], landings[5]]


def test_a_branch_keeps_what_its_own_rules_say(history: History) -> None:
    landings = landed(history, 6)
    history.point("experiment", landings[4], least=3)
    history.hours(1000)

    history.expire(upkeep(1))

    assert history.ids == landings[2:]


def test_a_tag_that_is_older_than_it_may_become_keeps_nothing(history: History) -> None:
    landings = landed(history, 3)
    history.point("for-a-day", landings[0], "tag")
    history.refs["for-a-day"] = history.refs["for-a-day"].model_copy(update={"max_ref_age_ms": 86_400_000})

    history.hours(20)
    history.expire(upkeep(1))
    young = history.ids
    history.hours(20)
    history.expire(upkeep(1))

    assert (young, history.ids) == ([landings[0], landings[2]], [landings[2]])


def test_a_landing_at_work_keeps_what_it_stands_on(history: History) -> None:
    base = landed(history, 3)[-1]
    tip = history.commit(ref="landing_1800000000000_0a1b2c3d", summary={"frazil.plan": "{}"})
    newer = history.land()
    history.hours(1000)

    history.expire(upkeep(1))

    assert history.ids == [base, tip, newer]


def test_what_a_rollback_left_behind_stays_as_long_as_anything_of_its_age(history: History) -> None:
    landings = landed(history, 3)
    history.point("main", landings[0])

    history.expire(upkeep(24))
    young = history.ids
    history.hours(48)
    history.expire(upkeep(24))

    assert set(landings) < set(young)
    assert history.ids == [landings[0]]


def test_the_landing_below_an_old_compaction_stays_with_it(history: History) -> None:
    before, landing = landed(history, 2)
    compactions = [history.compact() for _ in range(3)]
    history.hours(100)
    newest = history.land()

    gone = history.expire(upkeep(1, min_snapshots=2))

    assert before in gone
    assert history.ids == [landing, *compactions, newest]
    assert [history.position_at(i) for i in history.ids] == [2, 2, 2, 2, 3]


def test_the_derivation_below_an_old_compaction_stays_with_it(history: History) -> None:
    before, derivation = (history.commit(summary={"frazil.inputs": "{}"}) for _ in range(2))
    compaction = history.compact()
    history.hours(100)

    gone = history.expire(upkeep(1, min_snapshots=1))

    assert before in gone
    assert history.ids == [derivation, compaction]


def test_a_table_that_frazil_never_landed_keeps_no_more_than_was_asked_for() -> None:
    history = History()
    for _ in range(50):
        history.hours(1)
        history.commit()

    history.expire(upkeep(4.5))

    assert history.ids == [46, 47, 48, 49, 50]


def test_a_quiet_table_has_nothing_to_expire(history: History) -> None:
    landed(history, 3)
    history.expire(WEEK)

    assert history.expire(WEEK) == ()
    assert plan_expiry(History().metadata, WEEK, START) == ()


STEPS = st.lists(
    st.one_of(
        st.sampled_from(["land", "compact", "stranger", "tag", "work"]),
        st.tuples(st.just("back"), st.integers(0, 30)),
        st.tuples(st.just("expire"), st.floats(0, 12), st.integers(1, 6), st.integers(1, 6)),
        st.floats(0.1, 6).map(lambda hours: ("wait", hours)),
    ),
    max_size=40,
)


def follow(history: History, step: Any) -> None:
    name, *given = (step,) if isinstance(step, str) else step
    match name:
        case "land":
            history.land()
        case "compact":
            history.compact()
        case "stranger":
            history.commit()
        case "tag":
            history.point(f"tag{len(history.refs)}", history.head or 0, "tag")
        case "work":
            history.commit(ref=f"landing_{int(history.now * 1000)}_{len(history.truth):08x}")
        case "back":
            choices = history.once_on_main()
            history.point("main", choices[given[0] % len(choices)])
        # What expired before the first landing tells nobody a position: a rollback to there is refused.
        case "expire" if history.properties:
            history.expire(upkeep(given[0], min_snapshots=given[1], max_snapshots=given[2]))
        case "wait":
            history.hours(given[0])


@examples(300)
@given(steps=STEPS, forgets=st.booleans(), hours=st.floats(0, 12), least=st.integers(1, 6))
def test_after_any_history_a_rollback_to_whatever_is_kept_finds_its_position(
    steps: list[Any], forgets: bool, hours: float, least: int
) -> None:
    history = History(forgets_parents=forgets)
    history.commit()
    for step in steps:
        follow(history, step)
    oldest = (history.now - hours * HOUR) * 1000
    young = {s.snapshot_id for s in history.snapshots if s.timestamp_ms > oldest} & set(
        history.once_on_main()
    )

    history.expire(upkeep(hours, min_snapshots=least))

    assert {i: history.position_at(i) for i in history.once_on_main()} == {
        i: history.truth[i] for i in history.once_on_main()
    }
    assert {ref.snapshot_id for ref in history.refs.values()} <= set(history.ids)
    assert young <= set(history.ids)
    assert history.expire(upkeep(hours, min_snapshots=least)) == ()
