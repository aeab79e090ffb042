"""What it costs to land many small topics at once: with a Spark job for each, and with jobs that they share.

`python tests/bench/many.py [--tables 50] [--records 1000] [--partitions 6] [--turns 3]` makes topics and
their tables in the running stack. Each turn adds records to every topic and lands them all, once in each of
both ways; two turns do not count, for Spark compiles. CPU seconds are of the Spark servers and of this
process. Prints a table on stderr and one line of JSON on stdout.
"""

from __future__ import annotations

import argparse
import os
import sys
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice

from confluent_kafka import Producer
from confluent_kafka.admin import NewTopic
from confluent_kafka.schema_registry import Schema
from figures import Line, show
from meter import Cost, Meter, medians
from samples import NARROW, sample

from frazil.clients import Clients
from frazil.kafka.clients import client_config
from frazil.landing.land import land
from frazil.landing.lane.joint import alone
from frazil.landing.lane.parts import RunPart
from frazil.landing.many import land_together
from frazil.landing.report import LandingReport
from frazil.settings.profile import Settings
from frazil.spec.topic import TableSpec

NAMESPACE = "many"
SHARED = "shared jobs"
WAYS = ("a job each", SHARED)
AVRO = sample("avro", NARROW, "Avro, 6 fields")
WARM_UPS = 2


def main() -> None:
    """Measures, and prints."""
    arguments = _arguments()
    clients, meter = Clients(Settings.load()), Meter()
    costs: dict[str, list[Cost]] = {way: [] for way in WAYS}
    with _topics(clients, arguments.tables, arguments.partitions) as topics:
        for turn in range(WARM_UPS + arguments.turns):
            for way in sorted(WAYS, reverse=bool(turn % 2)):
                _add(clients, topics, arguments.records, arguments.partitions)
                costs[way].append(meter.cost(partial(_land, topics, clients, way)))
                print(f"{turn}, {way}: {costs[way][-1]}, load {os.getloadavg()[0]:.0f}", file=sys.stderr)
    show([line for way, runs in costs.items() for line in _lines(way, medians(runs[WARM_UPS:]))])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=50)
    parser.add_argument("--records", type=int, default=1000, help="of each topic in each turn")
    parser.add_argument("--partitions", type=int, default=6)
    parser.add_argument("--turns", type=int, default=3)
    return parser.parse_args()


def _lines(what: str, cost: Cost) -> list[Line]:
    return [Line(f"{what}, CPU", cost.cpu, "s"), Line(f"{what}, wall time", cost.seconds, "s")]


@contextmanager
def _topics(clients: Clients, count: int, partitions: int) -> Iterator[Sequence[str]]:
    """Topics of one schema each; they and their tables are dropped in the end."""
    base = f"many_{uuid.uuid4().hex[:8]}"
    topics = [f"{base}_{n:03}" for n in range(count)]
    wanted = [NewTopic(topic, partitions, config={"retention.ms": "-1"}) for topic in topics]
    for made in clients.admin.create_topics(wanted).values():
        made.result(120)
    try:
        yield topics
    finally:
        for topic in topics:
            name = (NAMESPACE, TableSpec(topic=topic).topic)
            if clients.catalog.table_exists(name):
                clients.catalog.drop_table(name)
        for gone in clients.admin.delete_topics(topics).values():
            gone.result(120)


def _add(clients: Clients, topics: Sequence[str], records: int, partitions: int) -> None:
    producer = Producer({**client_config(clients.settings), "linger.ms": 50})
    for topic in topics:
        schema_id = clients.registry.register_schema(f"{topic}-value", Schema(AVRO.schemas[0], "AVRO"))
        for number, record in enumerate(islice(AVRO.records([schema_id]), records)):
            producer.produce(topic, record[1], partition=number % partitions)
        producer.poll(0)
    producer.flush(120)


def _land(topics: Sequence[str], clients: Clients, way: str) -> None:
    specs = [TableSpec(topic=topic, namespace=NAMESPACE, publish=[]) for topic in topics]

    def one(spec: TableSpec, run_part: RunPart) -> LandingReport:
        return land(spec, clients, run_part=run_part if way == SHARED else alone)

    for _, outcome in land_together(specs, one):
        if isinstance(outcome, Exception):
            raise outcome


if __name__ == "__main__":
    main()
