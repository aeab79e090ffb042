"""What Dagster's code server holds: no more after many ticks than after a few."""

from __future__ import annotations

import gc

import dagster as dg
import pytest

from kit.graphs import MakeGraph
from kit.growth import held

WARM, TICKS = 3, 12
DESCRIPTORS, THREADS = 30, 12
"""So many more may be open at the end: pools fill up. A client of Kafka has a dozen, and as many threads."""


@pytest.mark.parametrize("sensor", ["arrivals", "upkeep", "alarms"])
def test_ticks_of_a_sensor_leave_nothing_open(
    make_graph: MakeGraph, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch, sensor: str
) -> None:
    monkeypatch.setenv("FRAZIL_SMALL_LANDINGS", "sensor")
    graph = make_graph({"publish": ["glue"]}, {"publish": []})
    graph.run(instance, [graph.things.kafka_path])
    thresholds = gc.get_threshold()
    gc.set_threshold(700, 10, 10)  # as in a code server
    try:
        for number in range(WARM + TICKS):
            if number == WARM:
                before = held()
            graph.topics[0].trades(2)
            graph.tick(sensor, instance)
        grown = {what: number - before[what] for what, number in held().items()}
    finally:
        gc.set_threshold(*thresholds)

    assert grown["descriptors"] <= DESCRIPTORS
    assert grown["threads"] <= THREADS
