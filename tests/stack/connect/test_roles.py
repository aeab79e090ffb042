"""A role that may read the catalog and not write it can look at a table, and no work of it changes one.

The embedded catalog has no rights to give: what forbids is a wire before it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from frazil.checks.run import run_check
from frazil.connections import Connections
from frazil.errors import NotAllowedError
from frazil.landing.halts.pause import pause
from frazil.landing.land import land
from frazil.landing.repairs.dead_letters import DeadLetter
from frazil.landing.repairs.redrive import redrive
from frazil.landing.repairs.rollback import roll_back
from frazil.landing.replay.run import replay
from frazil.upkeep.compaction.run import compact
from frazil.upkeep.forgetting.condition import condition_of
from frazil.upkeep.forgetting.forget import forget
from frazil.upkeep.kind import Order
from kit.readers.opened import table_of
from kit.records.topics import Topic, topic_maker
from kit.wires.over_the_wire import over_the_wire
from kit.wires.wire import Asked, Wire


def whole(letter: DeadLetter) -> bytes:
    return (letter.raw_value or b"") + b"Z"


WORKS: dict[str, Callable[[Topic], object]] = {
    "land": lambda t: land(t.spec, t.connections),
    "redrive": lambda t: redrive(t.spec, t.connections, repair=whole),
    "replay": lambda t: replay(t.spec, t.connections, {0: (0, 2)}),
    "roll back": lambda t: roll_back(t.spec, t.connections, table_of(t).snapshots()[0].snapshot_id),
    "forget": lambda t: forget(
        t.spec, t.connections, condition_of(table_of(t).schema(), "quantity = 1"), (), after=0.0
    ),
    "pause": lambda t: pause(t.spec, t.connections, "a role must not"),
    "compact": lambda t: compact(t.spec, t.connections, time.time(), Order(everything=True)),
}


@pytest.fixture(scope="module")
def landed(connections: Connections) -> Iterator[tuple[Wire, Topic]]:
    """A table of two landings and a dead letter, and a record that waits."""
    with over_the_wire(connections.settings) as (wire, clients):
        topic = topic_maker(clients, f"roles_{time.time_ns()}", "connect_tests")(on_bad_record="dead_letter")
        value = topic.encode({"side": "BUY", "quantity": 9, "symbol": "Z"})
        for _ in range(2):
            topic.trades(3)
            topic.send([value[:-1]])
            land(topic.spec, clients)
        topic.trades(1)
        yield wire, topic


def writes(asked: Asked) -> bool:
    """Whether a request would change what the catalog holds."""
    return asked.server == "rest" and asked.method in ("POST", "DELETE")


@pytest.mark.each_time("land", "forget", "compact", "roll back", "pause")
@pytest.mark.parametrize("work", WORKS)
def test_what_a_role_may_not_do_is_refused_and_leaves_the_table_as_it_is(
    landed: tuple[Wire, Topic], work: str
) -> None:
    wire, topic = landed
    before = table_of(topic).metadata_location
    wire.always("forbidden", writes)

    with pytest.raises(NotAllowedError, match="The Iceberg catalog does not allow it"):
        WORKS[work](topic)

    assert run_check("row_count", topic.spec, topic.connections).passed
    wire.calm()
    assert table_of(topic).metadata_location == before
