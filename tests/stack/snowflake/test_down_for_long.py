"""A Snowflake that Frazil does not reach for many landings: its readers see good rows all along."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pytest

from frazil.checks.targets.drift import Drift
from frazil.checks.targets.finding import find_drift, repair_drift
from frazil.connections import Connections
from frazil.landing.land import land
from frazil.publishing.snowflake.tables import Snowflake
from frazil.publishing.targets import targets_of
from frazil.upkeep.expiry.expiry import expire
from frazil.upkeep.orphans import remove_orphans
from kit.readers.opened import table_of
from kit.records.topics import Topic, topic_maker
from kit.wires.wire import Wire

MONTH = 30 * 86400.0
FEW = {"min_snapshots": 1, "max_snapshots": 3, "keep_snapshots_for": "1s", "keep_for_readers": "60d"}
"""Far fewer snapshots than landings: what Snowflake shows is soon past them."""


def landed_in_glue(topic: Topic, count: int) -> None:
    topic.trades(count)
    land(topic.spec, topic.connections)
    targets_of(topic.spec, topic.connections.settings)[0].sync(topic.connections)


def rows_of_a_reader(topic: Topic, connections: Connections) -> int:
    view = Snowflake(topic.spec, connections.settings).relations[1]
    with connections.snowflake() as snowflake:
        ((rows,),) = snowflake.cursor().execute(f"SELECT COUNT(*) FROM {view}").fetchall()
    return int(rows)


def states(drifts: Sequence[Drift]) -> list[str]:
    return [drift.state for drift in drifts]


@pytest.mark.parametrize("landings", [4, pytest.param(60, marks=pytest.mark.nightly)])
def test_while_snowflake_is_down_readers_see_good_rows_and_one_repair_brings_it_in_step(
    wire_and_clients: tuple[Wire, Connections],
    connections: Connections,
    fresh_name: str,
    impatient: pytest.MonkeyPatch,
    landings: int,
) -> None:
    wire, clients = wire_and_clients
    topic = topic_maker(clients, fresh_name, "snowflake_tests")(publish=["glue", "snowflake"], upkeep=FEW)
    landed_in_glue(topic, 10)
    targets_of(topic.spec, clients.settings)[1].sync(clients)

    wire.always("refused", lambda _: True)
    landed_in_glue(topic, 1)
    first = table_of(topic).current_snapshot()
    for _ in range(landings - 1):
        landed_in_glue(topic, 1)
    kept = expire(topic.spec, clients, time.time() + MONTH)
    remove_orphans(topic.spec, clients, time.time() + MONTH)
    shown = rows_of_a_reader(topic, connections)
    down = find_drift([topic.spec], clients)
    wire.calm()
    impatient.undo()
    behind = find_drift([topic.spec], clients)
    after, _ = repair_drift(topic.spec, behind, clients)

    assert first
    assert (shown, states(down)) == (10, ["in step", "down"])
    assert down[1].why == "Snowflake does not answer."
    assert "snowflake" in kept.text
    assert (states(behind), behind[1].since) == (["in step", "behind"], first.timestamp_ms / 1000)
    assert states(after) == ["in step", "in step"]
    assert rows_of_a_reader(topic, connections) == 10 + landings
