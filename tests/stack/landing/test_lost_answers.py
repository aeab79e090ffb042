"""Landings whose commits are not answered: each record once, nothing destroyed, every message true."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import count

import pytest

from frazil.connections import Connections
from frazil.errors import FrazilError, PartDownError
from frazil.landing.land import land
from frazil.upkeep.compaction.run import compact
from frazil.upkeep.kind import Order
from kit.readers.opened import data_files, table_of
from kit.readers.sound import unreadable
from kit.records.producing import BESIDE
from kit.records.topics import MakeTopic, Topic, topic_maker
from kit.wires.over_the_wire import over_the_wire
from kit.wires.wire import Asked, Fate, Plan, Wire, commits, creates, puts

pytestmark = [
    pytest.mark.also("glue", why="a commit that is not answered ends in another way"),
]


@pytest.fixture(scope="module")
def wire_and_lake(lake: Connections) -> Iterator[tuple[Wire, Connections]]:
    with over_the_wire(lake.settings) as opened:
        yield opened


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
    """Whether it commits the second landing to `main`: its spans are told in the request."""
    return commits(asked) and f"[{5 + BESIDE},{10 + 2 * BESIDE}]".encode() in asked.body


def quantities(topic: Topic) -> list[int]:
    return [row["quantity"] for row in topic.rows()]


@pytest.mark.parametrize("fate", ["dropped", "cut", "failed", "replayed"])
@pytest.mark.each_time("rest-dropped", "glue-dropped")
def test_a_landing_whose_publishing_is_not_answered_is_done(landed: Topic, wire: Wire, fate: Fate) -> None:
    wire.once(fate, publishes)

    report = land(landed.spec, landed.connections)

    assert sum(wire.met.values()) > 0
    assert (report.records, quantities(landed)) == (5, list(range(10)))
    assert unreadable(table_of(landed)) == []
    assert list(table_of(landed).metadata.refs) == ["main"]


@pytest.mark.parametrize("fate", ["dropped", "failed", "replayed"])
@pytest.mark.each_time("rest-dropped")
def test_a_landing_whose_branch_is_not_answered_is_done(landed: Topic, wire: Wire, fate: Fate) -> None:
    wire.plan = the(0, fate)

    report = land(landed.spec, landed.connections)

    assert (report.records, quantities(landed)) == (5, list(range(10)))
    assert list(table_of(landed).metadata.refs) == ["main"]


@pytest.mark.parametrize(
    ("lake", "fate"),
    # Not: replayed by what lies before Glue. Iceberg's Java trusts the refusal, and deletes the new metadata.
    [("rest", "dropped"), ("rest", "failed"), ("rest", "replayed"), ("glue", "dropped"), ("glue", "failed")],
    indirect=["lake"],
)
@pytest.mark.each_time("rest-dropped")
def test_a_landing_whose_rows_are_not_answered_is_done_or_says_that_nothing_is_visible(
    landed: Topic, wire: Wire, fate: Fate
) -> None:
    wire.plan = the(1, fate)

    records, message = attempt(landed)
    seen = quantities(landed)
    again = land(landed.spec, landed.connections).records

    assert records or "Nothing of this landing is visible" in message
    assert (records + again, seen) == (5, list(range(5 + records)))
    assert quantities(landed) == list(range(10))
    assert unreadable(table_of(landed)) == []


@pytest.mark.parametrize("fate", ["dropped", "failed", "replayed"])
@pytest.mark.each_time("rest-dropped")
def test_a_table_whose_making_is_not_answered_is_landed(
    make_topic: MakeTopic, wire: Wire, fate: Fate
) -> None:
    topic = make_topic()
    topic.trades(5)
    wire.once(fate, creates)

    report = land(topic.spec, topic.connections)

    assert (report.records, quantities(topic)) == (5, list(range(5)))


@pytest.mark.nightly
@pytest.mark.parametrize("lake", ["rest"], indirect=True)
def test_a_table_whose_storage_fails_now_and_then_holds_each_record_once(landed: Topic, wire: Wire) -> None:
    waiting: list[Fate] = ["dropped", "failed", "replayed", "refused", "unsent", "late"]
    wire.plan = lambda asked: waiting.pop(0) if waiting and puts(asked) else None

    records = sum(attempt(landed)[0] for _ in range(3))

    assert not waiting
    assert (records, quantities(landed)) == (5, list(range(10)))
    assert unreadable(table_of(landed)) == []


@pytest.mark.parametrize("lake", ["rest"], indirect=True)
def test_answers_that_are_cut_in_their_middle_while_a_landing_asks_cost_no_record(
    landed: Topic, wire: Wire
) -> None:
    waiting: list[Fate | None] = ["cut", None] * 3
    wire.plan = lambda asked: (
        waiting.pop() if waiting and (asked.server, asked.method) == ("rest", "GET") else None
    )

    records = sum(attempt(landed)[0] for _ in range(3))

    assert not waiting
    assert (records, quantities(landed)) == (5, list(range(10)))
    assert unreadable(table_of(landed)) == []


@pytest.mark.parametrize("lake", ["rest"], indirect=True)
@pytest.mark.parametrize("times", ["once", "always"])
@pytest.mark.nightly
def test_a_file_that_is_cut_in_its_middle_while_it_is_compacted_is_no_shorter_file(
    landed: Topic, wire: Wire, times: str
) -> None:
    land(landed.spec, landed.connections)
    known: set[str] = set()

    def is_cut(asked: Asked) -> bool:
        if asked.method != "GET" or "/data/" not in asked.path:
            return False
        is_new = asked.path not in known
        known.add(asked.path)
        return is_new or times == "always"

    wire.always("cut", is_cut)
    try:
        text = compact(landed.spec, landed.connections, time.time(), Order(everything=True)).text
    except PartDownError as error:
        text = error.what
    wire.calm()

    assert "catalog or its storage stopped answering" in text or times == "once"
    assert wire.met["s3", "cut"]
    assert quantities(landed) == list(range(10))
    compact(landed.spec, landed.connections, time.time(), Order(everything=True))
    assert quantities(landed) == list(range(10))
    assert len(data_files(landed)) == 1
    assert unreadable(table_of(landed)) == []


def the(number: int, fate: Fate) -> Plan:
    """The commit of that number meets a fate: 0 makes the landing's branch, 1 is Spark's."""
    numbers = count()
    return lambda asked: fate if commits(asked) and next(numbers) == number else None


def attempt(topic: Topic) -> tuple[int, str]:
    """Lands; how many records, or what was told instead."""
    try:
        return land(topic.spec, topic.connections).records, ""
    except FrazilError as error:
        return 0, str(error)
