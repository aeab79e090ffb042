"""A topic whose schemas are in Azure's registry: records land by the versions that content types name."""

from __future__ import annotations

import io
import json
import uuid
from typing import Any

import fastavro

from frazil.checks.run import run_values
from frazil.clients import Clients
from frazil.connections import Connections
from frazil.landing.land import land
from kit.records.topics import topic_maker
from kit.wires.azure import azure

OLD: dict[str, Any] = {"type": "record", "name": "shop.Order", "fields": [{"name": "n", "type": "int"}]}
NEW = {**OLD, "fields": [*OLD["fields"], {"name": "x", "type": "int", "default": 0}]}
IDS = [uuid.uuid4().hex for _ in range(2)]


def payload(schema: dict[str, Any], record: dict[str, Any]) -> bytes:
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(dict(schema)), record)
    return stream.getvalue()


def test_content_types_name_versions_and_what_names_none_is_a_bad_record(
    connections: Connections, fresh_name: str
) -> None:
    with azure() as registry:
        registry.schemas = {"shop.Order": [(IDS[0], json.dumps(OLD)), (IDS[1], json.dumps(NEW))]}
        clients = Clients(connections.settings.with_changes(registry=registry.settings))
        topic = topic_maker(clients, fresh_name, "azure")(
            trades=False, key_format="string", value_subject="shop.Order", on_bad_record="dead_letter"
        )
        sent = [
            (f"avro/binary+{IDS[0]}", payload(OLD, {"n": 1})),
            (f"avro/binary+{IDS[1]}", payload(NEW, {"n": 2, "x": 5})),
            (f"avro/binary+{uuid.uuid4().hex}", payload(OLD, {"n": 3})),
        ]  # fmt: skip
        for content_type, value in sent:
            topic.send_keyed([(b"k", value)], headers=[("content-type", content_type.encode())])

        report = land(topic.spec, clients)

        assert (report.records, report.dead_letters) == (2, 1)
        assert [(row["n"], row["x"]) for row in topic.rows()] == [(1, 0), (2, 5)]
        assert run_values(topic.spec, clients, 10).passed
