"""Topics of each format, most of them the checkout's own: every generated record is a row, in every layer."""

from __future__ import annotations

import io
import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pytest
from confluent_kafka import Message, TopicPartition
from google.protobuf.message_factory import GetMessageClass

from frazil.checks.run import run_checks
from frazil.connections import Connections
from frazil.formats.protobuf.descriptors import compiled, file_of
from frazil.formats.protocol import WriterSchema
from frazil.kafka.clients import consumer
from frazil.kafka.facts import topic_fact
from frazil.kafka.provisioning import ensure_topic
from frazil.landing.many import land_many
from frazil.landing.report import LandingReport
from frazil.pipelines.folder import load_pipelines, pipeline_folders
from frazil.settings.profile import Settings
from frazil.spec.names import things
from frazil.spec.topic import TableSpec
from frazil_local.generators import GENERATORS
from frazil_local.generators.generator import generate
from kit.formats.formats import plain
from kit.readers.targets import sync_glue, sync_snowflake
from kit.records.flights import FLIGHTS

COUNT = 200
TOPICS = ("skyone", "sunset_avro", "shipments")
MADE_UP = {**GENERATORS, "flights": FLIGHTS}

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Landed:
    """One pipeline's table under a name of its own, after a landing of what was generated."""

    spec: TableSpec
    report: LandingReport
    messages: list[Message]


@pytest.fixture(scope="module")
def landed(
    stack: Settings, connections: Connections, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Landed]:
    """All of them landed at once, by the name that the topic has elsewhere."""
    settings, prefix = Settings(), f"t{uuid.uuid4().hex[:8]}"
    pipelines = load_pipelines(pipeline_folders(settings), settings).all()
    named = {s.topic: s for p in pipelines for s in p.tables if s.topic in TOPICS}
    named["flights"] = with_avro_keys(tmp_path_factory.mktemp("flights"))
    changes = {topic: {"topic": f"{prefix}_{topic}", "namespace": "pipeline_tests"} for topic in named}
    specs = {topic: spec.model_copy(update=changes[topic]) for topic, spec in named.items()}
    for topic, spec in specs.items():
        ensure_topic(spec, connections)
        generate(MADE_UP[topic], stack, topic=spec.topic, count=COUNT, seed=4)
    outcomes = {spec.topic: outcome for spec, outcome in land_many(list(specs.values()), connections)}
    failed = [o for o in outcomes.values() if isinstance(o, Exception)]
    assert not failed, failed
    return {
        topic: Landed(spec, outcomes[spec.topic], read(connections, spec.topic))  # type: ignore[arg-type]
        for topic, spec in specs.items()
    }


def with_avro_keys(folder: Path) -> TableSpec:
    """A topic whose keys have a schema: none of the checkout's pipelines has one."""
    assert FLIGHTS.key
    key, value = folder / "flights_key.avsc", folder / "flights.avsc"
    key.write_text(FLIGHTS.key.text)
    value.write_text(FLIGHTS.value.text)
    return TableSpec(topic="flights", key_schema=key, value_schema=value, partitions=FLIGHTS.partitions)


def read(connections: Connections, topic: str) -> list[Message]:
    """All records of a topic, by partition and offset."""
    ends = topic_fact(connections.admin, topic).end
    reader = consumer(connections.settings, **{"enable.partition.eof": False})
    reader.assign([TopicPartition(topic, p, 0) for p in ends])
    messages = reader.consume(sum(ends.values()), 30)
    reader.close()
    return sorted(messages, key=lambda m: (m.partition(), m.offset()))


def rows(connections: Connections, spec: TableSpec) -> list[Row]:
    """The table as PyIceberg reads it, by partition and offset."""
    table = connections.catalog.load_table(things(spec, connections.settings).table.identifier)
    rows_read = plain(table.scan().to_arrow())
    return sorted(rows_read, key=lambda row: (row["$$partition"], row["$$offset"]))


def json_ticket(message: Message) -> Row:
    ticket = dict(json.loads(message.value()[5:], parse_float=Decimal))
    return ticket | {"ticket_price": ticket["ticket_price"].quantize(Decimal("0.01"))}


def avro_ticket(message: Message) -> Row:
    return avro(GENERATORS["sunset_avro"].value.text, message.value())


def flight(message: Message) -> Row:
    assert FLIGHTS.key
    return {**avro(FLIGHTS.key.text, message.key()), **avro(FLIGHTS.value.text, message.value())}


def avro(text: str, data: bytes) -> Row:
    schema = fastavro.parse_schema(json.loads(text))
    return dict(fastavro.schemaless_reader(io.BytesIO(data[5:]), schema, None))  # type: ignore[call-overload]


def shipment(message: Message) -> Row:
    writer = WriterSchema(0, 0, GENERATORS["shipments"].value.text, "PROTOBUF")
    kinds = file_of(compiled(writer, "shipments"))
    shipped = GetMessageClass(kinds.message_types_by_name["Shipment"]).FromString(message.value()[6:])
    carrier = shipped.WhichOneof("carrier")
    return {
        "key": message.key().decode(),
        "shipment_id": shipped.shipment_id,
        "status": kinds.enum_types_by_name["Status"].values_by_number[shipped.status].name,
        "updated_at": shipped.updated_at.ToDatetime(UTC),
        "destination": {f: getattr(shipped.destination, f) for f in ("street", "city", "country")},
        "parcels": [{f: getattr(p, f) for f in ("grams", "value", "fragile")} for p in shipped.parcels],
        "note": shipped.note if shipped.HasField("note") else None,
        "labels": dict(shipped.labels),
        "carrier": {f: getattr(shipped, f) if f == carrier else None for f in ("truck", "flight")},
    }


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("topic", "decode"),
    [("skyone", json_ticket), ("sunset_avro", avro_ticket), ("flights", flight), ("shipments", shipment)],
)
def test_every_record_is_a_row_with_the_values_that_another_decoder_reads(
    connections: Connections, landed: dict[str, Landed], topic: str, decode: Callable[[Message], Row]
) -> None:
    table = landed[topic]
    rows_read = rows(connections, table.spec)
    own = [{name: value for name, value in row.items() if "$$" not in name} for row in rows_read]

    assert (table.report.records, len(rows_read), len(table.messages)) == (COUNT, COUNT, COUNT)
    assert own == [decode(message) for message in table.messages]


@pytest.mark.nightly
def test_every_layer_shows_what_was_landed(connections: Connections, landed: dict[str, Landed]) -> None:
    specs = [table.spec for table in landed.values()]
    for spec in specs:
        names = things(spec, connections.settings)
        sync_glue(connections, names)
        assert sync_snowflake(connections, names).rows == COUNT

    results = run_checks(specs, connections, deep=True)

    assert [str(r) for r in results if not r.passed] == []
