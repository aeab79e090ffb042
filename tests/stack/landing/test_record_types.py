"""Several record types on one topic: a table for each, and no record in the wrong one."""

from __future__ import annotations

import io
import json

import fastavro
import pytest
from confluent_kafka.schema_registry import Schema

from frazil.checks.run import run_check
from frazil.connections import Connections
from frazil.errors import SuspendedError
from frazil.landing.land import land
from frazil.spec.topic import TableSpec
from kit.readers.compared import note
from kit.records.topics import Topic, create_topic

ORDER = '{"type":"record","name":"Order","namespace":"shop","fields":[{"name":"n","type":"int"}]}'
REFUND = '{"type":"record","name":"Refund","namespace":"shop","fields":[{"name":"n","type":"int"}]}'
"""The same bytes mean both: only the schema id tells one from the other."""


def framed(connections: Connections, subject: str, text: str, number: int) -> bytes:
    schema_id = connections.registry.register_schema(subject, Schema(text, "AVRO"))
    stream = io.BytesIO(b"\0" + schema_id.to_bytes(4, "big"))
    stream.seek(0, io.SEEK_END)
    fastavro.schemaless_writer(stream, json.loads(text), {"n": number})
    return stream.getvalue()


@pytest.fixture
def shop(lake: Connections, fresh_name: str) -> tuple[Topic, Topic]:
    """One topic as the specs of two tables see it, with two records of each type in turn."""
    create_topic(lake.admin, fresh_name, 1, {})
    names = {"Order": f"{fresh_name}-shop.Order", "Refund": f"{fresh_name}-shop.Refund"}
    orders, refunds = (
        _topic(fresh_name, lake, mine, other) for mine, other in (("Order", "Refund"), ("Refund", "Order"))
    )
    for number in range(4):
        word, text = ("Refund", REFUND) if number % 2 else ("Order", ORDER)
        orders.send([framed(lake, names[word], text, number)])
    return orders, refunds


def _topic(name: str, lake: Connections, mine: str, other: str) -> Topic:
    spec = TableSpec(
        topic=name, namespace="landing_tests", subject_names="topic_record",
        record_type=f"shop.{mine}", other_types=(f"shop.{other}",),
    )  # fmt: skip
    topic = Topic(name, lake, spec)
    note(topic)
    return topic


def test_each_record_type_lands_in_its_own_table(shop: tuple[Topic, Topic]) -> None:
    landed = {}
    for topic in shop:
        report = land(topic.spec, topic.connections)
        assert (report.records, report.skipped) == (2, 2)
        landed[topic.spec.record_type] = [row["n"] for row in topic.rows()]

    assert landed == {"shop.Order": [0, 2], "shop.Refund": [1, 3]}
    assert all(run_check("row_count", t.spec, t.connections).passed for t in shop)


def test_a_record_type_that_nobody_named_is_a_bad_record(shop: tuple[Topic, Topic]) -> None:
    orders, _ = shop
    orders.send([framed(orders.connections, f"{orders.name}-x", REFUND.replace("Refund", "Other"), 4)])

    with pytest.raises(SuspendedError, match="schema id"):
        land(orders.spec, orders.connections)

    assert [row["n"] for row in orders.rows()] == [0, 2]
