"""How far `frazil run` is behind twelve topics at once, in mixed formats and modes.

`python tests/bench/mixed.py [--rate 2000] [--minutes 4] [--freshness 2s]` produces records into all of them
beside a `frazil run`: two tables append in each of Avro, JSON and Protobuf, one in each is of rows by key,
and three follow Debezium. See continuous.py for what is counted. Prints a table on stderr and one line of
JSON on stdout; exits with 1 where a target is missed.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import statistics
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import fastavro
from confluent_kafka import Producer
from confluent_kafka.admin import NewTopic
from confluent_kafka.schema_registry import Schema
from continuous import (
    TICK,
    WARM_UPS,
    Written,
    ages_of,
    drop,
    landed,
    runner,
    share,
    wait,
    write_pipeline,
)
from figures import Line, show
from meter import Meter
from samples import NARROW, Kind, sample
from topics import PARTITIONS

from frazil.clients import Clients
from frazil.kafka.clients import client_config
from frazil.settings.profile import Settings
from kit.records.envelopes import (
    AT,
    JSON_ENVELOPE,
    JSON_KEY,
    KEY_FIELDS,
    ORIGIN,
    SEEN,
    avro_envelope,
    embedded,
    record,
)

Pair = tuple[bytes, bytes]
Fill = Callable[[Clients, str], Sequence[Pair]]
"""Registers the schemas of a topic, and gives keys and values of it."""

ROWS = 5_000
KINDS: Sequence[Kind] = ("avro", "json", "protobuf")


@dataclass(frozen=True, slots=True)
class Fed:
    """A topic, its table and what is sent to it."""

    topic: str
    spec: Mapping[str, Any]
    pairs: Sequence[Pair]
    written: Written = field(default_factory=Written)


def main() -> None:
    """Measures, and prints."""
    options = _arguments()
    clients = Clients(Settings.load())
    with ExitStack() as opened:
        folder = Path(opened.enter_context(TemporaryDirectory()))
        fed = [fed_topic(opened, clients, *each) for each in kinds()]
        write_pipeline(folder, [{**each.spec, "topic": each.topic} for each in fed], options.freshness)
        _, events = opened.enter_context(runner(folder))
        load = Meter().cost(lambda: produce(clients, fed, options.rate, options.minutes * 60))
        sent = sum(ends[-1] for each in fed for ends in each.written.ends)
        wait(lambda: sum(e["records"] for e in landed(events)) == sent)
        lines = list(_lines(fed, landed(events), load.cpu / load.seconds))
    show(lines)
    sys.exit(not all(line.met for line in lines))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=int, default=2_000, help="records a second, of all topics together")
    parser.add_argument("--minutes", type=float, default=4)
    parser.add_argument("--freshness", default="2s")
    return parser.parse_args()


def kinds() -> Iterator[tuple[str, dict[str, Any], Fill]]:
    for kind in KINDS:
        for number in range(2):
            yield f"{kind}_{number}", {}, partial(sampled, kind)
        yield f"{kind}_by_key", {"mode": "upsert", "key_format": "string"}, partial(sampled, kind)
    yield "cdc_avro", {"mode": "cdc"}, changes_in_avro
    yield "cdc_json", {"mode": "cdc"}, _changes_in_json
    yield "cdc_embedded", {"mode": "cdc", "framing": "none"}, _changes_embedded


def fed_topic(opened: ExitStack, clients: Clients, name: str, spec: Mapping[str, Any], fill: Fill) -> Fed:
    topic = f"mixed_{uuid.uuid4().hex[:6]}_{name}"
    wanted = NewTopic(topic, PARTITIONS, config={"retention.ms": "-1"})
    for future in clients.admin.create_topics([wanted]).values():
        future.result(30)
    opened.callback(lambda: [f.result(30) for f in clients.admin.delete_topics([topic]).values()])
    opened.callback(drop, clients, topic)
    return Fed(topic, spec, fill(clients, topic))


def _register(clients: Clients, topic: str, half: str, text: str, kind: str) -> int:
    return int(clients.registry.register_schema(f"{topic}-{half}", Schema(text, kind)))


def sampled(kind: Kind, clients: Clients, topic: str) -> Sequence[Pair]:
    own = sample(kind, NARROW, kind, headers=False)
    schema_id = _register(clients, topic, "value", own.schemas[0], kind.upper())
    return [(key, value) for key, value, *_ in islice(own.records([schema_id]), ROWS)]


def _changes() -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Keys and envelopes of updates."""
    chance = random.Random(7)
    for number in range(ROWS):
        key = str(chance.randrange(1000))
        row = {"key": key, "quantity": number, "note": f"n{number}", "at": AT, "seen": SEEN}
        source = {**ORIGIN, "ts_ms": AT // 1000, "txId": 7, "lsn": number}
        yield {"key": key}, {"before": None, "after": row, "source": source, "op": "u", "ts_ms": AT // 1000}


def changes_in_avro(clients: Clients, topic: str) -> Sequence[Pair]:
    schemas = record("Key", KEY_FIELDS), avro_envelope()
    ids = [
        _register(clients, topic, half, json.dumps(schema), "AVRO")
        for half, schema in zip(("key", "value"), schemas, strict=True)
    ]
    parsed = [fastavro.parse_schema(schema) for schema in schemas]

    def encoded(half: int, value: dict[str, Any]) -> bytes:
        stream = io.BytesIO(b"\0" + ids[half].to_bytes(4, "big"))
        stream.seek(5)
        fastavro.schemaless_writer(stream, parsed[half], value)
        return stream.getvalue()

    return [(encoded(0, key), encoded(1, {**value, "transaction": None})) for key, value in _changes()]


def _changes_in_json(clients: Clients, topic: str) -> Sequence[Pair]:
    heads = [
        b"\0" + _register(clients, topic, half, json.dumps(schema), "JSON").to_bytes(4, "big")
        for half, schema in (("key", JSON_KEY), ("value", JSON_ENVELOPE))
    ]
    return [(heads[0] + json.dumps(k).encode(), heads[1] + json.dumps(v).encode()) for k, v in _changes()]


def _changes_embedded(clients: Clients, topic: str) -> Sequence[Pair]:
    for half, schema in (("key", JSON_KEY), ("value", JSON_ENVELOPE)):
        _register(clients, topic, half, json.dumps(embedded(schema)), "JSON")

    def wrapped(value: dict[str, Any]) -> bytes:
        return json.dumps({"schema": {"type": "struct", "fields": []}, "payload": value}).encode()

    return [(wrapped(key), wrapped(value)) for key, value in _changes()]


def produce(clients: Clients, fed: Sequence[Fed], rate: int, seconds: float) -> None:
    """So many records a second, shared out among the topics; in batches of one partition each."""
    producer = Producer({**client_config(clients.settings), "linger.ms": 5})
    begun, sent, turn = time.time(), 0, 0
    while (now := time.time()) < begun + seconds:
        count = (int((now - begun) * rate) - sent) // len(fed)
        for each in fed if count else ():
            number = turn % PARTITIONS
            for n in range(count):
                key, value = each.pairs[(sent // len(fed) + n) % len(each.pairs)]
                producer.produce(each.topic, value, key, partition=number, timestamp=int(now * 1000))
            each.written.note(number, count, now)
        producer.poll(0)
        sent, turn = sent + count * len(fed), turn + 1
        time.sleep(TICK)
    producer.flush(60)


def _lines(fed: Sequence[Fed], landings: Sequence[dict[str, Any]], cores: float) -> Iterator[Line]:
    ages: list[tuple[float, int]] = []
    medians: dict[str, float] = {}
    for each in fed:
        own = [landing for landing in landings if landing["table"].endswith(each.topic)]
        ages += (of := ages_of(own[WARM_UPS:], each.written))
        medians[each.topic] = share(of, 0.5)
        took = statistics.median([landing["seconds"] for landing in own] or [0.0])
        name = each.topic.partition("_")[2].partition("_")[2]
        yield Line(f"{name}: median age, {len(own)} landings of {took:.1f} s", medians[each.topic], "s")
    ages.sort()
    half, most = share(ages, 0.5), share(ages, 0.95)
    yield Line("all: median", half, "s", "under 3", half < 3)
    yield Line("all: 95 of 100", most, "s", "under 6", most < 6)
    worst = max(medians.values()) / max(0.001, min(medians.values()))
    yield Line("slowest table's median, to the quickest's", worst, "times", "under 2", worst < 2)
    yield Line("CPU of Spark and this producer", cores, "cores")


if __name__ == "__main__":
    main()
