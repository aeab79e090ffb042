"""What a landing plans, from facts about the topic and the table's position."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.errors import OffsetsLostError, TopicChangedError
from frazil.kafka.facts import TopicFacts
from frazil.landing.plan import MIN_SLICE, Plan, cut
from frazil.landing.plan import make_plan as plan_of
from frazil.landing.position.history import NOTHING, Accepted, History
from frazil.landing.position.ledger import Ledger
from frazil.spec.names import TableName
from kit.drawn.examples import examples

MANY = 10**9


def facts(first: dict[int, int], end: dict[int, int], topic_id: str = "a") -> TopicFacts:
    return TopicFacts("trades", topic_id, first, end, dict.fromkeys(end, 0))


def ledger(position: dict[int, int], topic_id: str = "a") -> Ledger:
    return Ledger("trades", topic_id, {p: (0, to) for p, to in position.items()}, dict.fromkeys(position, 0))


def make_plan(facts: TopicFacts, ledger: Ledger | None, most: int, accepted: Accepted = NOTHING) -> Plan:
    return plan_of(History(TableName("shop", "trades"), facts, ledger, accepted=accepted), most)


def test_a_first_landing_starts_at_the_first_offsets_that_kafka_still_holds() -> None:
    plan = make_plan(facts({0: 5, 1: 0}, {0: 9, 1: 0}), None, MANY)

    assert plan.spans == {0: (5, 9), 1: (0, 0)}
    assert plan.busy == {0: (5, 9)}
    assert plan.offsets == 4


def test_a_later_landing_starts_where_the_table_ends_and_takes_up_new_partitions() -> None:
    plan = make_plan(facts({0: 0, 1: 0}, {0: 9, 1: 4}), ledger({0: 7}), MANY)

    assert plan.spans == {0: (7, 9), 1: (0, 4)}


def test_what_retention_took_of_a_new_partition_before_anybody_looked_is_named() -> None:
    with pytest.raises(OffsetsLostError, match=r"partition 1: \[0, 3\)"):
        make_plan(facts({0: 0, 1: 3}, {0: 9, 1: 4}), ledger({0: 7}), MANY)


@pytest.mark.parametrize("accepted", [Accepted({0: (7, 12)}), Accepted({0: (0, 99)}), Accepted(any=True)])
def test_a_loss_that_is_accepted_is_noted_and_the_plan_goes_on_behind_it(accepted: Accepted) -> None:
    plan = make_plan(facts({0: 12}, {0: 20}), ledger({0: 7}), MANY, accepted)

    assert (plan.spans, plan.lost) == ({0: (12, 20)}, {0: (7, 12)})


@pytest.mark.parametrize("accepted", [Accepted({0: (7, 11)}), Accepted({0: (8, 12)}), Accepted({1: (7, 12)})])
def test_a_loss_is_refused_where_less_was_accepted(accepted: Accepted) -> None:
    with pytest.raises(OffsetsLostError, match=r"frazil land shop\.trades --accept-loss 0:7-12"):
        make_plan(facts({0: 12}, {0: 20}), ledger({0: 7}), MANY, accepted)


def test_a_recreated_topic_stops_the_table() -> None:
    with pytest.raises(TopicChangedError, match="deleted and recreated"):
        make_plan(facts({0: 0}, {0: 9}, topic_id="b"), ledger({0: 7}), MANY)


def test_records_that_retention_took_are_named_by_offset() -> None:
    with pytest.raises(OffsetsLostError, match=r"partition 0: \[7, 12\)[\s\S]*5 offsets are lost"):
        make_plan(facts({0: 12}, {0: 20}), ledger({0: 7}), MANY)


def test_a_log_that_ends_before_the_position_stops_the_table() -> None:
    with pytest.raises(TopicChangedError, match="partition 0 ends at 6, landed to 7"):
        make_plan(facts({0: 0}, {0: 6}), ledger({0: 7}), MANY)


def test_a_partition_that_vanished_stops_the_table() -> None:
    with pytest.raises(TopicChangedError, match="partition 1 is gone"):
        make_plan(facts({0: 0}, {0: 9}), ledger({0: 7, 1: 3}), MANY)


@examples(100)
@given(st.dictionaries(st.integers(0, 30), st.integers(0, 10_000), min_size=1), st.integers(1, 20_000))
def test_a_capped_plan_takes_exactly_the_cap_or_all_that_waits(ends: dict[int, int], cap: int) -> None:
    plan = make_plan(facts(dict.fromkeys(ends, 0), ends), None, cap)

    assert plan.offsets == min(cap, sum(ends.values()))
    assert plan.capped == (sum(ends.values()) > cap)
    assert all(to <= ends[p] for p, (_, to) in plan.spans.items())


def test_a_plan_can_end_before_a_bad_record() -> None:
    plan = Plan("trades", "a", {0: (0, 10), 1: (0, 10)}, capped=False)

    assert plan.until({1: 4}).spans == {0: (0, 10), 1: (0, 4)}


@examples(100)
@given(
    st.dictionaries(st.integers(0, 20), st.tuples(st.integers(0, 500_000), st.integers(0, 500_000))),
    st.integers(1, 16),
)
def test_slices_cover_every_offset_once_and_are_of_equal_size(
    raw: dict[int, tuple[int, int]], slices: int
) -> None:
    spans = {p: (a, a + n) for p, (a, n) in raw.items()}
    parts = cut(spans, slices)
    total = sum(n for _, n in raw.values())

    covered = sorted((p, s) for part in parts for p, s in part.items())
    joined: dict[int, tuple[int, int]] = {}
    for p, (a, b) in covered:
        start, end = joined.get(p, (a, a))
        assert end == a
        joined[p] = (start, b)

    assert joined == {p: s for p, s in spans.items() if s[1] > s[0]}
    assert len(parts) <= slices
    sizes = [sum(b - a for a, b in part.values()) for part in parts]
    assert max(sizes) <= -(-total // min(slices, max(1, -(-total // MIN_SLICE))))


def test_one_hot_partition_is_cut_over_all_cores() -> None:
    assert cut({3: (100, 100 + 4 * MIN_SLICE)}, 2) == [
        {3: (100, 100 + 2 * MIN_SLICE)},
        {3: (100 + 2 * MIN_SLICE, 100 + 4 * MIN_SLICE)},
    ]


def test_a_small_landing_is_one_task() -> None:
    assert cut(dict.fromkeys(range(6), (0, 100)), 8) == [dict.fromkeys(range(6), (0, 100))]
