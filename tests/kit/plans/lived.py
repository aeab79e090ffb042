"""The same arrivals landed at several intervals, with compaction on: what a plan of freshness is held to.

The clock of arrivals and of upkeep goes on by an interval with each landing, as fast as the machine lands. It
goes through a time that is over: Kafka's timestamps say when records came, and no snapshot is younger.
"""

from __future__ import annotations

import io
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from random import Random
from typing import Any

import fastavro
from confluent_kafka import Producer
from pyiceberg.table import Table

from frazil.clients import Clients
from frazil.connections import Connections
from frazil.costs.measured import lines_of
from frazil.costs.units import Period, total_of
from frazil.kafka.clients import client_config
from frazil.landing.land import land
from frazil.upkeep.due import Memory, look_for_work
from frazil.upkeep.kinds import KINDS
from frazil.upkeep.planning.history import history_of, rules_of
from frazil.upkeep.planning.replay import Outcome, replay
from frazil.upkeep.run import do_work
from frazil_local.home import Home
from kit.readers.opened import table_of
from kit.records.topics import Topic, topic_maker
from kit.runs.waiting import PATIENCE
from kit.storage.client import storage_client
from kit.storage.counters import Counters, counters, own_bucket

Second = Mapping[str, int]
"""How many records came to each partition of the table."""

COUNTS = ("commits", "files", "rewritten", "writes", "reads", "opened")
"""What a plan foretells and the storage counts; CPU is never twice the same."""

_COMPACTION = KINDS["compaction"]


@dataclass(frozen=True, slots=True)
class Stretch:
    """Some time of arrivals, and a spec that is as small as that.

    Args:
        payload: Random bytes of each record.
        target: Bytes that a file should have; as many in small ones are compacted at once.
        compact_after: Seconds.
        by_side: Whether the table is partitioned by the names in `came`.
    """

    came: Sequence[Second]
    payload: int = 400
    target: int = 2 * 2**20
    compact_after: float = 400.0
    by_side: bool = False

    @property
    def before(self) -> list[str]:
        """Where the records go that are there already: a file of the right size in each partition."""
        names = sorted({name for second in self.came for name in second})
        return [name for name in names for _ in range(self.target // self.payload)]

    def spec(self) -> dict[str, Any]:
        """What differs from a spec's defaults."""
        return {
            "write": {"target_file_size": self.target},
            "upkeep": {"small_bytes": self.target, "compact_after": self.compact_after},
            "partition_by": ["side"] if self.by_side else [],
        }


@dataclass(frozen=True, slots=True)
class Counted:
    """What the storage and the table have of a stretch, beside what was there before.

    Args:
        rewritten: Bytes of files that the table names no more; none expired.
        opened: Files of the table after each landing and what was done then, on average, of those that came.
        task_seconds: As the snapshots say.
    """

    commits: int
    files: int
    rewritten: int
    writes: float
    reads: float
    opened: float
    task_seconds: float


@dataclass(frozen=True, slots=True)
class Lived:
    """A stretch that was landed at one interval."""

    topic: Topic
    every: int
    period: Period
    counted: Counted

    def foretells(self, every: int) -> Outcome:
        """What its own history says of another interval."""
        metadata = table_of(self.topic).metadata
        history = history_of(metadata, self.period)
        return replay(history.arrivals, every, rules_of(self.topic.spec, metadata, history), history.rates)


def live_at(connections: Connections, home: Home, stretch: Stretch, every: int) -> Lived:
    """Lands a stretch each `every` seconds; what is landed before says when it began."""
    bucket = own_bucket(connections.settings)
    there = Clients(connections.settings.with_changes(rest={"warehouse": bucket}))
    topic = topic_maker(there, f"t{uuid.uuid4().hex[:12]}", "lived")(**stretch.spec())
    begun = time.time()
    steps = _Steps(topic, stretch, begun - len(stretch.came) - every - 60)
    steps.land([(0, side) for side in stretch.before])
    before = _Seen.now(topic, home, bucket)
    opened = [*steps.all_of(every)]
    period = Period(begun, time.time())
    counted = _counted(before, _Seen.now(topic, home, bucket), opened, period)
    return Lived(topic, every, period, counted)


@dataclass(frozen=True, slots=True)
class _Seen:
    """What the storage has counted so far, which data files lie there by their sizes, and the table."""

    storage: Counters
    data: Mapping[str, int]
    table: Table

    @classmethod
    def now(cls, topic: Topic, home: Home, bucket: str) -> _Seen:
        return cls(counters(home, bucket), _data(topic, bucket), table_of(topic))


def _counted(before: _Seen, after: _Seen, opened: Sequence[int], period: Period) -> Counted:
    metadata = after.table.metadata
    commits = len(metadata.snapshots) - len(before.table.metadata.snapshots)
    return Counted(
        commits=commits,
        files=len(after.data) - len(before.data),
        rewritten=sum(after.data.values()) - _live(after.table),
        writes=after.storage.puts - before.storage.puts + commits,
        reads=after.storage.reads - before.storage.reads,
        opened=sum(opened) / len(opened) - len(before.data),
        task_seconds=total_of(lines_of("", metadata, period, in_glue=False))["task_seconds"],
    )


class _Steps:
    """Landings of a stretch, and the compactions between them."""

    def __init__(self, topic: Topic, stretch: Stretch, begun: float) -> None:
        self._topic, self._stretch, self._begun = topic, stretch, begun
        self._schema_id = topic.register(topic.schema)
        self._schema = fastavro.parse_schema(dict(topic.schema))
        self._chance, self._memory = Random(1), Memory()
        self._producer = Producer({**client_config(topic.connections.settings), "linger.ms": 5})

    def all_of(self, every: int) -> Iterator[int]:
        """How many files there are after each landing."""
        came = self._stretch.came
        for end in range(every, len(came) + every, every):
            seconds = enumerate(came[end - every : end], end - every + 1)
            if sent := [(at, side) for at, of in seconds for side, many in of.items() for _ in range(many)]:
                yield self._step(end, sent)

    def _step(self, now: int, sent: Sequence[tuple[int, str]]) -> int:
        self.land(sent)
        connections, at = self._topic.connections, self._begun + now
        look = look_for_work([self._topic.spec], connections, at, self._memory, kinds=[_COMPACTION])
        for work in look.due:
            do_work(work.kind, work.spec, connections, at)
        return len([*table_of(self._topic).inspect.data_files().to_pylist()])

    def land(self, sent: Sequence[tuple[int, str]]) -> None:
        """Records by the second of the stretch, and the partition of the table."""
        for second, side in sent:
            at = int((self._begun + second) * 1000)
            self._producer.produce(self._topic.name, self._record(side), timestamp=at)
            self._producer.poll(0)
        assert not self._producer.flush(PATIENCE)
        assert land(self._topic.spec, self._topic.connections).records == len(sent)

    def _record(self, side: str) -> bytes:
        stream = io.BytesIO()
        stream.write(b"\0" + self._schema_id.to_bytes(4, "big"))
        symbol = self._chance.randbytes(self._stretch.payload).hex()
        trade = {"side": side, "quantity": self._chance.randrange(10**6), "symbol": symbol}
        fastavro.schemaless_writer(stream, self._schema, trade)
        return stream.getvalue()


def _data(topic: Topic, bucket: str) -> dict[str, int]:
    """Each data file in the bucket, and its size."""
    pages = storage_client(topic.connections.settings).get_paginator("list_objects_v2")
    every = [each for page in pages.paginate(Bucket=bucket) for each in page.get("Contents", ())]
    return {each["Key"]: each["Size"] for each in every if "/data/" in each["Key"]}


def _live(table: Table) -> int:
    return sum(task.file.file_size_in_bytes for task in table.scan().plan_files())


def steady(chance: Random, seconds: int, rate: int) -> list[Second]:
    """About as many each second."""
    return [{"BUY": chance.randint(0, 2 * rate)} for _ in range(seconds)]


def bursts(chance: Random, seconds: int, rate: int) -> list[Second]:
    """Ten seconds in each hundred and one, and nothing else."""
    return [{"BUY": chance.randint(1, 20 * rate)} if n % 101 < 10 else {} for n in range(seconds)]


def skewed(chance: Random, seconds: int, rate: int) -> list[Second]:
    """Four partitions, each twice as large as the next one."""
    shares = [*accumulate(0.5**n for n in range(4))]
    return [_drawn(chance, shares, chance.randint(0, 2 * rate)) for _ in range(seconds)]


def _drawn(chance: Random, shares: Sequence[float], many: int) -> dict[str, int]:
    drawn = chance.choices(range(len(shares)), cum_weights=shares, k=many)
    return {f"P{n}": drawn.count(n) for n in {*drawn}}


PATTERNS = {"steady": (steady, 2**21), "bursts": (bursts, 2**21), "skewed": (skewed, 2**19)}
"""How records come, and the size that files should have."""
