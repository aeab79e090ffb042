"""What a writer may put where a value should be, though it is none: its record is a bad one."""

from __future__ import annotations

import io
import json
from typing import Any

import fastavro
import pytest

from frazil_verify.log.registry import Schema, Schemas
from frazil_verify.request import Half
from frazil_verify.table.metadata import Column
from frazil_verify.values.avro import AvroReader
from frazil_verify.values.bad import BadRecordError, NotComparedError
from frazil_verify.values.half import Filled, HalfReader, filled, struct
from frazil_verify.values.json import JsonReader


def avro(kind: Any, **more: Any) -> Schema:
    fields = [{"name": "f", "type": kind, **more}]
    return Schema(1, "AVRO", json.dumps({"type": "record", "name": "R", "fields": fields}), {})


def column(kind: Any) -> dict[str, Any]:
    return {"type": "struct", "fields": [{"id": 1, "name": "f", "type": kind, "required": False}]}


def read(kind: Any, wanted: Any, payload: bytes) -> Any:
    (value,) = AvroReader(avro(kind), avro(kind), column(wanted))(payload)
    return value


def number(value: int) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, "long", value)
    return out.getvalue()


def decimal(scale: int) -> dict[str, Any]:
    return {"type": "bytes", "logicalType": "decimal", "precision": 20, "scale": scale}


MILLIS, MICROS = ({"type": k, "logicalType": f"time-{n}s"} for k, n in (("int", "milli"), ("long", "micro")))
PAIR = {
    "type": "record", "name": "P",
    "fields": [{"name": "key", "type": ["null", "string"]}, {"name": "value", "type": "int"}],
}  # fmt: skip
ENTRIES = {"type": "array", "items": PAIR, "logicalType": "map"}
MAP = {"type": "map", "key": "string", "value": "int"}
COLOUR = {"type": "enum", "name": "Colour", "symbols": ["RED", "BLUE"]}
BRANCHES = struct([Column(n, name, name, required=False) for n, name in enumerate(("int", "string"))])
DAY = 86_400_000


@pytest.mark.parametrize(
    ("kind", "wanted", "good", "expected", "bad"),
    [
        ("boolean", "boolean", b"\1", True, b"\2"),
        ("boolean", "boolean", b"\0", False, b"\xff"),
        ("int", "int", number(2**31 - 1), 2**31 - 1, number(2**31)),
        ("int", "long", number(-(2**31)), -(2**31), number(-(2**31) - 1)),
        ({"type": "int", "logicalType": "date"}, "date", number(5), 5, number(2**40)),
        (MILLIS, "long", number(DAY), DAY * 1000, number(DAY + 1)),
        (MICROS, "long", number(0), 0, number(-1)),
        ("long", "double", number(2**53), 2.0**53, number(2**53 + 1)),
        ("int", "float", number(2**24), 2.0**24, number(2**24 + 1)),
        (decimal(4), "decimal(4, 2)", b"\4\x27\x10", 100, b"\4\x27\x11"),
        (decimal(2), "decimal(4, 2)", b"\4\x27\x0f", 9999, b"\4\x27\x10"),
        (decimal(2), "decimal(4, 2)", b"\2\xff", -1, b"\0"),
        (decimal(2), "string", b"\4\x27\x0f", "99.99", b"\0"),
        (decimal(2), "string", b"\2\xff", "-0.01", b"\0"),
        (decimal(0), "string", b"\2\x0a", "10", b"\0"),
        (["null", "int"], "int", b"\2\6", 3, b"\1\6"),
        (["null", "int"], "int", b"\0", None, b"\3"),
        (["null", "int", "string"], BRANCHES, b"\2\6", (3, None), b"\3\6"),
        (COLOUR, "string", b"\2", "BLUE", b"\1"),
        (COLOUR, "string", b"\0", "RED", b"\4"),
        (ENTRIES, MAP, b"\2\2\2a\2\0", (("a", 1),), b"\2\0\2\0"),
    ],
)
def test_a_value_is_in_the_range_of_its_type_or_its_record_is_bad(
    kind: Any, wanted: Any, good: bytes, expected: Any, bad: bytes
) -> None:
    assert read(kind, wanted, good) == expected
    with pytest.raises(BadRecordError):
        read(kind, wanted, bad)


def test_what_is_no_value_makes_a_record_bad_though_no_column_holds_the_field() -> None:
    none = {"type": "struct", "fields": []}

    assert AvroReader(avro("boolean"), avro("boolean"), none)(b"\1") == ()
    with pytest.raises(BadRecordError):
        AvroReader(avro("boolean"), avro("boolean"), none)(b"\2")


def test_a_default_is_read_as_a_value_of_its_type() -> None:
    empty = Schema(1, "AVRO", json.dumps({"type": "record", "name": "R", "fields": []}), {})

    assert AvroReader(empty, avro("boolean", default=True), column("boolean"))(b"") == (True,)


def test_all_records_of_a_version_are_bad_whose_values_fit_no_column_of_the_newest() -> None:
    older = {"id": 1, "schema": avro("string").text}
    newest = {"id": 2, "schema": avro("long").text}
    answers = {
        "subjects/s/versions/latest": newest, "schemas/ids/1": older, "schemas/ids/2": newest,
        "subjects/s/versions?deleted=true": [1, 2], "subjects/s/versions/1?deleted=true": older,
        "subjects/s/versions/2?deleted=true": newest,
    }  # fmt: skip
    reader = HalfReader(Half(format="registry", subject="s"), Schemas(answers.get), column("long"))

    assert reader(b"\0\0\0\0\2" + number(7)) == (7,)
    with pytest.raises(BadRecordError, match="string as long"):
        reader(b"\0\0\0\0\1\2a")


def test_a_pair_of_types_that_the_verifier_does_not_know_says_nothing_of_its_records() -> None:
    with pytest.raises(NotComparedError):
        AvroReader(avro("long"), avro("long"), column("timestamptz"))


def number_in_json(scale: int | None, json_type: str = "number") -> dict[str, Any]:
    title = {"title": "org.apache.kafka.connect.data.Decimal", "connect.type": "bytes", "type": json_type}
    return title if scale is None else {**title, "connect.parameters": {"scale": str(scale)}}


TIME = {"type": "integer", "connect.type": "int32", "title": "org.apache.kafka.connect.data.Time"}


@pytest.mark.parametrize(
    ("node", "wanted", "good", "expected", "bad"),
    [
        (number_in_json(2), "decimal(4, 2)", "12.30", 1230, "12.305"),
        (number_in_json(2), "decimal(4, 2)", "-0.1e1", -100, "100"),
        (number_in_json(2), "decimal(4, 2)", "0e999999", 0, "1e999999"),
        (number_in_json(None), "decimal(38, 18)", "0.1", 10**17, "1e-19"),
        (number_in_json(2), "decimal(4, 2)", "7", 700, '"7"'),
        (number_in_json(2, "string"), "decimal(4, 2)", '"BNI="', 1234, '""'),
        (number_in_json(None, "string"), "decimal(38, 18)", '"AQ=="', 1, "1"),
        (number_in_json(2, "string"), "string", '"BNI="', "12.34", '""'),
        (number_in_json(2, "string") | {"connect.type": "string"}, "string", '"BNI="', "BNI=", "1"),
        (TIME, "long", "86400000", 86_400_000_000, "86400001"),
        ({"type": "integer", "connect.type": "int8"}, "int", "-128", -128, "128"),
        ({"type": "integer", "connect.type": "int16"}, "int", "32767", 32767, "32768"),
        ({"type": "number"}, "double", "0.1", 0.1, "1e999"),
        ({"type": "number", "connect.type": "float32"}, "float", "0.5", 0.5, "1e39"),
        ({"type": "integer"}, "long", "1", 1, "1.0"),
        ({"type": "string"}, "string", '"1.5"', "1.5", "1.5"),
    ],
)
def test_a_value_of_json_is_exact_or_its_record_is_bad(
    node: Any, wanted: Any, good: str, expected: Any, bad: str
) -> None:
    reader = JsonReader(Schema(1, "JSON", json.dumps({"properties": {"f": node}}), {}), column(wanted))

    assert reader(f'{{"f": {good}}}'.encode()) == (expected,)
    with pytest.raises(BadRecordError):
        reader(f'{{"f": {bad}}}'.encode())


@pytest.mark.parametrize(
    ("schema", "wanted", "payload", "expected"),
    [
        (Schema(1, "AVRO", '"string"', {}), "string", b"\2a", "a"),
        (Schema(1, "AVRO", '["null", "long"]', {}), "long", b"\0", None),
        (Schema(1, "AVRO", '{"type": "array", "items": "long"}', {}), {"type": "list", "element": "long"},
         b"\2\4\0", (2,)),
        (Schema(1, "JSON", '{"type": "string"}', {}), "string", b'"a"', "a"),
        (Schema(1, "JSON", '{"oneOf": [{"type": "null"}, {"type": "integer"}]}', {}), "long", b"null", None),
        (Schema(1, "JSON", '{"type": "object", "additionalProperties": {"type": "integer"}}', {}),
         {"type": "map", "key": "string", "value": "long"}, b'{"a": 1}', (("a", 1),)),
    ],
)  # fmt: skip
def test_a_key_without_fields_is_the_column_of_its_half(
    schema: Schema, wanted: Any, payload: bytes, expected: Any
) -> None:
    answer = {"id": 1, "schemaType": schema.kind, "schema": schema.text}
    schemas = Schemas(lambda _: answer)
    half = Half(format="registry", subject="s", framing="none")
    key = Column(1, "key", wanted, required=False)

    known = filled(half, schemas, [key, Column(2, "value", wanted, required=False)], "", "key", {})

    assert known == Filled((key,), {})
    assert HalfReader(half, schemas, struct(known.columns), "key")(payload) == (expected,)


@pytest.mark.parametrize("payload", [b"1", b"null", b'{"key": "a"}'])
def test_a_value_of_json_without_fields_is_of_its_type_or_its_record_is_bad(payload: bytes) -> None:
    with pytest.raises(BadRecordError):
        JsonReader(Schema(1, "JSON", '{"type": "string"}', {}), column("string"), "f")(payload)
