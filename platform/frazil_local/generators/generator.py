"""Made-up records of one topic, or of several at once, at a rate, to a count, or until stopped.

Their values are encoded by libraries that the landing does not decode with.
"""

from __future__ import annotations

import io
import json
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from frazil.clients import Clients
from frazil.formats.protocol import WriterSchema
from frazil.formats.registry.wanted import WantedSchema
from frazil.kafka.facts import topic_facts
from frazil.kafka.provisioning import TopicState, provide_topic
from frazil.settings.profile import Settings
from frazil.spec.topic import SCHEMA_KINDS, TableSpec
from frazil_local.generators.chance import BLOCK, Chance, Origin, next_origin
from frazil_local.generators.producer import Record, produce_batches

_BATCH = 5000
_TICK = 0.05


Values = Mapping[str, Any]
"""One key or value, by field."""

Encode = Callable[[Values], bytes]

Make = Callable[[random.Random], tuple[bytes | Values | None, Values]]
"""Makes up one key, if any, and one value."""

Prepare = Callable[[Chance], Make]
"""Draws what all records of a run share."""


@dataclass(frozen=True, slots=True)
class Generator:
    """How records for one topic are made up."""

    topic: str  # where to, where nobody says otherwise
    value: WantedSchema
    records: Callable[[Chance, TopicState, Origin], Iterator[Record]]  # endless, from the origin on
    key: WantedSchema | None = None
    partitions: int = 6  # of a topic that must be made


def shipped_schema(file: str) -> WantedSchema:
    """A schema from the folder `schemas` beside this module; the topic's pipeline ships the same one."""
    path = Path(__file__).parent / "schemas" / file
    return WantedSchema(SCHEMA_KINDS[path.suffix], path.read_text(encoding="utf-8"))


def encoded(
    topic: str,
    value: WantedSchema,
    prepare: Prepare,
    *,
    name: str | None = None,
    key: WantedSchema | None = None,
    partitions: int = 6,
) -> Generator:
    """Records that are made up one by one; of one name and seed they are the same, whatever their format.

    The name is the topic's by default. Where keys are bytes, or there are none, they have no schema.
    """

    def records(chance: Chance, state: TopicState, origin: Origin) -> Iterator[Record]:
        make = prepare(chance)
        encode = encoder(value, state.schema_id or 0)
        encode_key = encoder(key, state.key_schema_id or 0) if key else None
        headers = origin.headers()
        for dice, left_out in chance.blocks(name or topic, origin.iteration):
            for made, values in islice((make(dice) for _ in range(BLOCK)), left_out, None):
                yield _key(made, encode_key), encode(values), next(headers), None, None

    return Generator(topic, value, records, key, partitions)


def encoder(schema: WantedSchema, schema_id: int) -> Encode:
    """An encoder to Confluent's wire format."""
    prefix = b"\0" + schema_id.to_bytes(4, "big")
    encode = {"AVRO": _avro, "JSON": _json, "PROTOBUF": _protobuf}[schema.kind](schema.text)
    return lambda values: prefix + encode(values)


def _key(made: bytes | Values | None, encode: Encode | None) -> bytes | None:
    if isinstance(made, Mapping):
        return encode(made) if encode else None
    return made


def _avro(text: str) -> Encode:
    import fastavro

    schema = fastavro.parse_schema(json.loads(text))

    def encode(values: Values) -> bytes:
        stream = io.BytesIO()
        fastavro.schemaless_writer(stream, schema, values)
        return stream.getvalue()

    return encode


def _json(_: str) -> Encode:
    """JSON has one kind of number; these small amounts of money lose nothing as floats."""
    return lambda values: json.dumps(values, separators=(",", ":"), default=float).encode()


def _protobuf(text: str) -> Encode:
    """The file's first message; a zero byte after the schema id says so."""
    from google.protobuf.json_format import ParseDict
    from google.protobuf.message_factory import GetMessageClass

    from frazil.formats.protobuf.descriptors import compiled, file_of, message_at

    file = file_of(compiled(WriterSchema(0, 0, text, "PROTOBUF"), "of the generator"))
    message = GetMessageClass(message_at(file, (0,)))
    return lambda values: b"\0" + bytes(ParseDict(values, message()).SerializeToString())


@dataclass(frozen=True, slots=True)
class GeneratedReport:
    """What one call produced; the schema id is what the values were written with."""

    topic: str
    records: int
    bytes: int
    seconds: float
    schema_id: int


def generate(
    generator: Generator,
    settings: Settings,
    *,
    topic: str | None = None,
    count: int | None = None,
    rate: float | None = None,
    seed: int | None = None,
    on_progress: Callable[[int], None] = lambda _: None,
    stop: threading.Event | None = None,
) -> GeneratedReport:
    """Produces records; makes topic and subjects where they are missing.

    Args:
        generator: Makes them up.
        settings: The environment.
        topic: Where to, if not to the generator's own topic.
        count: How many; without it until `stop`.
        rate: How many a second; without it as fast as Kafka takes them.
        seed: The same seed gives the same records; a topic that has some of them gets the next ones.
        on_progress: Told from time to time how many were handed over.
        stop: Ends it early.
    """
    stop = stop or threading.Event()
    topic = topic or generator.topic
    state = provide(generator, topic, settings)
    chance = Chance(random.getrandbits(32) if seed is None else seed)
    records = generator.records(chance, state, next_origin(settings, topic))
    batches = _paced(islice(records, count), rate, stop)
    done = produce_batches(settings, topic, batches, on_progress=on_progress)
    return GeneratedReport(topic, done.records, done.bytes, done.seconds, state.schema_id or 0)


def provide(generator: Generator, topic: str, settings: Settings) -> TopicState:
    """Makes topic and subjects where they are missing; the topic keeps the partitions that it has."""
    connections = Clients(settings)
    existing = topic_facts(connections.admin, [topic])
    spec = TableSpec(topic=topic, partitions=None if existing else generator.partitions)
    return provide_topic(spec, connections, key=generator.key, value=generator.value)


def _paced(records: Iterator[Record], rate: float | None, stop: threading.Event) -> Iterator[list[Record]]:
    """Batches of records at a rate, until there are no more or it is stopped."""
    begun, passed = time.monotonic(), 0
    while not stop.is_set():
        due = _BATCH if rate is None else int((time.monotonic() - begun) * rate) + 1 - passed
        batch = list(islice(records, max(0, due)))
        if due > 0 and not batch:
            return
        yield batch
        passed += len(batch)
        if rate is not None:
            stop.wait(max(_TICK, passed / rate - (time.monotonic() - begun)))


def generate_several(
    generators: Sequence[Generator],
    settings: Settings,
    *,
    count: int | None = None,
    rate: float | None = None,
    seed: int | None = None,
    on_progress: Callable[[str, int], None] = lambda *_: None,
    stop: threading.Event | None = None,
) -> list[GeneratedReport]:
    """As `generate`, for each at the same time; those of one seed speak of the same people.

    Where one fails, the others are stopped; what they produced stays.
    """
    stop = stop or threading.Event()
    seed = random.getrandbits(32) if seed is None else seed

    def one(generator: Generator) -> GeneratedReport:
        def report(sent: int) -> None:
            on_progress(generator.topic, sent)

        try:
            return generate(
                generator, settings, count=count, rate=rate, seed=seed, on_progress=report, stop=stop
            )
        except BaseException:
            stop.set()
            raise

    with ThreadPoolExecutor(len(generators)) as pool:
        return list(pool.map(one, generators))
