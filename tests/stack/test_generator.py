"""The generators on a real broker, and the command that runs them."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import replace
from typing import Any

import pytest
from confluent_kafka import Message, TopicPartition
from confluent_kafka.schema_registry import Schema
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf.message_factory import GetMessageClass

from frazil.connections import Connections
from frazil.errors import DifferentError, FrazilError, MissingError
from frazil.formats.protobuf.descriptors import compiled, file_of
from frazil.formats.protocol import WriterSchema
from frazil.formats.registry.subjects import subject_versions
from frazil.kafka.clients import consumer
from frazil.kafka.facts import topic_fact, topic_facts
from frazil.settings.profile import Settings
from frazil_local.cli.generate import Kind
from frazil_local.generators import GENERATORS
from frazil_local.generators.airline import SKYONE, SUNSET
from frazil_local.generators.datagen import STOCK_TRADES
from frazil_local.generators.generator import Generator, generate, generate_several
from frazil_local.generators.producer import produce
from frazil_local.generators.shipments import SHIPMENTS
from kit.records.flights import FLIGHTS
from kit.records.topics import create_topic
from kit.runs.shell import Command, Shell


def read(settings: Settings, connections: Connections, topic: str) -> list[Message]:
    """All records of a topic, by partition and offset."""
    facts = topic_fact(connections.admin, topic)
    count = sum(facts.end.values()) - sum(facts.first.values())
    reader = consumer(settings, **{"enable.partition.eof": False})
    reader.assign([TopicPartition(topic, p, first) for p, first in facts.first.items()])
    messages = reader.consume(count, 30)
    reader.close()
    assert len(messages) == count
    return sorted(messages, key=lambda m: (m.partition(), m.offset()))


def test_topic_and_subject_are_made_and_any_deserializer_reads_the_trades(
    stack: Settings, connections: Connections, fresh_name: str
) -> None:
    report = generate(STOCK_TRADES, stack, topic=fresh_name, count=500, seed=1)
    messages = read(stack, connections, fresh_name)
    assert (report.records, len(messages)) == (500, 500)
    assert report.bytes == sum(len(m.key()) + len(m.value()) for m in messages)
    assert len(topic_fact(connections.admin, fresh_name).end) == 6
    assert subject_versions(connections.registry, f"{fresh_name}-value")[-1].schema_id == report.schema_id
    deserialize = AvroDeserializer(connections.registry)
    context = SerializationContext(fresh_name, MessageField.VALUE)
    values = [deserialize(m.value(), context) for m in messages]
    assert [v["symbol"].encode() for v in values] == [m.key() for m in messages]


@pytest.mark.parametrize("generator", [SKYONE, FLIGHTS, SHIPMENTS], ids=lambda g: g.topic)
def test_records_of_every_format_count_on_in_their_headers_and_name_their_schemas(
    stack: Settings, connections: Connections, fresh_name: str, generator: Generator
) -> None:
    for seed in (1, 1):
        report = generate(generator, stack, topic=fresh_name, count=40, seed=seed)
    messages = read(stack, connections, fresh_name)
    headers = [dict(m.headers() or ()) for m in messages]

    assert report.records == 40
    assert len(topic_fact(connections.admin, fresh_name).end) == generator.partitions
    assert {int(h["current.iteration"]) for h in headers} == set(range(80))
    assert {m.value()[:5] for m in messages} == {b"\0" + report.schema_id.to_bytes(4, "big")}
    for half, wanted in (("value", generator.value), ("key", generator.key)):
        versions = subject_versions(connections.registry, f"{fresh_name}-{half}") if wanted else ()
        assert [v.kind for v in versions] == ([wanted.kind] if wanted else [])


def test_confluents_own_deserializers_read_every_format(
    stack: Settings, connections: Connections, fresh_name: str
) -> None:
    tickets, flights, shipments = (f"{fresh_name}_{n}" for n in range(3))
    for generator, topic in ((SKYONE, tickets), (FLIGHTS, flights), (SHIPMENTS, shipments)):
        generate(generator, stack, topic=topic, count=50, seed=2)
    registry = connections.registry
    json_reader = JSONDeserializer(None, schema_registry_client=registry)
    avro_reader = AvroDeserializer(registry)

    for message in read(stack, connections, tickets):
        context = SerializationContext(tickets, MessageField.VALUE)
        ticket = json_reader(message.value(), context)
        assert message.key() is None
        assert 60 <= ticket["flight_duration"] < 1320
    for message in read(stack, connections, flights):
        key = avro_reader(message.key(), SerializationContext(flights, MessageField.KEY))
        value = avro_reader(message.value(), SerializationContext(flights, MessageField.VALUE))
        assert key == {name: value[name] for name in ("departure_airport_code", "flight_number")}
    file = file_of(compiled(WriterSchema(0, 0, SHIPMENTS.value.text, "PROTOBUF"), "shipments"))
    shipment = GetMessageClass(file.message_types_by_name["Shipment"])
    proto_reader = ProtobufDeserializer(shipment, {"use.deprecated.format": False})
    for message in read(stack, connections, shipments):
        value = proto_reader(message.value(), SerializationContext(shipments, MessageField.VALUE))
        assert value.shipment_id == message.key().decode()
        assert value.WhichOneof("carrier") in ("truck", "flight")


def test_trades_of_one_symbol_lie_in_one_partition_as_java_would_put_them(
    stack: Settings, connections: Connections, fresh_name: str
) -> None:
    generate(STOCK_TRADES, stack, topic=fresh_name, count=300, seed=1)
    places = {(m.key(), m.partition()) for m in read(stack, connections, fresh_name)}
    # org.apache.kafka.common.utils.Utils.murmur2, made positive, modulo 6
    java = {b"ZBZX": 4, b"ZJZZT": 5, b"ZTEST": 2, b"ZVV": 0, b"ZVZZT": 5, b"ZWZZT": 0, b"ZXZZT": 5}
    assert places == set(java.items())


def test_a_second_call_counts_on_in_the_headers(
    stack: Settings, connections: Connections, fresh_name: str
) -> None:
    for _ in range(2):
        generate(STOCK_TRADES, stack, topic=fresh_name, count=100)
    headers = [dict(m.headers() or ()) for m in read(stack, connections, fresh_name)]
    assert {int(h["current.iteration"]) for h in headers} == set(range(200))
    assert {h["task.generation"] for h in headers} == {b"0", b"1"}
    assert {h["task.id"] for h in headers} == {b"0"}


def test_the_same_seed_gives_the_same_records(
    stack: Settings, connections: Connections, fresh_name: str
) -> None:
    names = [f"{fresh_name}{n}" for n in range(2)]
    for name in names:
        generate(STOCK_TRADES, stack, topic=name, count=200, seed=3)
    one, two = ([(m.key(), m.value()[5:]) for m in read(stack, connections, n)] for n in names)
    assert one == two


def test_a_seeds_records_go_on_where_the_call_before_stopped(
    stack: Settings, connections: Connections, fresh_name: str
) -> None:
    once, twice = f"{fresh_name}_once", f"{fresh_name}_twice"
    generate(SKYONE, stack, topic=once, count=1500, seed=5)
    for count in (1100, 400):
        generate(SKYONE, stack, topic=twice, count=count, seed=5)

    one, two = ([m.value()[5:] for m in read(stack, connections, name)] for name in (once, twice))
    assert two == one


def test_several_at_once_fly_the_same_people(
    stack: Settings, connections: Connections, fresh_name: str
) -> None:
    airlines = [replace(g, topic=f"{fresh_name}_{g.topic}") for g in (SKYONE, SUNSET)]

    reports = generate_several(airlines, stack, count=3000, rate=6000)

    assert [(r.topic, r.records) for r in reports] == [(g.topic, 3000) for g in airlines]
    skyone, sunset = (
        {json.loads(m.value()[5:])["email_address"] for m in read(stack, connections, g.topic)}
        for g in airlines
    )
    assert skyone == sunset
    assert len(skyone) == 100  # 3000 draws miss one of them in one of 10^11 runs


def test_one_that_fails_stops_the_others(stack: Settings, connections: Connections, fresh_name: str) -> None:
    endless, refused = (replace(g, topic=f"{fresh_name}_{g.topic}") for g in (SKYONE, SUNSET))
    connections.registry.register_schema(f"{refused.topic}-value", Schema('{"type": "string"}', "AVRO"))

    with pytest.raises(DifferentError, match="holds another schema"):
        generate_several([endless, refused], stack, rate=10)


def test_a_rate_is_kept_until_it_is_stopped(stack: Settings, fresh_name: str) -> None:
    stop = threading.Event()
    begun = time.monotonic()

    def enough(sent: int) -> None:
        if sent >= 100:
            stop.set()

    report = generate(STOCK_TRADES, stack, topic=fresh_name, rate=200, stop=stop, on_progress=enough)
    assert 100 <= report.records <= 1 + (time.monotonic() - begun) * 200


def test_a_subject_with_another_schema_is_refused_before_anything_is_made(
    stack: Settings, connections: Connections, fresh_name: str
) -> None:
    connections.registry.register_schema(f"{fresh_name}-value", Schema('{"type": "string"}', "AVRO"))
    with pytest.raises(DifferentError, match="holds another schema"):
        generate(STOCK_TRADES, stack, topic=fresh_name, count=1)
    assert topic_facts(connections.admin, [fresh_name]) == {}


def test_any_records_can_be_produced_where_and_when_one_likes(
    stack: Settings, connections: Connections, fresh_name: str
) -> None:
    create_topic(connections.admin, fresh_name, 3, {"retention.ms": "-1"})
    records = [(b"k%d" % n, b"v" * n or None, [("h", None)], 2, 1000 + n) for n in range(600)]
    seen: list[int] = []
    done = produce(stack, fresh_name, iter(records), on_progress=seen.append)
    messages = read(stack, connections, fresh_name)
    got = [(m.key(), m.value(), m.headers(), m.partition(), m.timestamp()[1]) for m in messages]
    assert got == records
    assert done.records == seen[-1] == 600


def test_more_records_than_the_queue_holds_all_arrive_in_order(
    stack: Settings, connections: Connections, fresh_name: str
) -> None:
    create_topic(connections.admin, fresh_name, 1, {})
    large = b"x" * 4096
    count = 100_000  # 400 MB, where the producer's queue holds 256
    produce(stack, fresh_name, ((b"%d" % n, large, None, 0, None) for n in range(count)))
    assert topic_fact(connections.admin, fresh_name).end == {0: count}


@pytest.mark.parametrize(
    ("record", "error"),
    [((None, b"x", None, 9, None), MissingError), ((None, b"x" * 5_000_000, None, 0, None), FrazilError)],
)
def test_a_record_that_can_not_arrive_is_an_error(
    stack: Settings,
    connections: Connections,
    fresh_name: str,
    record: Any,
    error: type[FrazilError],
) -> None:
    create_topic(connections.admin, fresh_name, 1, {})
    with pytest.raises(error, match=fresh_name):
        produce(stack, fresh_name, [record])


def test_the_command_prints_one_json_document(shell: Shell, fresh_name: str) -> None:
    done = shell("generate", "stock_trades", "--count", "50", "--topic", fresh_name, "--json")
    assert done.code == 0, done.err
    (report,) = done.document
    assert (report["topic"], report["records"]) == (fresh_name, 50)


def test_the_command_writes_several_kinds_to_topics_of_their_own_only(
    frazil: Command, fresh_name: str
) -> None:
    done = frazil("generate", "skyone", "sunset", "--count", "1", "--topic", fresh_name)
    assert done.code != 0
    assert f"{fresh_name} can't take records of 2 kinds." in done.err


def test_the_command_offers_every_generator_and_the_database_that_changes() -> None:
    assert {kind.value for kind in Kind} == {*GENERATORS, Kind.NORTHWIND}


@pytest.mark.nightly  # by day test_topics.py and cli/test_failures.py have it, and each waits for seconds
def test_the_command_says_in_one_message_that_kafka_is_down(frazil: Command, fresh_name: str) -> None:
    nowhere = {"FRAZIL_KAFKA__BOOTSTRAP_SERVERS": "127.0.0.1:1"}
    done = frazil("generate", "stock_trades", "--count", "1", "--topic", fresh_name, **nowhere)
    assert done.code == 5
    assert "Kafka does not answer" in done.err
    assert "Traceback" not in done.err
