"""What Dagster's code server holds: no more after many ticks than after a few."""

from __future__ import annotations

import gc

import dagster as dg
import pytest

from kit.graph.graphs import Graph, MakeGraph
from kit.runs.growth import open_now

TICKS, MOST_ROUNDS = 12, 4
GROWTH = {"descriptors": TICKS - 1, "threads": TICKS - 1}
"""Most that a round of ticks may add: one a tick is too many. Pools fill up, but not without end."""


@pytest.mark.each_time("arrivals")
@pytest.mark.parametrize("sensor", ["arrivals", "upkeep", "alarms"])
def test_ticks_of_a_sensor_leave_nothing_open(
    make_graph: MakeGraph, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch, sensor: str
) -> None:
    monkeypatch.setenv("FRAZIL_SMALL_LANDINGS", "sensor")
    graph = make_graph({"publish": ["glue"]}, {"publish": []})
    graph.run(instance, [graph.things.kafka_path])
    rounds = [_growth(graph, instance, sensor) for _ in range(2)]
    while not _is_still(rounds[-1]) and len(rounds) < MOST_ROUNDS:
        rounds.append(_growth(graph, instance, sensor))

    assert _is_still(rounds[-1]), rounds


def _growth(graph: Graph, instance: dg.DagsterInstance, sensor: str) -> dict[str, int]:
    """How much more is held after a round of ticks, without what waits for the garbage collector."""
    gc.collect()
    before = open_now()
    for _ in range(TICKS):
        graph.topics[0].trades(2)
        graph.tick(sensor, instance)
    gc.collect()
    return {what: number - before[what] for what, number in open_now().items()}


def _is_still(growth: dict[str, int]) -> bool:
    return all(growth[what] <= most for what, most in GROWTH.items())
