"""A week in the life of a table: a landing a minute, upkeep as its sensor runs it, readers throughout.

The clock goes on by a minute with each landing, and a minute is as short as a quick landing: snapshots
carry real timestamps, which no clock may be far ahead of. The spec's durations shrink likewise, and where
there are fewer landings than minutes, so does the week.
"""

from __future__ import annotations

import io
import random
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from itertools import count, islice
from typing import Any

import fastavro
from pyiceberg.table.metadata import TableMetadata

from frazil.costs.measured import STORAGE, lines_of
from frazil.costs.units import Line, Period, Units, total_of
from frazil.landing.land import land
from frazil.upkeep.due import look_for_work
from frazil.upkeep.kind import Order, Work
from frazil.upkeep.kinds import KINDS
from frazil.upkeep.run import do_work
from frazil.upkeep.work import WorkReport
from kit.readers.opened import table_of
from kit.readers.readers import Readings, reading
from kit.readers.stored import Stored, stored
from kit.records.topics import Topic

MINUTES = 7 * 24 * 60
"""Of a week."""

_EVER = Period(0.0, float("inf"))

MOST_ROUNDS = 5
"""Of upkeep, until a table that nobody writes to needs no more."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How a week goes by.

    Args:
        landings: How many there are; a whole week has one a minute.
        minute: Seconds that stand for a minute: what a quick landing takes.
        records: Of each landing.
        payload: Random bytes of each record.
        per_file: Landings that fill a file of the target size; a quarter of an hour brings 15.
    """

    landings: int
    minute: float = 0.3
    records: int = 1000
    payload: int = 500
    per_file: int = 20

    @property
    def bytes(self) -> int:
        """Of the data file of a landing, about."""
        return self.records * (self.payload + 30)

    @property
    def week(self) -> float:
        """Seconds that stand for the week."""
        return self.landings * self.minute

    @property
    def orphans_after(self) -> float:
        """Seconds that stand for three days; a compaction on a busy machine takes less than half of them."""
        return max(self.week * 3 / 7, 600)

    def spec(self) -> dict[str, Any]:
        """The defaults of a spec, shortened, and files as small as the landings ask for."""
        share, size = self.landings / MINUTES, self.per_file * self.bytes
        return {
            "write": {"target_file_size": size},
            "upkeep": {
                "small_bytes": size,
                "compact_after": timedelta(seconds=15 * self.minute),
                "keep_snapshots_for": timedelta(seconds=self.week),
                "min_snapshots": max(3, round(10 * share)),
                "max_snapshots": max(20, round(1000 * share)),
                "expire_every": timedelta(seconds=min(60, self.landings / 5) * self.minute),
                "orphans_after": timedelta(seconds=self.orphans_after),
                "orphans_every": timedelta(seconds=self.week / 7),
            },
        }


@dataclass
class Outcome:
    """What a week left behind.

    Args:
        readings: What the readers saw throughout.
        rows: How many records were landed.
        reports: Of all upkeep.
        largest: The most that storage ever was against the live data, from the middle of the week on.
        counted: What `frazil cost` counts of all commits, those too whose snapshots expired.
        busy: The table right after the last landing, with its upkeep done.
        settled: The same a week later, when nothing was due any more.
        seconds: How long it all took.
    """

    readings: Readings
    rows: int
    reports: list[WorkReport]
    largest: float
    counted: Units
    busy: Stored
    settled: Stored
    seconds: float

    def of(self, kind: str) -> list[WorkReport]:
        """The runs of one kind that did something."""
        return [r for r in self.reports if r.kind == kind and r.done]


class Tally:
    """What costs say of each commit, looked at before its snapshot expires."""

    def __init__(self) -> None:
        self._seen: set[int] = set()
        self._lines: list[Line] = []

    def look(self, metadata: TableMetadata) -> None:
        """Adds what was committed since the last look."""
        new = [s for s in metadata.snapshots if s.snapshot_id not in self._seen]
        self._seen.update(s.snapshot_id for s in new)
        lines = lines_of("", metadata.model_copy(update={"snapshots": new}), _EVER, in_glue=False)
        self._lines += [line for line in lines if line.work != STORAGE]

    @property
    def total(self) -> Units:
        """Of all that was seen."""
        return total_of(self._lines)


class Sensor:
    """Does what the upkeep sensor asks for: beside the landings, one run per kind at a time."""

    def __init__(self, topic: Topic) -> None:
        self._topic = topic
        self._pool = ThreadPoolExecutor(len(KINDS), thread_name_prefix="upkeep")
        self._running: dict[str, Future[WorkReport]] = {}
        self.reports: list[WorkReport] = []

    def tick(self, now: float) -> int:
        """Begins what is due and does not run yet; returns how much is due."""
        due = look_for_work([self._topic.spec], self._topic.connections, now).due
        for work in due:
            kind = work.kind.name
            if kind not in self._running or self._running[kind].done():
                self.collect(kind)
                self._running[kind] = self._pool.submit(self._do, work, now)
        return len(due)

    def collect(self, *kinds: str) -> None:
        """Waits for runs, by default all, and keeps their reports.

        Raises:
            Exception: What a run failed with.
        """
        for kind in kinds or KINDS:
            if run := self._running.pop(kind, None):
                self.reports.append(run.result())

    def _do(self, work: Work, now: float) -> WorkReport:
        return do_work(work.kind, work.spec, self._topic.connections, now, Order(work.reason))


def live_through(topic: Topic, pace: Pace, pause: float = 0.2) -> Outcome:
    """Lives a week; then the clock goes on by another one without a landing, until nothing is due.

    Args:
        topic: An empty one, with the pace's spec.
        pace: How the week goes by.
        pause: Seconds between two reads.
    """
    begun, largest, sensor, records = time.time(), 0.0, Sensor(topic), _records(topic, pace)
    tally = Tally()
    _land_one(topic, pace, records)
    with reading(topic, pause) as readings:
        for number in range(1, pace.landings):
            _land_one(topic, pace, records)
            tally.look(table_of(topic).metadata)
            sensor.tick(begun + number * pace.minute)
            if number > pace.landings / 2 and number % (pace.landings // 20 or 1) == 0:
                largest = max(largest, stored(table_of(topic)).ratio)
        sensor.collect()
        tally.look(table_of(topic).metadata)
        busy = stored(table_of(topic))
        _settle(sensor, tally, topic, time.time() + max(pace.week, 2 * pace.orphans_after))
    rows, settled = pace.landings * pace.records, stored(table_of(topic))
    took = time.time() - begun
    return Outcome(readings, rows, sensor.reports, largest, tally.total, busy, settled, took)


def _settle(sensor: Sensor, tally: Tally, topic: Topic, now: float) -> None:
    for _ in range(MOST_ROUNDS):
        if not sensor.tick(now):
            return
        sensor.collect()
        tally.look(table_of(topic).metadata)
    raise AssertionError(f"something is still due after {MOST_ROUNDS} rounds of upkeep")


def _land_one(topic: Topic, pace: Pace, records: Iterator[bytes]) -> None:
    topic.send(list(islice(records, pace.records)), plain="the position counts rows")
    report = land(topic.spec, topic.connections)
    assert report.records == pace.records


def _records(topic: Topic, pace: Pace) -> Iterator[bytes]:
    """Trades whose quantity counts up and whose symbol no codec makes small."""
    schema, chance = fastavro.parse_schema(dict(topic.schema)), random.Random(1)
    head = b"\0" + topic.register(topic.schema).to_bytes(4, "big")
    for number in count():
        stream = io.BytesIO(head)
        stream.seek(len(head))
        symbol = chance.randbytes(pace.payload).hex()
        fastavro.schemaless_writer(stream, schema, {"side": "BUY", "quantity": number, "symbol": symbol})
        yield stream.getvalue()
