"""What a table's position means beside a topic that was recreated, or whose log was cut."""

from __future__ import annotations

from dataclasses import replace

import pytest

from frazil.errors import TopicChangedError
from frazil.kafka.facts import NO_ID, TopicFacts
from frazil.landing.plan import make_plan
from frazil.landing.position.history import Accepted, History, unguarded
from frazil.landing.position.ledger import Ledger
from frazil.spec.names import TableName

NAME = TableName("shop", "trades")
ADOPTED = Accepted(topic=True)
MANY = 10**9


def facts(first: dict[int, int], end: dict[int, int], topic_id: str = "a", epoch: int = 0) -> TopicFacts:
    return TopicFacts("trades", topic_id, first, end, dict.fromkeys(end, epoch))


def ledger(position: dict[int, int], topic_id: str = "a") -> Ledger:
    spans = {p: (0, to) for p, to in position.items()}
    return Ledger(
        "trades", topic_id, spans, dict.fromkeys(position, 0), leader_epochs=dict.fromkeys(position, 0)
    )


def landed(history: History) -> Ledger:
    """What the table says once all that waits is landed."""
    plan = make_plan(history, MANY)
    assert plan.ledger
    return replace(plan.ledger, topic_id=plan.topic_id, spans=plan.spans, leader_epochs=plan.epochs)


@pytest.mark.parametrize(
    ("changed", "forks"),
    [
        (facts({0: 0, 1: 0}, {0: 4, 1: 0}, "b"), {}),
        (facts({0: 0, 1: 0}, {0: 6, 1: 3}), {}),
        (facts({0: 0}, {0: 9}), {}),
        (facts({0: 0, 1: 0}, {0: 12, 1: 3}, epoch=2), {0: 6}),
    ],
    ids=["recreated", "cut", "partition gone", "cut, and grew again"],
)
def test_another_log_is_refused_with_the_command_that_goes_on(
    changed: TopicFacts, forks: dict[int, int]
) -> None:
    with pytest.raises(TopicChangedError, match=r"frazil land shop\.trades --adopt-topic"):
        History(NAME, changed, ledger({0: 9, 1: 3}), forks).settled()


def test_a_topic_that_was_made_again_is_landed_from_its_first_offsets_and_all_offsets_count() -> None:
    new = facts({0: 2, 1: 0}, {0: 6, 1: 1}, "b")

    plan = make_plan(History(NAME, new, ledger({0: 9}), accepted=ADOPTED), MANY)
    after = landed(History(NAME, new, ledger({0: 9}), accepted=ADOPTED))

    assert (plan.spans, plan.lost, plan.adopts) == ({0: (2, 6), 1: (0, 1)}, {}, True)
    assert after.earlier_logs == (("a", {0: (0, 9)}),)
    assert (after.offsets, after.log) == (9 + 4 + 1, "b")
    assert not make_plan(History(NAME, new, after), MANY).adopts


def test_a_log_that_was_cut_is_landed_from_there_on_and_other_partitions_go_on() -> None:
    cut = facts({0: 0, 1: 0}, {0: 12, 1: 5}, epoch=2)

    plan = make_plan(History(NAME, cut, ledger({0: 9, 1: 3}), {0: 6}, ADOPTED), MANY)
    after = landed(History(NAME, cut, ledger({0: 9, 1: 3}), {0: 6}, ADOPTED))

    assert plan.spans == {0: (6, 12), 1: (3, 5)}
    assert after.earlier_logs == (("a", {0: (0, 9)}),)
    assert (after.offsets, after.log) == (9 + 6 + 5, "a/1")
    assert after.leader_epochs == {0: 2, 1: 2}


def test_a_partition_that_is_gone_keeps_its_offsets_in_the_count() -> None:
    after = landed(History(NAME, facts({0: 0}, {0: 10}), ledger({0: 9, 1: 3}), accepted=ADOPTED))

    assert (after.position, after.offsets) == ({0: 10}, 10 + 3)


def test_a_topic_that_comes_back_goes_on_where_it_was_left() -> None:
    elsewhere = landed(History(NAME, facts({0: 0}, {0: 4}, "b"), ledger({0: 9}), accepted=ADOPTED))

    back = History(NAME, facts({0: 0}, {0: 11}, "a"), elsewhere, accepted=ADOPTED)

    assert make_plan(back, MANY).spans == {0: (9, 11)}
    assert landed(back).offsets == 11 + 4
    assert landed(back).earlier_logs == (("b", {0: (0, 4)}),)


def test_nothing_is_adopted_where_the_log_is_the_one_that_was_landed() -> None:
    history = History(NAME, facts({0: 0}, {0: 12}), ledger({0: 9}), accepted=ADOPTED)

    assert history.settled() is history


@pytest.mark.parametrize(("noted", "topic_id"), [(NO_ID, NO_ID), (NO_ID, "a"), ("a", NO_ID)])
def test_a_broker_that_gives_no_topic_id_is_believed_as_far_as_its_offsets_go(
    noted: str, topic_id: str
) -> None:
    plan = make_plan(History(NAME, facts({0: 0}, {0: 12}, topic_id), ledger({0: 9}, noted)), MANY)

    assert (plan.spans, plan.topic_id) == ({0: (9, 12)}, topic_id)


def test_what_a_broker_does_not_tell_is_named_as_not_guarded() -> None:
    silent = replace(ledger({0: 9}, NO_ID), leader_epochs={0: -1})

    assert [what.split(":")[0] for what in unguarded(silent)] == [
        "The broker gives no topic id",
        "The broker gives no leader epochs",
    ]
    assert unguarded(ledger({0: 9})) == []


def test_an_idle_partition_keeps_the_leader_epoch_under_which_it_was_landed() -> None:
    plan = make_plan(History(NAME, facts({0: 0, 1: 0}, {0: 12, 1: 3}, epoch=4), ledger({0: 9, 1: 3})), MANY)

    assert plan.epochs == {0: 4, 1: 0}


def test_earlier_logs_are_written_and_read_again() -> None:
    after = landed(History(NAME, facts({0: 0}, {0: 4}, "b"), ledger({0: 9}), accepted=ADOPTED))

    assert Ledger.parse(after.properties()) == after
