"""How far `frazil run` is behind a topic, and what it costs when nothing moves.

`python tests/bench/continuous.py [--rate 20000] [--minutes 10] [--idle 60] [--tables 10] [--freshness 2s]`
produces records in the running stack beside a `frazil run`, and then leaves it alone. A record is readable
when the runner says that its landing was published; its age is counted from its `$$timestamp`. The first
landings do not count: Spark compiles. Prints a table on stderr and one line of JSON on stdout; exits with 1
where a target is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil
import yaml
from confluent_kafka import Producer
from figures import Line, show
from meter import Meter
from samples import NARROW, sample
from topics import PARTITIONS, spread, topic_of

from frazil.clients import Clients
from frazil.kafka.clients import client_config
from frazil.settings.profile import Settings
from frazil.spec.topic import TableSpec

FRAZIL = Path(sys.executable).with_name("frazil")
NAMESPACE = "continuous"
TICK = 0.05  # seconds between two batches of the producer
AVRO = sample("avro", NARROW, "Avro, 6 fields")
WARM_UPS = 5


@dataclass
class Written:
    """When records were written: of each partition the end of each batch, and its time."""

    ends: list[list[int]] = field(default_factory=lambda: [[] for _ in range(PARTITIONS)])
    times: list[list[float]] = field(default_factory=lambda: [[] for _ in range(PARTITIONS)])

    def note(self, partition: int, count: int, at: float) -> None:
        """A batch of one partition."""
        before = self.ends[partition][-1] if self.ends[partition] else 0
        self.ends[partition].append(before + count)
        self.times[partition].append(at)

    def ages(self, partition: int, start: int, end: int, at: float) -> Iterator[tuple[float, int]]:
        """How old the records of a span were at a moment, and how many."""
        number = bisect_left(self.ends[partition], start + 1)
        while start < end:
            upto = min(end, self.ends[partition][number])
            yield at - self.times[partition][number], upto - start
            start, number = upto, number + 1


def main() -> None:
    """Measures, and prints."""
    arguments = _arguments()
    clients, written = Clients(Settings.load()), Written()
    with ExitStack() as opened:
        folder = Path(opened.enter_context(TemporaryDirectory()))
        name = f"continuous_{uuid.uuid4().hex[:8]}"
        topics = [f"{name}_{n}" for n in range(arguments.tables)]
        for topic in topics:
            opened.enter_context(topic_of(clients, topic, AVRO, 0, spread))
            opened.callback(drop, clients, topic)
        write_pipeline(folder, [{"topic": topic} for topic in topics], arguments.freshness)
        process, log = opened.enter_context(runner(folder))
        meter = Meter()
        load = meter.cost(
            lambda: produce(clients, topics[0], arguments.rate, arguments.minutes * 60, written)
        )
        wait(lambda: sum(e["records"] for e in landed(log)) == sum(ends[-1] for ends in written.ends))
        idle = _cpu_share(process, arguments.idle)
        landings = landed(log)
    if len(landings) <= WARM_UPS:
        raise SystemExit(f"{len(landings)} landings are too few to tell: give it more --minutes")
    ages = ages_of(landings[WARM_UPS:], written)
    lines = [
        Line("landings", len(landings), ""),
        Line("$$timestamp to readable, median", share(ages, 0.5), "s", "under 2", share(ages, 0.5) < 2),
        Line("$$timestamp to readable, 95 of 100", share(ages, 0.95), "s", "under 5", share(ages, 0.95) < 5),
        Line("CPU of Spark and this producer", load.cpu / load.seconds, "cores"),
        Line(f"CPU of the runner, {arguments.tables} tables idle", idle * 100, "%", "under 2", idle < 0.02),
    ]
    show(lines)
    sys.exit(not all(line.met for line in lines))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=int, default=20_000, help="records a second")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--idle", type=float, default=60, help="seconds")
    parser.add_argument("--tables", type=int, default=10, help="one of them gets the records")
    parser.add_argument("--freshness", default="2s")
    return parser.parse_args()


def write_pipeline(folder: Path, specs: Sequence[Mapping[str, Any]], freshness: str) -> None:
    """A pipeline of some tables; without a freshness they have the default."""
    shared = {"namespace": NAMESPACE, "publish": []} | ({"freshness": freshness} if freshness else {})
    tables = [{**shared, **spec} for spec in specs]
    file = folder / "continuous" / "defs.yaml"
    file.parent.mkdir()
    document = {"type": "assets.topic_tables.TopicTables", "attributes": {"tables": tables}}
    file.write_text(yaml.safe_dump(document))


@contextmanager
def runner(folder: Path) -> Iterator[tuple[psutil.Process, Path]]:
    """`frazil run` in a process, and the file of what it says."""
    log = folder / "said"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [FRAZIL, "run", "--json"], stdout=out, env={**os.environ, "FRAZIL_PIPELINES": str(folder)}
        )
    try:
        wait(lambda: log.stat().st_size)
        yield psutil.Process(process.pid), log
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(120)


def produce(
    clients: Clients, topic: str, rate: int, seconds: float, written: Written,
    places: Sequence[int] = range(PARTITIONS),
) -> None:  # fmt: skip
    """So many records a second, in batches of one partition each; `places`: these in turn."""
    (schema_id,) = (clients.registry.get_latest_version(f"{topic}-value").schema_id,)
    values = [record[1] for record in islice(AVRO.records([schema_id]), 10_000)]
    producer = Producer({**client_config(clients.settings), "linger.ms": 5})
    begun, sent, turn = time.time(), 0, 0
    while (now := time.time()) < begun + seconds:
        count, partition = int((now - begun) * rate) - sent, places[turn % len(places)]
        for number in range(sent, sent + count):
            producer.produce(
                topic, values[number % len(values)], partition=partition, timestamp=int(now * 1000)
            )
        if count:
            written.note(partition, count, now)
        producer.poll(0)
        sent, turn = sent + count, turn + 1
        time.sleep(TICK)
    producer.flush(60)


def landed(log: Path) -> list[dict[str, Any]]:
    """What the runner said of landings."""
    lines = log.read_text().splitlines()
    return [event for event in map(json.loads, lines) if event["event"] == "landed"]


def ages_of(landings: Sequence[dict[str, Any]], written: Written) -> list[tuple[float, int]]:
    """How old the records of landings were, and how many were so old."""
    return sorted(
        age
        for landing in landings
        for partition, (start, end) in landing["spans"].items()
        for age in written.ages(int(partition), start, end, landing["at"])
    )


def share(ages: Sequence[tuple[float, int]], part: float) -> float:
    """The age that so many of all records are younger than."""
    left = part * sum(count for _, count in ages)
    for age, count in ages:
        left -= count
        if left <= 0:
            return age
    return 0.0


def _cpu_share(process: psutil.Process, seconds: float) -> float:
    """CPU seconds per second of a process that is left alone."""
    before = process.cpu_times()
    time.sleep(seconds)
    after = process.cpu_times()
    return (after.user + after.system - before.user - before.system) / seconds


def wait(condition: Callable[[], object], seconds: float = 600) -> None:
    """Until a condition holds."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise SystemExit("frazil run does not get on: it says why on stderr")
        time.sleep(0.5)


def drop(clients: Clients, topic: str) -> None:
    """The table of a topic, if there is one."""
    name = (NAMESPACE, TableSpec(topic=topic).topic)
    if clients.catalog.table_exists(name):
        clients.catalog.drop_table(name)


if __name__ == "__main__":
    main()
