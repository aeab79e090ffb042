"""Runners that keep many tables, played by events: their schedule is Frazil's own, the rest is a model.

The clock, the catalog, Spark and S3 are the model's, with what each was measured to cost. A runner looks,
sorts what is due, and starts landings by `frazil.continuous.schedule`, as `frazil run` does.
"""

from __future__ import annotations

import random
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from typing import Any

import simpy

from frazil.continuous.runner import BUSY, IDLE, LOOK_EVERY
from frazil.continuous.schedule import Pace, Schedule, Turn
from frazil.landing.arrivals import Due
from frazil.landing.lane.joint import MOST
from frazil.landing.many import AT_ONCE
from frazil.spec.topic import TableSpec
from kit.simulation.costs import Costs

Events = Generator[simpy.Event, Any, None]


@dataclass(frozen=True, slots=True)
class Fleet:
    """What is asked for, and what there is for it.

    Args:
        every: Seconds between two landings of a table, at most.
        records: Records a second of one table.
        size: Bytes of a record.
        cores: Of the Spark of each runner.
        commits: Commits a second that the catalog takes.
    """

    tables: int
    every: float
    records: float
    size: int
    runners: int
    cores: int
    commits: float

    @property
    def share(self) -> int:
        """One of how many runners is played: four stand for all, with their share of the commits."""
        return max(1, self.runners // 4)


@dataclass(slots=True)
class Tally:
    """What happened after the first half of the time, which is a warm-up."""

    begin: float
    ages: list[float] = field(
        default_factory=list
    )  # seconds, of the oldest and the newest record of a landing
    landings: int = 0
    cpu: float = 0.0
    commits: float = 0.0  # seconds in which the catalog was busy


class Catalog:
    """Takes one commit after another, `rate` a second; what comes faster waits."""

    def __init__(self, env: simpy.Environment, rate: float, tally: Tally) -> None:
        self._env, self._each, self._tally = env, 1 / rate, tally
        self._door = simpy.Resource(env)

    def commit(self) -> Events:
        """Waits for its turn, and takes it."""
        with self._door.request() as turn:
            yield turn
            yield self._env.timeout(self._each)
        if self._env.now >= self._tally.begin:
            self._tally.commits += self._each


class Runner:
    """One `frazil run` with its Spark."""

    def __init__(
        self, env: simpy.Environment, fleet: Fleet, tables: int, catalog: Catalog, tally: Tally, costs: Costs
    ) -> None:
        self._env, self._fleet, self._catalog, self._tally, self._costs = env, fleet, catalog, tally, costs
        self._spec = TableSpec(topic="simulated")
        seconds = random.Random(tables)
        self._read = {f"t{n}": -seconds.uniform(0, fleet.every) for n in range(tables)}
        self._due_at = {table: read + fleet.every for table, read in self._read.items()}
        self._schedule = Schedule(AT_ONCE, lambda: env.now, small=MOST)
        self._pace = Pace(LOOK_EVERY, fleet.every / 4, lambda: env.now)
        self._cores = simpy.Resource(env, fleet.cores)
        self._job = simpy.Resource(env)  # of small landings, one at a time
        self._seats: list[tuple[Turn, simpy.Event]] = []
        env.process(self._run())

    def _run(self) -> Events:
        while True:
            self._pace.begin()
            yield from self._compute(self._costs.look * len(self._read))
            due = list(self._due())
            self._pace.end(BUSY if due else IDLE)
            self._schedule.look(due)
            self._start()
            yield self._env.timeout(max(self._pace.left, 0.001))

    def _due(self) -> Iterator[Due]:
        now = self._env.now
        for table, moment in self._due_at.items():
            if moment <= now:
                records = int((now - self._read[table]) * self._fleet.records)
                age = self._fleet.every + now - moment
                yield Due(
                    self._spec, table, records, records * self._fleet.size, age, "", {}, self._fleet.every
                )

    def _note(self, table: str, read: float) -> None:
        """Notes a landing, and when the next one is due: by its records, its bytes, or its age."""
        when, rate = self._spec.land_when, self._fleet.records
        enough = min(when.records / rate, when.bytes / (rate * self._fleet.size))
        self._read[table] = read
        self._due_at[table] = min(read + enough, self._env.now + self._fleet.every)

    def _start(self) -> None:
        for turn in self._schedule.turns():
            self._env.process(self._land(turn))

    def _land(self, turn: Turn) -> Events:
        oldest, table = self._read[turn.due.table], turn.due.table
        read = min(self._env.now, oldest + turn.records / self._fleet.records)
        yield from self._shared(turn) if turn.is_small else self._work([turn])
        yield self._env.timeout(3 * self._costs.request)
        yield from self._catalog.commit()
        yield self._env.timeout(self._costs.commit)
        self._note(table, read)
        if self._env.now >= self._tally.begin:
            self._tally.landings += 1
            self._tally.ages += [self._env.now - oldest, self._env.now - read]
        self._schedule.ended(table)
        self._start()

    def _shared(self, turn: Turn) -> Events:
        served = self._env.event()
        self._seats.append((turn, served))
        with self._job.request() as job:
            yield job
            if not served.triggered:
                seats, self._seats = self._seats[:MOST], self._seats[MOST:]
                yield from self._work([each for each, _ in seats])
                for _, event in seats:
                    event.succeed()
        yield served

    def _work(self, turns: list[Turn]) -> Events:
        """The CPU of one Spark job, on all cores at once."""
        records = sum(min(turn.due.records, turn.records) for turn in turns)
        stored = records * self._fleet.size * self._costs.stored
        cpu = self._costs.job + self._costs.landing * len(turns)
        cpu += records * self._costs.record + stored * self._costs.upkeep
        share = cpu / self._fleet.cores
        yield self._env.all_of([self._env.process(self._compute(share)) for _ in range(self._fleet.cores)])

    def _compute(self, seconds: float) -> Events:
        with self._cores.request() as core:
            yield core
            yield self._env.timeout(seconds)
        if self._env.now >= self._tally.begin:
            self._tally.cpu += seconds
