"""What a process that goes on forever holds: no more after many landings than after a few.

`make growth` lands 2,000 times, or FRAZIL_TEST_GROWTH.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from frazil.clients import Clients
from frazil.connections import Connections
from frazil.continuous.work import WarmWork
from kit.records.topics import topic_maker
from kit.runs.growth import open_now

TABLES = 3
ROUNDS = max(6, int(os.environ.get("FRAZIL_TEST_GROWTH", "0")) // TABLES)
WARM = 3
"""Rounds after which all clients are open, with as many connections as they keep."""

DESCRIPTORS, THREADS = 40, 12
"""So many more may be open at the end, however many rounds: pools fill up. A leak was 21 for each landing."""

MEMORY = 150 * 2**20


@contextmanager
def nobody_looks_for_garbage() -> Iterator[None]:
    """What is closed by the collector alone stays open: it comes when it likes."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@pytest.mark.nightly
def test_landings_leave_nothing_open_that_only_the_garbage_collector_would_close(
    connections: Connections, fresh_name: str
) -> None:
    topics = [topic_maker(connections, f"{fresh_name}{n}", "growth_tests")() for n in range(TABLES)]
    work = WarmWork(lambda: Clients(connections.settings), run_id="growth")
    known: list[dict[str, int]] = []

    def land_all(rounds: int) -> None:
        for _ in range(rounds):
            for topic in topics:
                topic.trades(5)
                assert work.land(topic.spec, 1000).records == 5
                work.show(topic.spec, lambda *_: None)
                work.check(topic.spec)
            work.look([topic.spec for topic in topics])
        known.append(open_now())

    land_all(WARM)
    if ROUNDS > 100:  # the long lane also asks for memory, which garbage is a part of
        land_all(ROUNDS)
        assert known[-1]["memory"] < known[0]["memory"] + MEMORY
    with nobody_looks_for_garbage():
        land_all(6)

    grown = {what: known[-1][what] - known[0][what] for what in known[0]}
    assert grown["descriptors"] <= DESCRIPTORS
    assert grown["threads"] <= THREADS
    assert grown["temporary"] <= 20  # other processes have theirs there
