"""Decimals of more digits than columns have: nothing is rounded, and what does not fit is a bad record."""

from __future__ import annotations

import base64
import json
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa
import pytest

from frazil.errors import SchemaRefusedError
from frazil.formats import logical
from frazil.formats.bare import differences
from frazil.formats.columns.columns import record_columns
from frazil.formats.columns.unmappable import Unmappable
from frazil.formats.json.format import Json, JsonDecoder
from frazil.formats.json.schemas.logical import json_node
from frazil.formats.json.schemas.versions import json_columns
from frazil.formats.logical import Field, List, Struct
from frazil.formats.protobuf.decoder import ProtobufDecoder
from frazil.formats.protobuf.format import Protobuf
from frazil.formats.protocol import VALUE, HalfSchemas, WriterSchema
from frazil.spec.topic import TableSpec
from kit.formats.avro_columns import AvroColumns, payload
from kit.formats.avro_versions import array, decimal, record
from kit.formats.protobuf import framed, message_class, proto

EXACT = Context(prec=100)
MOST = Decimal(10**38 - 1).scaleb(-2, EXACT)
HELD = [Decimal("123.45"), Decimal("-0.01"), Decimal("0.00"), MOST, MOST.copy_negate()]
BEYOND = [
    Decimal(10**38).scaleb(-2, EXACT),
    Decimal(-(10**38)).scaleb(-2, EXACT),
    Decimal(10**63).scaleb(-2, EXACT),
]
WIDE = logical.Decimal(38, 2, 64)


def written(number: Decimal) -> bytes:
    """As Java's BigInteger has it."""
    unscaled = int(number.scaleb(2, EXACT))
    return unscaled.to_bytes((unscaled.bit_length() + 8) // 8, "big", signed=True)


def rows(numbers: list[Decimal], *schemas: Any, schema_id: int = 1) -> list[Any]:
    plain = record(d="bytes", many=array("bytes"))
    raw = [payload(plain, {"d": written(n), "many": [written(n)]}, schema_id) for n in numbers]
    return AvroColumns(tuple(schemas)).rows(raw)


def schema(precision: int) -> Any:
    return record(d=decimal(precision, 2), many=array(decimal(precision, 2)))


def test_what_connects_jdbc_source_writes_by_default_lands_where_it_fits() -> None:
    """https://github.com/confluentinc/kafka-connect-jdbc/issues/941: decimal(64, s)."""
    assert rows(HELD, schema(64)) == [{"d": n, "many": [n]} for n in HELD]
    assert rows(BEYOND, schema(64)) == [None] * len(BEYOND)
    beyond = payload(record(d="bytes", many=array("bytes")), {"d": written(BEYOND[2]), "many": []})
    code, why = AvroColumns((schema(64),)).decoder().explain(beyond)
    assert (code, "does not fit decimal(38,2)" in why) == ("value", True)


@pytest.mark.parametrize("versions", [(64, 10), (10, 64), (64, 10, 38)])
def test_versions_of_more_and_of_fewer_digits_are_all_decoded(versions: tuple[int, ...]) -> None:
    schemas = [schema(precision) for precision in versions]

    for schema_id in range(1, len(schemas) + 1):
        small = HELD[:3]
        assert rows(small, *schemas, schema_id=schema_id) == [{"d": n, "many": [n]} for n in small]
        if versions[schema_id - 1] >= 38:
            assert rows(HELD, *schemas, schema_id=schema_id) == [{"d": n, "many": [n]} for n in HELD]
        assert rows(BEYOND, *schemas, schema_id=schema_id) == [None] * len(BEYOND)


def test_protobuf_has_the_same_bounds() -> None:
    text = """syntax = "proto3"; import "confluent/meta.proto"; import "confluent/type/decimal.proto";
      message M { confluent.type.Decimal d = 1 [
      (confluent.field_meta).params = {key: "precision", value: "64"},
      (confluent.field_meta).params = {key: "scale", value: "2"}]; }"""
    cls = message_class(text, "M")
    raw = [framed(1, cls(d={"value": written(n), "scale": 2}).SerializeToString()) for n in [*HELD, *BEYOND]]

    schemas = HalfSchemas(VALUE, Protobuf(), "s", (proto(text),))
    batch = ProtobufDecoder(schemas).arrow().decode(pa.array(raw, pa.binary()))

    assert batch.ok.to_pylist() == [True] * len(HELD) + [False] * len(BEYOND)
    assert [row["d"] for row in batch.data.to_pylist()[: len(HELD)]] == HELD


def test_they_are_refused_where_the_spec_says_so() -> None:
    for column in (Field("d", WIDE), Field("s", Struct((Field("many", List(WIDE)),)))):
        assert record_columns(TableSpec(topic="t"), Struct(()), Struct((column,))).fields == (column,)
        with pytest.raises(
            SchemaRefusedError, match=r"(d|many\[\]) is a decimal of 64 digits[\s\S]*narrow or text"
        ):
            record_columns(TableSpec(topic="t", wide_decimals="refuse"), Struct(()), Struct((column,)))


def test_an_older_version_that_declared_more_digits_refuses_nothing() -> None:
    columns = AvroColumns((schema(64), schema(10))).decoder().columns

    assert record_columns(TableSpec(topic="t", wide_decimals="refuse"), Struct(()), columns)


TEXTS = Unmappable.of("refuse", digits=True)
SPECIAL = [*HELD, *BEYOND, Decimal(10**100 - 7).scaleb(-2, EXACT)]


def test_avro_holds_their_digits_as_text_where_the_spec_says_so() -> None:
    optional = record(d=["null", decimal(64, 2)], many=array(decimal(64, 2)), small=decimal(9, 2))
    plain = record(d=["null", "bytes"], many=array("bytes"), small="bytes")
    raw = [
        payload(plain, {"d": written(n), "many": [written(n)], "small": written(Decimal(1))}) for n in SPECIAL
    ]
    raw.append(payload(plain, {"d": None, "many": [], "small": written(Decimal(1))}))

    columns = AvroColumns((optional,), unmappable=TEXTS)

    assert columns.rows(raw) == [
        *({"d": f"{n:f}", "many": [f"{n:f}"], "small": Decimal("1.00")} for n in SPECIAL),
        {"d": None, "many": [], "small": Decimal("1.00")},
    ]
    kinds = {f.name: (str(f.type), f.doc) for f in columns.decoder().columns}
    assert kinds["d"] == ("string", "Text: a decimal of 64 digits, and columns have 38.")
    assert kinds["small"] == ("decimal(9,2)", "")


def test_no_bytes_are_no_decimal_and_a_bad_record() -> None:
    columns = AvroColumns((record(d=decimal(64, 2)),), unmappable=TEXTS)

    assert columns.rows([payload(record(d="bytes"), {"d": b""})]) == [None]


def test_versions_of_fewer_digits_are_no_text_and_never_taken_for_it() -> None:
    columns = AvroColumns((record(d=decimal(10, 2)), record(d=decimal(64, 2))), unmappable=TEXTS)
    raw = [payload(record(d="bytes"), {"d": written(HELD[0])}, schema_id) for schema_id in (1, 2)]

    assert columns.rows(raw) == [None, {"d": "123.45"}]


CONNECT = {"type": "string", "title": "org.apache.kafka.connect.data.Decimal", "connect.type": "bytes"}


def json_decimal(kind: str) -> dict[str, Any]:
    size = {"connect.parameters": {"scale": "2", "connect.decimal.precision": "64"}}
    return {**CONNECT, "type": kind, **size, "description": "Money"}


def json_rows(schema: dict[str, Any], text: str) -> list[dict[str, Any]]:
    """The rows that a bare text becomes by columns: one, or none."""
    writer = WriterSchema(1, 1, json.dumps(schema), "JSON")
    decoder = JsonDecoder(HalfSchemas(VALUE, Json(), "s", (writer,), framed=False, unmappable=TEXTS))
    batch = decoder.arrow().decode(pa.array([text.encode()], pa.binary()))
    rows: list[dict[str, Any]] = batch.data.filter(batch.ok).to_pylist()
    return rows


@pytest.mark.parametrize("kind", ["string", "number"])
def test_json_holds_their_digits_as_text(kind: str) -> None:
    one = json_decimal(kind)
    both = {"oneOf": [{"type": "null"}, one]}
    schema = {"type": "object", "properties": {"d": one, "o": both, "many": {"type": "array", "items": one}}}

    for number in SPECIAL:
        as_text = base64.b64encode(written(number)).decode() if kind == "string" else f"{number:f}"
        digits = f'"{as_text}"' if kind == "string" else as_text
        assert json_rows(schema, f'{{"d":{digits},"o":null,"many":[{digits}]}}') == [
            {"d": f"{number:f}", "o": None, "many": [f"{number:f}"]}
        ]
    writer = WriterSchema(1, 1, json.dumps(schema), "JSON")
    doc = {f.name: f.doc for f in json_columns([writer], "s", "value", TEXTS)}
    assert doc["d"] == "Money. Text: a decimal of 64 digits, and columns have 38."


@pytest.mark.parametrize(
    ("kind", "number"),
    [("string", "1.5"), ("string", '""'), ("string", '"%%%"'), ("number", '"1.5"'), ("number", "1e99999999"),
     ("number", "true"), ("number", "{}")],
)  # fmt: skip
def test_what_is_no_decimal_is_a_bad_record_of_json(kind: str, number: str) -> None:
    schema = {"type": "object", "properties": {"d": json_decimal(kind)}}

    assert json_rows(schema, f'{{"d":{number}}}') == []


def test_within_a_union_of_json_they_are_refused() -> None:
    union = {"oneOf": [{"type": "boolean"}, json_decimal("string")]}

    text = json.dumps({"type": "object", "properties": {"u": union}})

    with pytest.raises(SchemaRefusedError, match=r"in a union[\s\S]*wide_decimals: narrow"):
        json_node(text, (), "s", TEXTS)

    assert json_node(text, (), "s", Unmappable.of("refuse"))


def test_protobuf_holds_their_digits_as_text() -> None:
    text = """syntax = "proto3"; import "confluent/meta.proto"; import "confluent/type/decimal.proto";
      message M { confluent.type.Decimal d = 1 [
      (confluent.field_meta).params = {key: "precision", value: "64"},
      (confluent.field_meta).params = {key: "scale", value: "2"}]; }"""
    cls = message_class(text, "M")
    raw = [framed(1, cls(d={"value": written(n), "scale": 2}).SerializeToString()) for n in SPECIAL]

    schemas = HalfSchemas(VALUE, Protobuf(), "s", (proto(text),), unmappable=TEXTS)
    decoder = ProtobufDecoder(schemas)
    batch = decoder.arrow().decode(pa.array(raw, pa.binary()))

    rows = batch.data.to_pylist()
    assert [row["d"] for row in rows] == [f"{n:f}" for n in SPECIAL]
    wanted = decoder.values(raw[0]) or {}
    assert list(differences(decoder.columns, wanted, rows[0])) == []
    assert list(differences(decoder.columns, wanted, rows[1])) != []
    assert decoder.columns.fields[0].doc == "Text: a decimal of 64 digits, and columns have 38."
