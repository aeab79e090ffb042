"""Topics whose schemas are in AWS Glue's registry land beside those of Confluent's, by a named connection."""

from __future__ import annotations

import io
import json
import uuid
import zlib
from typing import Any

import fastavro
import pytest

from frazil.checks.run import run_values
from frazil.clients import Clients
from frazil.connections import Connections
from frazil.errors import ConfigureError, MissingError
from frazil.formats.protocol import WriterSchema
from frazil.formats.registry.subjects import subject_versions
from frazil.formats.registry.wanted import WantedSchema, register
from frazil.landing.land import land
from frazil.tables.catalogs.catalog import glue_client
from kit.formats.protobuf import message_class
from kit.records.topics import MakeTopic, Topic, topic_maker

AVRO: dict[str, Any] = {
    "type": "record", "name": "M",
    "fields": [{"name": "n", "type": "int"}, {"name": "t", "type": "string"}],
}  # fmt: skip
MORE = {**AVRO, "fields": [*AVRO["fields"], {"name": "x", "type": "int", "default": 0}]}
JSON = json.dumps(
    {"type": "object", "required": ["n", "t"], "properties": {
        "n": {"type": "integer", "connect.type": "int32"}, "t": {"type": "string"}}}
)  # fmt: skip
PROTOBUF = 'syntax = "proto3"; message Other { string o = 1; } message M { int32 n = 1; string t = 2; }'
M_IN_GLUE = b"\0"  # of the names M and Other the first


@pytest.fixture(scope="module")
def registry(connections: Connections) -> str:
    """A registry of Glue's."""
    name, client = f"registry-{uuid.uuid4().hex[:8]}", glue_client(connections.settings)
    client.create_registry(RegistryName=name)
    return name


@pytest.fixture
def make_topic(connections: Connections, registry: str, fresh_name: str) -> MakeTopic:
    settings = connections.settings.with_changes(registry={"kind": "glue", "glue_name": registry})
    return topic_maker(Clients(settings), fresh_name, "glue_wires")


def registered(topic: Topic, kind: str, text: str) -> uuid.UUID:
    """The version of a schema that AWS' serializers would name in each record."""
    client = glue_client(topic.connections.settings)
    name = topic.connections.settings.registry.glue_name
    schema = {"RegistryName": name, "SchemaName": f"{topic.name}-value"}
    try:
        made = client.register_schema_version(SchemaId=schema, SchemaDefinition=text)
    except client.exceptions.EntityNotFoundException:
        made = client.create_schema(
            RegistryId={"RegistryName": name}, SchemaName=schema["SchemaName"], DataFormat=kind,
            Compatibility="NONE", SchemaDefinition=text,
        )  # fmt: skip
    return uuid.UUID(made["SchemaVersionId"])


def framed(version: uuid.UUID, payload: bytes, *, compressed: bool = False) -> bytes:
    """As AWS documents it, by its serializers' `EncodingConstants`."""
    body = zlib.compress(payload) if compressed else payload
    return b"\3" + (b"\5" if compressed else b"\0") + version.bytes + body


def in_avro(schema: dict[str, Any], record: dict[str, Any]) -> bytes:
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(dict(schema)), record)
    return stream.getvalue()


def landed_rows(topic: Topic) -> list[tuple[int, str]]:
    return [(row["n"], row["t"]) for row in topic.rows()]


def test_avro_lands_by_the_version_that_each_record_names_compressed_or_not(make_topic: MakeTopic) -> None:
    topic = make_topic(trades=False, key_format="string")
    old, new = (registered(topic, "AVRO", json.dumps(schema)) for schema in (AVRO, MORE))
    topic.send(
        [
            framed(old, in_avro(AVRO, {"n": 1, "t": "old"})),
            framed(new, in_avro(MORE, {"n": 2, "t": "new", "x": 5})),
            framed(new, in_avro(MORE, {"n": 3, "t": "compressed" * 50, "x": 6}), compressed=True),
        ]
    )

    land(topic.spec, topic.connections)

    assert [(r["n"], r["t"][:10], r["x"]) for r in topic.rows()] == [
        (1, "old", 0), (2, "new", 5), (3, "compressed", 6),
    ]  # fmt: skip
    assert run_values(topic.spec, topic.connections, 10).passed


def test_json_schema_and_protobuf_land_too(make_topic: MakeTopic) -> None:
    of_json, of_protobuf = (
        make_topic(trades=False, key_format="string", **m) for m in ({}, {"record_type": "M"})
    )
    version = registered(of_json, "JSON", JSON)
    of_json.send([framed(version, b'{"n": 1, "t": "a"}', compressed=c) for c in (False, True)])
    version, message = registered(of_protobuf, "PROTOBUF", PROTOBUF), message_class(PROTOBUF, "M")
    payload = M_IN_GLUE + message(n=1, t="a").SerializeToString()
    of_protobuf.send([framed(version, payload, compressed=c) for c in (False, True)])

    for topic in (of_json, of_protobuf):
        land(topic.spec, topic.connections)
        assert landed_rows(topic) == [(1, "a"), (1, "a")]
        assert run_values(topic.spec, topic.connections, 10).passed


def test_what_names_no_version_of_the_schema_is_a_bad_record_with_its_uuid(make_topic: MakeTopic) -> None:
    topic = make_topic(trades=False, key_format="string", on_bad_record="dead_letter")
    version, strange = registered(topic, "AVRO", json.dumps(AVRO)), uuid.uuid4()
    payload = in_avro(AVRO, {"n": 1, "t": "a"})
    topic.send([framed(version, payload), framed(strange, payload), b"\0\0\0\0\1" + payload])

    report = land(topic.spec, topic.connections)

    name = topic.things.table.dead_letters.identifier
    letters = topic.connections.catalog.load_table(name).scan().to_arrow().to_pylist()
    reasons = {row["offset"]: (row["reason_code"], row["reason"]) for row in letters}
    assert (report.records, report.dead_letters) == (1, 2)
    assert reasons[1] == ("schema_id", f"schema version {strange} is not of schema {topic.name}-value")
    assert reasons[2][0] == "schema_id"


def test_a_schema_that_is_not_there_is_named_and_nothing_is_registered(make_topic: MakeTopic) -> None:
    topic = make_topic(trades=False, key_format="string")
    topic.send([b"x"])

    with pytest.raises(MissingError, match=f"has no schema {topic.name}-value"):
        land(topic.spec, topic.connections)
    with pytest.raises(ConfigureError, match="registers no schema in Glue"):
        register(topic.connections.registry, "s", WantedSchema("AVRO", json.dumps(AVRO)))


def test_versions_are_remembered_until_there_is_a_newer_one(make_topic: MakeTopic) -> None:
    topic = make_topic(trades=False)
    subject = f"{topic.name}-value"
    registered(topic, "AVRO", json.dumps(AVRO))
    first = subject_versions(topic.connections.registry, subject)
    registered(topic, "AVRO", json.dumps(MORE))

    second = subject_versions(topic.connections.registry, subject)

    assert [w.version for w in second] == [1, 2]
    assert second[0] == first[0]
    assert all(isinstance(w, WriterSchema) and w.glue_id for w in second)
