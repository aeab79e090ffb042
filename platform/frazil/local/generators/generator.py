"""Made-up records of one topic, or of several at once, at a rate, to a count, or until stopped."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from frazil.clients import Clients
from frazil.connections import Connections
from frazil.formats.registry import WantedSchema
from frazil.kafka.facts import topic_facts
from frazil.kafka.provisioning import TopicState, provide_topic
from frazil.local.generators.chance import Chance, Origin, next_origin
from frazil.local.generators.producer import Record, produce_batches
from frazil.settings import Settings
from frazil.spec.topic import SCHEMA_KINDS, TableSpec

__all__ = ["GeneratedReport", "Generator", "generate", "generate_several", "shipped_schema"]

_BATCH = 5000
_TICK = 0.05


@dataclass(frozen=True, slots=True)
class Generator:
    """What is made up for one topic."""

    topic: str  # where to, where nobody says otherwise
    value: WantedSchema
    records: Callable[[Chance, TopicState, Origin], Iterator[Record]]  # endless, from the origin on
    key: WantedSchema | None = None
    partitions: int = 6  # of a topic that must be made


def shipped_schema(file: str) -> WantedSchema:
    """A schema of the folder beside this module; the pipeline of the topic ships the same."""
    path = Path(__file__).parent / "schemas" / file
    return WantedSchema(SCHEMA_KINDS[path.suffix], path.read_text(encoding="utf-8"))


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
    state = _provide(generator, topic, Clients(settings))
    chance = Chance(random.getrandbits(32) if seed is None else seed)
    records = generator.records(chance, state, next_origin(settings, topic))
    batches = _paced(islice(records, count), rate, stop)
    done = produce_batches(settings, topic, batches, on_progress=on_progress)
    return GeneratedReport(topic, done.records, done.bytes, done.seconds, state.schema_id or 0)


def _provide(generator: Generator, topic: str, connections: Connections) -> TopicState:
    """The topic, with the partitions it has, or the generator's."""
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
        def told(sent: int) -> None:
            on_progress(generator.topic, sent)

        try:
            return generate(
                generator, settings, count=count, rate=rate, seed=seed, on_progress=told, stop=stop
            )
        except BaseException:
            stop.set()
            raise

    with ThreadPoolExecutor(len(generators)) as pool:
        return list(pool.map(one, generators))
