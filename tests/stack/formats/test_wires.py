"""Records of one topic whose schemas are named in different ways: each lands by the schema that it names."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from typing import Any

import avro.schema
import fastavro
import pytest
import requests
from confluent_kafka.schema_registry import Schema, header_schema_id_serializer, prefix_schema_id_serializer
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from frazil.checks.run import run_values
from frazil.clients import Clients
from frazil.connections import Connections
from frazil.discovery.findings import discover
from frazil.landing.land import land
from frazil.landing.repairs.redrive import redrive
from kit.formats.protobuf import message_class
from kit.records.topics import MakeTopic, Topic, topic_maker
from kit.runs.waiting import PATIENCE
from kit.wires.gate import gate, uncompressed
from kit.wires.mixed import guid_of, with_guids

AVRO = json.dumps(
    {
        "type": "record",
        "name": "shop.M",
        "fields": [{"name": "n", "type": "int"}, {"name": "t", "type": "string"}],
    }
)
MORE = json.dumps(
    {**json.loads(AVRO), "fields": [*json.loads(AVRO)["fields"], {"name": "x", "type": "int", "default": 0}]}
)
JSON = json.dumps(
    {
        "title": "M", "type": "object", "required": ["n", "t"],
        "properties": {"n": {"type": "integer", "connect.type": "int32"}, "t": {"type": "string"}},
    }
)  # fmt: skip
PROTOBUF = 'syntax = "proto3"; message Other { string o = 1; } message M { int32 n = 1; string t = 2; }'

Headers = list[tuple[str, bytes | None]]
Encode = Callable[[dict[str, Any], SerializationContext], bytes]

WIRES: dict[str, Any] = {"prefix": prefix_schema_id_serializer, "header": header_schema_id_serializer}


@pytest.fixture(scope="module")
def registry(connections: Connections) -> Iterator[Connections]:
    """Clients of a stack whose registry tells GUIDs."""
    url = connections.settings.registry.url
    with gate(url, lambda _: True, signed=uncompressed, edited=with_guids) as url:
        yield Clients(connections.settings.with_changes(registry={"url": url}))


@pytest.fixture(scope="module")
def compared(registry: Connections, request: pytest.FixtureRequest) -> None:
    """All tables have their rows compared while there is that registry."""
    request.getfixturevalue("rows_are_their_records")


@pytest.fixture
def make_topic(registry: Connections, fresh_name: str) -> MakeTopic:
    return topic_maker(registry, fresh_name, "wires")


def in_avro(topic: Topic, wire: str) -> Encode:
    conf = {"schema.id.serializer": WIRES[wire], "use.latest.version": True, "auto.register.schemas": False}
    anew = Clients(topic.connections.settings)  # one that remembers no latest version
    return AvroSerializer(anew.registry, None, conf=conf)


def in_json(topic: Topic, wire: str) -> Encode:
    return JSONSerializer(JSON, topic.connections.registry, conf={"schema.id.serializer": WIRES[wire]})


def in_protobuf(topic: Topic, wire: str) -> Encode:
    kind = message_class(PROTOBUF, "M")
    conf = {"schema.id.serializer": WIRES[wire], "use.deprecated.format": False}
    serialize = ProtobufSerializer(kind, topic.connections.registry, conf)
    return lambda record, context: serialize(kind(**record), context)


def as_object(record: dict[str, Any]) -> bytes:
    """An Avro object of its own, by Apache's fingerprint."""
    stream = io.BytesIO(b"\xc3\x01" + avro.schema.parse(AVRO).fingerprint())
    stream.seek(10)
    fastavro.schemaless_writer(stream, json.loads(AVRO), record)
    return stream.getvalue()


def send(topic: Topic, encode: Encode, record: dict[str, Any], *more: tuple[str, bytes]) -> None:
    headers: Headers = [("source", b"here"), *more]
    value = encode(record, SerializationContext(topic.name, MessageField.VALUE, headers))
    topic.send_keyed([(b"k", value)], headers=headers)


def landed_rows(topic: Topic) -> list[tuple[int, str]]:
    return [(row["n"], row["t"]) for row in topic.rows()]


@pytest.mark.each_time("avro-in_avro")
@pytest.mark.parametrize(
    ("kind", "encoded"), [("avro", in_avro), ("json", in_json), ("protobuf", in_protobuf)]
)
def test_half_of_the_records_name_their_schema_in_a_header(
    make_topic: MakeTopic, kind: str, encoded: Callable[[Topic, str], Encode]
) -> None:
    topic = make_topic(
        trades=False, key_format="string", **({"record_type": "M"} if kind == "protobuf" else {})
    )
    if kind == "avro":
        topic.connections.registry.register_schema(f"{topic.name}-value", Schema(AVRO, "AVRO"))
    wires = [encoded(topic, wire) for wire in ("prefix", "header")]
    wanted = [{"n": n, "t": f"text {n}"} for n in range(6)]

    for number, record in enumerate(wanted):
        send(topic, wires[number % 2], record)
    report = land(topic.spec, topic.connections)

    assert report.dead_letters == 0
    assert landed_rows(topic) == [(record["n"], record["t"]) for record in wanted]
    assert run_values(topic.spec, topic.connections, 10).passed


def test_objects_of_avro_land_beside_both_and_by_the_version_that_each_names(make_topic: MakeTopic) -> None:
    topic = make_topic(trades=False, key_format="string")
    topic.connections.registry.register_schema(f"{topic.name}-value", Schema(AVRO, "AVRO"))
    old = in_avro(topic, "header")
    send(topic, old, {"n": 1, "t": "old, in a header"})
    topic.connections.registry.register_schema(f"{topic.name}-value", Schema(MORE, "AVRO"))
    send(topic, in_avro(topic, "header"), {"n": 2, "t": "new, in a header", "x": 5})
    send(topic, in_avro(topic, "prefix"), {"n": 3, "t": "new, in the prefix", "x": 6})
    topic.send_keyed([(b"k", as_object({"n": 4, "t": "old, an object"}))])

    report = land(topic.spec, topic.connections)

    assert report.dead_letters == 0
    assert [(row["n"], row["t"], row["x"]) for row in topic.rows()] == [
        (1, "old, in a header", 0), (2, "new, in a header", 5), (3, "new, in the prefix", 6),
        (4, "old, an object", 0),
    ]  # fmt: skip


def test_a_key_that_a_header_names_tells_the_row_of_an_upsert_table(make_topic: MakeTopic) -> None:
    topic = make_topic(trades=False, mode="upsert", partition_by=["bucket(2, id)"])
    key = json.dumps({"type": "record", "name": "K", "fields": [{"name": "id", "type": "int"}]})
    for half, text in (("key", key), ("value", AVRO)):
        topic.connections.registry.register_schema(f"{topic.name}-{half}", Schema(text, "AVRO"))

    for wire, n in (("prefix", 1), ("header", 2), ("prefix", 3), ("header", 4)):
        headers: Headers = []
        encode = in_avro(topic, wire)
        topic.send_keyed(
            [
                (
                    encode({"id": n % 2}, SerializationContext(topic.name, MessageField.KEY, headers)),
                    encode(
                        {"n": n, "t": wire}, SerializationContext(topic.name, MessageField.VALUE, headers)
                    ),
                )
            ],
            headers=headers or [("none", None)],
        )
    land(topic.spec, topic.connections)

    rows = topic.connections.catalog.load_table(topic.things.table.identifier).scan().to_arrow().to_pylist()
    assert sorted((row["id"], row["n"]) for row in rows) == [(0, 4), (1, 3)]


def test_a_guid_of_another_subject_makes_a_dead_letter_that_is_redriven_once_it_is_known(
    make_topic: MakeTopic,
) -> None:
    topic = make_topic(trades=False, key_format="string", on_bad_record="dead_letter")
    registry = topic.connections.registry
    registry.register_schema(f"{topic.name}-value", Schema(AVRO, "AVRO"))
    schema_id = registry.register_schema(f"{topic.name}-other", Schema(MORE, "AVRO"))
    guid = guid_of(schema_id)
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, json.loads(MORE), {"n": 1, "t": "later", "x": 2})
    topic.send_keyed([(b"k", stream.getvalue())], headers=[("__value_schema_id", b"\1" + guid.bytes)])

    report = land(topic.spec, topic.connections)
    letters = topic.connections.catalog.load_table(topic.things.table.dead_letters.identifier)
    (letter,) = letters.scan().to_arrow().to_pylist()
    registry.register_schema(f"{topic.name}-value", Schema(MORE, "AVRO"))
    redrive(topic.spec, topic.connections)

    assert report.dead_letters == 1
    assert (letter["reason_code"], letter["schema_id"]) == ("schema_header", None)
    assert str(guid) in letter["reason"]
    assert [(row["n"], row["t"], row["x"]) for row in topic.rows()] == [(1, "later", 2)]


def test_apicurios_header_names_a_content_by_the_id_of_its_confluent_api(
    make_topic: MakeTopic,
) -> None:
    topic = make_topic(trades=False, key_format="string")
    schema_id = topic.connections.registry.register_schema(f"{topic.name}-value", Schema(AVRO, "AVRO"))
    api = topic.connections.settings.registry.url.partition("/apis/")[0] + "/apis/registry/v3"
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, json.loads(AVRO), {"n": 1, "t": "by Apicurio"})
    header = ("apicurio.value.contentId", schema_id.to_bytes(8, "big"))
    topic.send_keyed([(b"k", stream.getvalue())], headers=[header])

    report = land(topic.spec, topic.connections)

    assert requests.get(f"{api}/ids/contentIds/{schema_id}", timeout=PATIENCE).json() == json.loads(AVRO)
    assert report.dead_letters == 0
    assert landed_rows(topic) == [(1, "by Apicurio")]


def in_payload(record: dict[str, Any], schema: str = AVRO) -> bytes:
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, json.loads(schema), record)
    return stream.getvalue()


def test_apicurios_global_ids_name_versions_in_headers_and_in_eight_bytes(make_topic: MakeTopic) -> None:
    """Another subject has the same schemas, in the other order: contents have one id, versions two."""
    topic = make_topic(trades=False, key_format="string", on_bad_record="dead_letter")
    client = topic.connections = Clients(
        topic.connections.settings.with_changes(registry={"eight_byte_ids": "global"})
    )
    for subject, schemas in ((f"{topic.name}-other", (MORE, AVRO)), (f"{topic.name}-value", (AVRO, MORE))):
        for text in schemas:
            client.registry.register_schema(subject, Schema(text, "AVRO"))
    api = topic.connections.settings.registry.url.partition("/apis/")[0] + "/apis/registry/v3"
    old, new, foreign = (
        requests.get(f"{api}/groups/default/artifacts/{name}/versions/{n}", timeout=PATIENCE).json()[
            "globalId"
        ]
        for name, n in ((f"{topic.name}-value", 1), (f"{topic.name}-value", 2), (f"{topic.name}-other", 1))
    )
    more = in_payload({"n": 2, "t": "new", "x": 5}, MORE)
    for number, payload in ((old, in_payload({"n": 1, "t": "old"})), (new, more), (foreign, more)):
        header = ("apicurio.value.globalId", number.to_bytes(8, "big"))
        topic.send_keyed([(b"k", payload)], headers=[header])
        topic.send_keyed([(b"k", b"\0" + number.to_bytes(8, "big") + payload)])

    report = land(topic.spec, client)

    assert (report.records, report.dead_letters) == (4, 2)
    assert [(row["n"], row["t"], row["x"]) for row in topic.rows()] == [(1, "old", 0)] * 2 + [
        (2, "new", 5)
    ] * 2
    assert run_values(topic.spec, client, 10).passed


def test_discover_proposes_the_table_that_lands_them(make_topic: MakeTopic) -> None:
    topic = make_topic(trades=False, key_format="string")
    topic.connections.registry.register_schema(f"{topic.name}-value", Schema(AVRO, "AVRO"))
    for n in range(3):
        send(topic, in_avro(topic, "header"), {"n": n, "t": "in a header"})

    (finding,) = discover([topic.name], topic.connections, ())

    (proposal,) = finding.proposals
    assert proposal.table == {"topic": topic.name, "key_format": "string"}
    assert "Headers of records name their schemas." in finding.notes
