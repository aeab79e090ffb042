"""Landings whose commits are not answered: each record once, nothing destroyed, every message true."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from frazil.connections import Connections
from frazil.errors import FrazilError
from frazil.landing.land import land
from kit.opened import table_of
from kit.over_the_wire import over_the_wire
from kit.sound import unreadable
from kit.topics import MakeTopic, Topic, topic_maker
from kit.wire import Asked, Fate, Wire, commits, creates, puts


@pytest.fixture(scope="module")
def wire_and_lake(lake: Connections) -> Iterator[tuple[Wire, Connections]]:
    with over_the_wire(lake.settings) as found:
        yield found


@pytest.fixture
def wire(wire_and_lake: tuple[Wire, Connections]) -> Iterator[Wire]:
    """Calm again when the test ends."""
    yield wire_and_lake[0]
    wire_and_lake[0].calm()


@pytest.fixture
def make_topic(wire_and_lake: tuple[Wire, Connections], fresh_name: str) -> MakeTopic:
    """Topics whose tables are asked for over the wire."""
    return topic_maker(wire_and_lake[1], fresh_name, "fault_tests")


@pytest.fixture
def landed(make_topic: MakeTopic) -> Topic:
    """A topic of ten records, five of which are landed."""
    topic = make_topic()
    topic.trades(5)
    land(topic.spec, topic.connections)
    topic.trades(5)
    return topic


def publishes(asked: Asked) -> bool:
    """Whether it commits a landing to `main`; Glue is told the properties that came with it."""
    return (
        commits(asked)
        and b'"frazil.landing"' in asked.body.replace(b'\\"', b'"')
        and b"[5,10]" in asked.body.replace(b"\\", b"")
    )


def quantities(topic: Topic) -> list[int]:
    return [row["quantity"] for row in topic.rows()]


@pytest.mark.parametrize("fate", ["dropped", "failed", "replayed"])
def test_a_landing_whose_publishing_is_not_answered_is_done(landed: Topic, wire: Wire, fate: Fate) -> None:
    wire.once(fate, publishes)

    report = land(landed.spec, landed.connections)

    assert sum(wire.met.values()) > 0
    assert (report.records, quantities(landed)) == (5, list(range(10)))
    assert unreadable(table_of(landed)) == []
    assert list(table_of(landed).metadata.refs) == ["main"]


@pytest.mark.parametrize("fate", ["dropped", "failed", "replayed"])
@pytest.mark.parametrize("number", [0, 1])
def test_a_landing_whose_branch_is_not_answered_is_done_or_says_that_nothing_is_visible(
    landed: Topic, wire: Wire, fate: Fate, number: int
) -> None:
    """The first commit makes the branch, the second one is Spark's."""
    lose(wire, fate, number)

    try:
        records = land(landed.spec, landed.connections).records
    except FrazilError as told:
        records = 0
        assert "Nothing of this landing is visible" in str(told)
    seen = quantities(landed)
    wire.calm()
    again = land(landed.spec, landed.connections).records

    assert seen == list(range(5 + records))
    assert records + again == 5
    assert quantities(landed) == list(range(10))
    assert unreadable(table_of(landed)) == []


@pytest.mark.parametrize("fate", ["dropped", "failed", "replayed"])
def test_a_table_whose_making_is_not_answered_is_landed(
    make_topic: MakeTopic, wire: Wire, fate: Fate
) -> None:
    topic = make_topic()
    topic.trades(5)
    wire.once(fate, creates)

    report = land(topic.spec, topic.connections)

    assert (report.records, quantities(topic)) == (5, list(range(5)))


@pytest.mark.parametrize("lake", ["rest"], indirect=True)
def test_a_table_whose_storage_fails_now_and_then_holds_each_record_once(landed: Topic, wire: Wire) -> None:
    waiting: list[Fate] = ["dropped", "failed", "replayed", "refused", "unsent", "late"]
    wire.plan = lambda asked: waiting.pop(0) if waiting and puts(asked) else None

    for _ in range(3):
        try:
            land(landed.spec, landed.connections)
        except FrazilError as told:
            assert told.todo

    assert quantities(landed) == list(range(10))
    assert unreadable(table_of(landed)) == []


def lose(wire: Wire, fate: Fate, number: int) -> None:
    """The answer to the commit of that number, from 0, is lost."""
    seen: list[Asked] = []

    def plan(asked: Asked) -> Fate | None:
        if commits(asked):
            seen.append(asked)
            return fate if len(seen) == number + 1 else None
        return None

    wire.plan = plan
