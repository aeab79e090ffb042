"""Decimals of more digits than columns have: `wide_decimals: text` lands each of them, to the last digit."""

from __future__ import annotations

import base64
import json
from decimal import Context, Decimal
from typing import Any

import pytest

from frazil.checks.run import run_check
from frazil.clients import Clients
from frazil.errors import SchemaRefusedError
from frazil.settings.profile import Settings
from kit.formats.avro_columns import payload
from kit.formats.avro_versions import decimal, record
from kit.formats.formats import Source, make_source
from kit.formats.protobuf import framed, message_class

EXACT = Context(prec=100)
NUMBERS = [Decimal(2**64 - 1), Decimal(-(10**63)).scaleb(-2, EXACT), Decimal("0.01")]
"""The greatest of BIGINT UNSIGNED; one of JDBC's 64 digits; and a small one."""

MESSAGE = """syntax = "proto3"; import "confluent/meta.proto"; import "confluent/type/decimal.proto";
  message M { confluent.type.Decimal d = 1 [
  (confluent.field_meta).params = {key: "precision", value: "64"},
  (confluent.field_meta).params = {key: "scale", value: "2"}]; }"""
NOTED = {"connect.type": "bytes", "connect.parameters": {"scale": "2", "connect.decimal.precision": "64"}}
NUMERIC = {"type": "object", "properties": {"d": {"type": "number", **NOTED}}}
TITLE = "org.apache.kafka.connect.data.Decimal"
BASE64 = {"type": "object", "properties": {"d": {"type": "string", "title": TITLE, **NOTED}}}


def unscaled(number: Decimal) -> bytes:
    """As Java's BigInteger has it."""
    whole = int(number.scaleb(2, EXACT))
    return whole.to_bytes((whole.bit_length() + 8) // 8, "big", signed=True)


def in_avro(topic: Source) -> list[bytes]:
    schema_id = topic.register(record(d=["null", decimal(64, 2)]))
    return [payload(record(d=["null", "bytes"]), {"d": unscaled(n)}, schema_id) for n in NUMBERS]


def in_protobuf(topic: Source) -> list[bytes]:
    schema_id, cls = topic.register(MESSAGE, kind="PROTOBUF"), message_class(MESSAGE, "M")
    values: list[Any] = [cls(d={"value": unscaled(n), "scale": 2}) for n in NUMBERS]
    return [framed(schema_id, value.SerializeToString()) for value in values]


def in_json(topic: Source, schema: dict[str, Any] = NUMERIC) -> list[bytes]:
    head = b"\0" + topic.register(schema, kind="JSON").to_bytes(4, "big")
    if schema is NUMERIC:
        return [head + f'{{"d":{n.quantize(Decimal("0.01"), context=EXACT):f}}}'.encode() for n in NUMBERS]
    return [head + json.dumps({"d": base64.b64encode(unscaled(n)).decode()}).encode() for n in NUMBERS]


def in_base64(topic: Source) -> list[bytes]:
    return in_json(topic, BASE64)


@pytest.mark.each_time("in_avro")
@pytest.mark.parametrize("written", [in_avro, in_protobuf, in_json, in_base64])
def test_each_digit_lands_as_text(stack: Settings, fresh_name: str, written: Any) -> None:
    """https://github.com/confluentinc/kafka-connect-jdbc/issues/941: decimal(64, s), by default; and
    https://debezium.io/documentation/reference/stable/connectors/mysql.html: BIGINT UNSIGNED, `precise`."""
    connections = Clients(stack)
    topic = make_source(connections, fresh_name, key_format="none", wide_decimals="text")
    topic.produce(*((None, value) for value in written(topic)))

    with pytest.raises(SchemaRefusedError, match="wide_decimals: narrow or text"):
        topic.land(wide_decimals="refuse")
    assert topic.land().records == 3

    assert [row["d"] for row in topic.rows()] == ["18446744073709551615.00", f"-1{'0' * 61}.00", "0.01"]
    (field,) = [f for f in connections.catalog.load_table(topic.name).schema().fields if f.name == "d"]
    assert (str(field.field_type), field.doc) == (
        "string", "Text: a decimal of 64 digits, and columns have 38.",
    )  # fmt: skip
    assert run_check("schema", topic.spec, connections).passed


def test_a_column_of_numbers_does_not_become_one_of_text_by_itself(stack: Settings, fresh_name: str) -> None:
    topic = make_source(Clients(stack), fresh_name, key_format="none")
    topic.produce(*((None, value) for value in in_avro(topic)[2:]))
    topic.land()
    topic.produce(*((None, value) for value in in_avro(topic)[:1]))

    with pytest.raises(SchemaRefusedError, match="retype"):
        topic.land(wide_decimals="text")

    assert topic.land().records == 1
    assert [row["d"] for row in topic.rows()] == [Decimal("0.01"), Decimal("18446744073709551615.00")]
