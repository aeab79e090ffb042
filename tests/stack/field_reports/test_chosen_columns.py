"""Columns that the spec leaves out, or gives another type: in each format, by each way, in each mode."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
import yaml

from frazil.checks.run import run_check, run_values
from frazil.connections import Connections
from frazil.errors import SchemaRefusedError
from frazil.landing.land import land
from frazil.landing.repairs.redrive import redrive
from frazil.spec.migrations import Migration
from kit.formats.avro_columns import payload
from kit.formats.avro_versions import decimal, record
from kit.formats.formats import Source, make_source
from kit.formats.protobuf import framed, message_class
from kit.records.envelopes import FIELDS, avro_envelope, captured
from kit.records.topics import TRADE, topic_maker
from kit.records.upserts import upserts

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


@pytest.mark.parametrize("written", [in_avro, in_protobuf, in_json])
def test_a_field_that_is_left_out_is_in_no_column_and_others_have_their_types(
    connections: Connections, fresh_name: str, written: Any
) -> None:
    """https://debezium.io/documentation/reference/stable/connectors/mysql.html: whoever can't set
    `column.exclude.list` at the connector leaves the column out here."""
    topic = make_source(connections, fresh_name, key_format="none", columns=COLUMNS)
    topic.produce((None, written(topic)))

    assert topic.land().records == 1

    (row,) = topic.rows()
    assert (row["n"], row["many"]) == (7, str(2**63 - 1))
    assert PERSON not in repr(row)
    kinds = {f.name: str(f.field_type) for f in connections.catalog.load_table(topic.name).schema().fields}
    assert "ssn" not in kinds
    assert (kinds["n"], kinds["many"]) == ("long", "string")
    assert run_check("schema", topic.spec, connections).passed
    assert run_values(topic.spec, connections, 10).passed


def test_leaving_out_later_and_taking_in_again_have_verdicts(
    connections: Connections, fresh_name: str
) -> None:
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


@pytest.mark.parametrize("kind", ["AVRO", "JSON", "PROTOBUF"])
@pytest.mark.each_time("JSON")
def test_a_field_that_is_newly_required_is_landed_by_the_line_that_is_advised(
    connections: Connections, fresh_name: str, kind: str
) -> None:
    """Rows from before have no value of it, as records of the older version that wait; those that come do."""
    topic = newly_required(connections, fresh_name, kind)
    with pytest.raises(SchemaRefusedError, match="field note: a new required field") as raised:
        topic.land()

    advised = yaml.safe_load(re.findall(r"`(columns: .+?)`", raised.value.todo)[0])

    assert topic.land(**advised).records == 2
    assert [(row["n"], row["note"]) for row in topic.rows()] == [(7, None), (7, None), (7, "cold")]
    compared = run_values(topic.spec.model_copy(update=advised), topic.connections, 10)
    assert (compared.passed, compared.numbers["rows"]) == (True, 3), compared.text


@pytest.mark.parametrize("kind", ["AVRO", "JSON", "PROTOBUF"])
@pytest.mark.nightly
def test_records_that_a_newly_required_field_made_dead_letters_are_redriven_once_it_may_be_null(
    connections: Connections, fresh_name: str, kind: str
) -> None:
    """So are those of a field that is left out: what no column asks for, no record has to have."""
    dead = {"on_bad_record": "dead_letter"}
    topic = newly_required(connections, fresh_name, kind, first=False, **dead)
    topic.land()
    words = ({}, {"columns": {"note": "leave_out"}}, {"columns": {"note": "optional"}})
    mended = [topic.spec.model_copy(update=each) for each in words]

    first, *_ = [redrive(spec, topic.connections) for spec in (mended[0], mended[2])]

    assert all("note" in reason for reason in first.reasons)
    assert [(row["n"], row["note"]) for row in topic.rows()] == [(7, None), (7, None), (7, "cold")]
    assert run_check("row_count_deep", topic.spec, topic.connections).passed
    other = replace(topic, spec=mended[1].model_copy(update={"table": f"{topic.spec.topic}_without"}))
    assert other.land().records == 3


REQUIRED: Any = {
    "AVRO": (record(n="int"), record(n="int", note="string")),
    "JSON": tuple(
        {
            "type": "object",
            "properties": {"n": {"type": "integer"}, **more},
            "required": ["n", *more],
            "additionalProperties": False,
        }
        for more in ({}, {"note": {"type": "string"}})
    ),
    "PROTOBUF": tuple(
        f'syntax = "proto2"; message M {{ required int32 n = 1; {more} }}'
        for more in ("", "required string note = 2;")
    ),
}
"""Two versions; the newer one has a field more, which each of its records has."""


def newly_required(connections: Connections, name: str, kind: str, first: bool = True, **spec: Any) -> Source:
    """A topic with two records of an older version and one of the newer; `first`: one of these is landed."""
    topic = make_source(connections, name, key_format="none", **spec)
    old, new = REQUIRED[kind]
    topic.produce((None, written(topic, kind, old, {"n": 7})))
    if first:
        topic.land()
    topic.produce((None, written(topic, kind, old, {"n": 7})))
    topic.produce((None, written(topic, kind, new, {"n": 7, "note": "cold"})))
    return topic


def written(topic: Source, kind: str, schema: Any, value: dict[str, Any]) -> bytes:
    """A value as bytes, by an encoder that is not ours."""
    schema_id = topic.register(schema, kind=kind)
    if kind == "AVRO":
        return payload(schema, value, schema_id)
    if kind == "JSON":
        return b"\0" + schema_id.to_bytes(4, "big") + json.dumps(value).encode()
    message: Any = message_class(schema, "M")(**value)
    return framed(schema_id, message.SerializeToString())


@pytest.mark.nightly
def test_an_upsert_table_and_one_of_changes_leave_it_out_too(
    connections: Connections, fresh_name: str
) -> None:
    make = topic_maker(connections, fresh_name, "field_reports")
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


@pytest.mark.each_time("leave_out")
@pytest.mark.parametrize("word", ["optional", "leave_out"])
def test_older_changes_that_wait_lack_what_the_newest_schema_requires(
    connections: Connections, fresh_name: str, word: str
) -> None:
    """Of an upsert table, and of a database's: what they lack is null, or in no column."""
    make = topic_maker(connections, fresh_name, "field_reports")
    rows = upserts(make, trades=False, columns={"symbol": word})
    changes = captured(make, columns={"note": word})
    fields: list[Any] = [{"name": "note", "type": "string"} if f["name"] == "note" else f for f in FIELDS]
    rows.topic.schema = {**TRADE, "fields": TRADE["fields"][:2]}  # type: ignore[index]
    changes.register("value", avro_envelope([f for f in fields if f["name"] != "note"]))
    for made in (rows, changes):
        made.send([("a", 1), ("b", 2), ("c", 3)])
    registry = rows.topic.connections.registry
    registry.set_compatibility(f"{rows.topic.name}-value", level="NONE")
    rows.topic.schema = TRADE
    changes.register("value", avro_envelope(fields))
    for made in (rows, changes):
        made.send([("b", 4), ("c", None)])
        land(made.topic.spec, made.topic.connections)

    for made, column in ((rows, "symbol"), (changes, "note")):
        landed = {row["key"]: (row["quantity"], bool(row.get(column))) for row in made.topic.rows()}
        assert landed == {"a": (1, False), "b": (4, word == "optional")}
        assert run_values(made.topic.spec, made.topic.connections, 10).passed
