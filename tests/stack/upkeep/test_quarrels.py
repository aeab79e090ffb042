"""Landings, compaction, both expiries and schema changes on one table at once: all end right."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest

from frazil.checks.run import run_check
from frazil.connections import Connections
from frazil.errors import OvertakenError
from frazil.landing.land import land
from frazil.landing.position.ledger import read_ledger
from frazil.landing.report import LandingReport
from frazil.upkeep.kinds import KINDS as UPKEEP
from frazil.upkeep.run import do_work
from frazil.upkeep.work import WorkReport
from kit.readers.opened import table_of
from kit.records.topics import TRADE, Topic, topic_maker

LANDINGS, MOST_LANDINGS = 6, 60
NEW_FIELDS = (2, 4)
"""Landings before which the schema gets a field more."""
LATE, EACH = 5, 20
"""Records of a landing that are too old to be kept, and all of them."""
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
KINDS = ("compaction", "expiry", "row_expiry")


@pytest.fixture
def crowded(sharing: Connections, fresh_name: str) -> Topic:
    """A table whose upkeep is as eager as can be, with its first landing."""
    topic = topic_maker(sharing, fresh_name, "upkeep_tests")(
        config={"retention.ms": "-1"},  # else Kafka deletes what is as old
        partition_by=["day($$timestamp)"],
        keep_rows_for="30d",
        upkeep={"compact_after": "0s", "keep_snapshots_for": "2s", "min_snapshots": 1},
    )
    produce(topic)
    land(topic.spec, topic.connections)
    return topic


def produce(topic: Topic) -> None:
    """Some old records and some new ones."""
    schema_id, numbers = topic.register(topic.schema), range(topic.produced, topic.produced + EACH)
    values = [topic.encode({"side": "BUY", "quantity": n, "symbol": "Z"}, schema_id) for n in numbers]
    topic.send(values[:LATE], timestamp=int(LONG_AGO.timestamp() * 1000))
    topic.send(values[LATE:])
    topic.produced += EACH


def with_notes(count: int) -> dict[str, Any]:
    """The schema with so many optional fields more."""
    notes = [{"name": f"note_{n}", "type": ["null", "string"], "default": None} for n in range(count)]
    return {**TRADE, "fields": [*TRADE["fields"], *notes]}


class Crowd:
    """Two that land and one for each kind of upkeep, until they got into each other's way often enough."""

    def __init__(self, topic: Topic) -> None:
        self._topic = topic
        self._over = threading.Event()
        self.landed: list[LandingReport] = []
        self.worked: list[WorkReport] = []

    @property
    def conflicts(self) -> int:
        """As the reports count them."""
        return sum(r.conflicts for r in self.landed) + sum(r.conflicts for r in self.worked)

    def quarrel(self) -> None:
        """Everything at once.

        Raises:
            Exception: What one of them failed with, but for landings that were overtaken.
        """
        with ThreadPoolExecutor(len(KINDS) + 2) as pool:
            upkeep = [pool.submit(self._keep_up, kind) for kind in KINDS]
            landings = [pool.submit(self._produce_and_land), pool.submit(self._land_too)]
            try:
                landings[0].result()
            finally:
                self._over.set()
            for work in (*landings, *upkeep):
                work.result()

    def _produce_and_land(self) -> None:
        for number in range(MOST_LANDINGS):
            if number >= LANDINGS and self.conflicts:
                return
            if number in NEW_FIELDS:
                self._topic.register(with_notes(NEW_FIELDS.index(number) + 1))
            produce(self._topic)
            self._land()

    def _land_too(self) -> None:
        while not self._over.is_set():
            self._land()

    def _land(self) -> None:
        with suppress(OvertakenError):
            self.landed.append(land(self._topic.spec, self._topic.connections))

    def _keep_up(self, kind: str) -> None:
        while not self._over.is_set():
            report = do_work(UPKEEP[kind], self._topic.spec, self._topic.connections, time.time())
            self.worked.append(report)
            self._over.wait(0.2)  # eager, but not without a breath


@pytest.mark.nightly
@pytest.mark.plain(why="positions are exact")
def test_everything_at_once_ends_right_and_conflicts_are_counted(crowded: Topic) -> None:
    crowd = Crowd(crowded)

    crowd.quarrel()
    land(crowded.spec, crowded.connections)
    do_work(UPKEEP["row_expiry"], crowded.spec, crowded.connections, time.time())

    table, ledger = table_of(crowded), read_ledger(table_of(crowded).metadata)
    assert crowd.conflicts
    assert {report.kind for report in crowd.worked if report.done} == set(KINDS)
    assert ledger
    assert ledger.position == {0: crowded.produced}
    assert [row["quantity"] for row in crowded.rows()] == [
        n for n in range(crowded.produced) if n % EACH >= LATE
    ]
    assert [name for name in table.schema().column_names if name.startswith("note")] == ["note_0", "note_1"]
    assert list(table.metadata.refs) == ["main"]
    for name in ("row_count", "row_count_deep", "schema"):
        result = run_check(name, crowded.spec, crowded.connections)
        assert result.passed, result.text
