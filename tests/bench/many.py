"""What it costs to land many small topics by one `frazil land --all`.

`python tests/bench/many.py [--tables 50] [--records 1000] [--partitions 6] [--turns 3]` makes topics and
their tables in the running stack, and lands them twice without measuring: Spark compiles. Then each turn adds
records to every topic, and lands them all. CPU seconds are of the Spark servers and of the command, with all
that starting it takes. Prints a table on stderr and one line of JSON on stdout.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml
from confluent_kafka import Producer
from confluent_kafka.admin import NewTopic
from confluent_kafka.schema_registry import Schema
from figures import Line, show
from meter import Cost, Meter, medians
from samples import NARROW, sample

from frazil.clients import Clients
from frazil.kafka.clients import client_config
from frazil.settings.profile import Settings
from frazil.spec.topic import TableSpec

FRAZIL = Path(sys.executable).with_name("frazil")
NAMESPACE = "many"
AVRO = sample("avro", NARROW, "Avro, 6 fields")
WARM_UPS = 2


def main() -> None:
    """Measures, and prints."""
    told = _arguments()
    clients, meter = Clients(Settings.load()), Meter()
    with TemporaryDirectory() as folder, _topics(clients, told.tables, told.partitions) as topics:
        _write_pipeline(Path(folder), topics)
        costs = []
        for turn in range(WARM_UPS + told.turns):
            _add(clients, topics, told.records, told.partitions)
            costs.append(meter.cost(lambda: _land(Path(folder))))
            print(f"turn {turn}: {costs[-1]}, load {os.getloadavg()[0]:.1f}", file=sys.stderr)
        nothing = meter.cost(lambda: _land(Path(folder)))
    show([*_lines(f"{told.tables} tables", medians(costs[WARM_UPS:])), *_lines("nothing to do", nothing)])


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


def _write_pipeline(folder: Path, topics: Sequence[str]) -> None:
    tables = [{"topic": topic, "namespace": NAMESPACE, "publish": []} for topic in topics]
    file = folder / NAMESPACE / "defs.yaml"
    file.parent.mkdir()
    document = {"type": "assets.topic_tables.TopicTables", "attributes": {"tables": tables}}
    file.write_text(yaml.safe_dump(document))


def _add(clients: Clients, topics: Sequence[str], records: int, partitions: int) -> None:
    producer = Producer({**client_config(clients.settings), "linger.ms": 50})
    for topic in topics:
        schema_id = clients.registry.register_schema(f"{topic}-value", Schema(AVRO.schemas[0], "AVRO"))
        for number, record in enumerate(islice(AVRO.records([schema_id]), records)):
            producer.produce(topic, record[1], partition=number % partitions)
        producer.poll(0)
    producer.flush(120)


def _land(folder: Path) -> None:
    environment = {**os.environ, "FRAZIL_PIPELINES": str(folder)}
    subprocess.run(
        [FRAZIL, "land", "--all", "--json"], env=environment, check=True, stdout=subprocess.DEVNULL
    )


if __name__ == "__main__":
    main()
