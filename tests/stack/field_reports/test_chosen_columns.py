"""Columns that the spec leaves out, or gives another type: in each format, by each way, in each mode."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import pytest
import yaml

from frazil.checks.run import run_check, run_values
from frazil.clients import Clients
from frazil.errors import SchemaRefusedError
from frazil.landing.land import land
from frazil.settings.profile import Settings
from frazil.spec.migrations import Migration
from kit.avro_columns import payload
from kit.avro_versions import decimal, record
from kit.envelopes import captured
from kit.formats import Source, make_source
from kit.protobuf import framed, message_class
from kit.topics import topic_maker
from kit.upserts import upserts

PERSON = "planted-person-4471"
COLUMNS = {"ssn": "leave_out", "n": "long", "many": "string"}
MESSAGE = 'syntax = "proto3"; message M { int32 n = 1; int64 many = 2; string ssn = 3; }'
SCHEMA = {
    "type": "object",
    "properties": {
        "n": {"type": "integer", "connect.type": "int32"},
        "many": {"type": "integer"},
        "ssn": {"type": "string"},
    },
}


def in_avro(topic: Source) -> bytes:
    schema = record(n="int", many="long", ssn="string")
    return payload(schema, {"n": 7, "many": 2**63 - 1, "ssn": PERSON}, topic.register(schema))


def in_protobuf(topic: Source) -> bytes:
    value: Any = message_class(MESSAGE, "M")(n=7, many=2**63 - 1, ssn=PERSON)
    return framed(topic.register(MESSAGE, kind="PROTOBUF"), value.SerializeToString())


def in_json(topic: Source) -> bytes:
    head = b"\0" + topic.register(SCHEMA, kind="JSON").to_bytes(4, "big")
    return head + f'{{"n": 7, "many": {2**63 - 1}, "ssn": "{PERSON}"}}'.encode()


@pytest.mark.parametrize(
    ("written", "lane"),
    [
        (in_avro, "auto"),
        (in_avro, "spark"),
        (in_protobuf, "auto"),
        (in_protobuf, "spark"),
        (in_json, "spark"),
    ],
)
def test_a_field_that_is_left_out_is_in_no_column_and_others_have_their_types(
    stack: Settings, fresh_name: str, written: Any, lane: str
) -> None:
    """https://debezium.io/documentation/reference/stable/connectors/mysql.html: whoever can't set
    `column.exclude.list` at the connector leaves the column out here."""
    connections = Clients(stack.with_changes(spark={"lane": lane}))
    topic = make_source(connections, fresh_name, key_format="none", columns=COLUMNS)
    topic.produce((None, written(topic)))

    assert topic.land().records == 1

    (row,) = topic.rows()
    assert (row["n"], row["many"]) == (7, str(2**63 - 1))
    assert PERSON not in repr(row)
    kinds = {f.name: str(f.field_type) for f in connections.catalog.load_table(topic.name).schema().fields}
    assert "ssn" not in kinds
    assert (kinds["n"], kinds["many"]) == ("long", "string")
    assert topic.came_by() == lane
    assert run_check("schema", topic.spec, connections).passed
    assert run_values(topic.spec, connections, 10).passed


def test_leaving_out_later_and_taking_in_again_have_verdicts(stack: Settings, fresh_name: str) -> None:
    connections = Clients(stack)
    topic = make_source(connections, fresh_name, key_format="none")
    schema = record(n="int", d=decimal(9, 2), ssn="string")
    value = payload(schema, {"n": 7, "d": Decimal("1.50"), "ssn": PERSON}, topic.register(schema))
    topic.produce((None, value))
    topic.land()
    topic.produce((None, value))
    left_out = {"columns": {"ssn": "leave_out", "n": "long", "d": "decimal(20,2)"}}

    with pytest.raises(SchemaRefusedError, match="drop"):
        topic.land(**left_out)
    drop = Migration.model_validate({"id": "no-ssn", "drop": {"column": "ssn"}})
    assert topic.land(**left_out, migrations=(drop,)).records == 1
    assert [(row["n"], row["d"], row.get("ssn")) for row in topic.rows()] == [(7, Decimal("1.50"), None)] * 2
    with pytest.raises(SchemaRefusedError):
        topic.land(migrations=(drop,), columns={"n": "string"})


@pytest.mark.parametrize("lane", ["auto", "spark"])
def test_a_field_that_is_newly_required_is_landed_by_the_line_that_is_advised(
    stack: Settings, fresh_name: str, lane: str
) -> None:
    """Rows from before have no value of it, and records that come have all."""
    connections = Clients(stack.with_changes(spark={"lane": lane}))
    topic = make_source(connections, fresh_name, key_format="none")
    values = {"n": 7, "note": "cold"}
    for schema in (record(n="int"), record(n="int", note="string")):
        topic.produce((None, payload(schema, values, topic.register(schema))))
        if "note" not in repr(schema):
            topic.land()
    with pytest.raises(SchemaRefusedError, match="field note: a new required field") as told:
        topic.land()

    advised = yaml.safe_load(re.findall(r"`(columns: .+?)`", told.value.todo)[0])

    assert topic.land(**advised).records == 1
    assert [(row["n"], row["note"]) for row in topic.rows()] == [(7, None), (7, "cold")]
    compared = run_values(topic.spec.model_copy(update=advised), connections, 10)
    assert compared.passed, compared.text
    assert "1 whose schema the newest one no longer reads" in compared.text
    assert topic.came_by() == lane


def test_an_upsert_table_and_one_of_changes_leave_it_out_too(stack: Settings, fresh_name: str) -> None:
    make = topic_maker(Clients(stack), fresh_name, "field_reports")
    rows = upserts(make, columns={"symbol": "leave_out", "quantity": "string"})
    changes = captured(make, columns={"note": "leave_out", "quantity": "long"})
    changes.text = PERSON
    for made in (rows, changes):
        for _ in range(2):
            made.send([("a", 1), ("b", 2), ("a", 3)])
            land(made.topic.spec, made.topic.connections)

    assert {row["key"]: row["quantity"] for row in rows.topic.rows()} == {"a": "3", "b": "2"}
    assert "symbol" not in rows.topic.rows()[0]
    assert {row["key"]: row["quantity"] for row in changes.topic.rows()} == {"a": 3, "b": 2}
    assert PERSON not in repr(changes.topic.rows())
