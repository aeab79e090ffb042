"""Rules of docs/evolution.md, formats.md, limits.md and spec.md by which records become rows or bad ones."""

from __future__ import annotations

import json
import uuid
from contextlib import nullcontext
from typing import Any

import avro.schema
import pytest
from confluent_kafka import Message

from frazil_verify.log.registry import Schema, Schemas
from frazil_verify.request import Half
from frazil_verify.table.metadata import Column
from frazil_verify.values.avro import AvroReader
from frazil_verify.values.bad import BadRecordError, NotComparedError
from frazil_verify.values.half import HalfReader, filled
from frazil_verify.values.json import JsonReader
from frazil_verify.values.metadata import largest_part
from frazil_verify.values.protobuf import ProtobufReader
from frazil_verify.values.width import check_width

GUID = uuid.UUID("0fae0b3f-5d6c-4c8e-9d33-0fda3b8a2f11")
AVRO = json.dumps({"type": "record", "name": "R", "fields": [{"name": "n", "type": "int"}]})
MESSAGES = 'syntax = "proto3"; message Other { int32 x = 1; } message R { int32 n = 1; }'


def struct(**types: Any) -> dict[str, Any]:
    fields = [{"id": at, "name": n, "type": t, "required": False} for at, (n, t) in enumerate(types.items())]
    return {"type": "struct", "fields": fields}


def schemas(text: str, kind: str = "AVRO") -> Schemas:
    """A registry with one version, 7, of one subject, which tells its GUID."""
    version = {"id": 7, "schemaType": kind, "schema": text, "guid": str(GUID)}
    answers = {
        "schemas/ids/7": version, "subjects/s/versions/latest": version,
        "subjects/s/versions?deleted=true": [1], "subjects/s/versions/1?deleted=true": version,
        "/apis/registry/v3/groups/default/artifacts/s/versions?offset=0&limit=500":
            {"count": 1, "versions": [{"globalId": 42, "contentId": 7}]},
    }  # fmt: skip
    return Schemas(answers.get)


def proto(text: str) -> Schema:
    return Schema(1, "PROTOBUF", f'syntax = "proto3"; {text}', {})


def placed(fields: str, inner: str = "") -> Schema:
    return proto(f"message M {{ string id = 1; oneof event {{ P p = 2; string q = 3; }} {fields} }}"
                 f"message P {{ {inner} }}")  # fmt: skip


WANTED = struct(id="string", event=struct(p=struct(at="string"), q="string"), more="int")
EMPTY = b"\0" + b"\x0a\x01a" + b"\x12\x00"
"""A message M with an id, and with a P without anything."""


def test_a_message_that_had_no_fields_is_read_by_the_version_that_fills_it() -> None:
    newest = placed("int32 more = 4;", "string at = 1;")

    row = ProtobufReader(placed(""), newest, WANTED, "")(EMPTY)

    assert row == ("a", (("",), None), 0)


@pytest.mark.parametrize("newest", ["int32 id = 1;", "string id = 5;", "string other = 1;"])
def test_it_is_bad_where_a_field_is_another_one_by_then(newest: str) -> None:
    newer = proto(f"message M {{ {newest} oneof event {{ P p = 2; string q = 3; }} }}"
                  "message P { string at = 1; }")  # fmt: skip

    with pytest.raises(BadRecordError):
        ProtobufReader(placed(""), newer, WANTED, "")(EMPTY)


def test_a_version_whose_messages_have_fields_lacks_what_a_later_one_adds() -> None:
    older, newest = placed("", "string at = 1;"), placed("int32 more = 4;", "string at = 1;")

    assert ProtobufReader(older, newest, WANTED, "")(EMPTY) == ("a", (("",), None), None)


@pytest.mark.parametrize("other", ["map<string, int32> p = 2;", "repeated string p = 2;"])
def test_a_field_of_that_name_in_another_message_of_the_file_is_another_field(other: str) -> None:
    schema = proto(f"message M {{ P p = 1; }} message P {{ string at = 1; }} message O {{ {other} }}")
    reader = ProtobufReader(schema, schema, struct(p=struct(at="string")), "")

    reader.check()

    assert reader(b"\0" + b"\x0a\x03\x0a\x01a") == (("a",),)
    with pytest.raises(BadRecordError, match="another message: O"):
        reader(b"\2\4" + b"\x12\x00")


def test_whole_numbers_that_a_spec_makes_texts_are_their_digits() -> None:
    numbers = proto("message M { int32 a = 1; int64 b = 2; uint64 c = 3; }")
    wanted = struct(a="string", b="string", c="string")
    in_json = Schema(1, "JSON", json.dumps({"properties": {"a": {"type": ["integer", "null"]}}}), {})

    row = ProtobufReader(numbers, numbers, wanted, "")(b"\0\x08\x01\x18\x07")

    assert row == ("1", "0", "7")
    assert JsonReader(in_json, struct(a="string"))(b'{"a": -12}') == ("-12",)


@pytest.mark.parametrize("node", [{"enum": [1, "high"]}, {"const": 1}, {}, {"type": "object"}])
def test_json_that_may_be_more_than_a_text_is_not_compared_as_one(node: Any) -> None:
    schema = Schema(1, "JSON", json.dumps({"properties": {"f": node}}), {})

    with pytest.raises(NotComparedError):
        JsonReader(schema, struct(f="string"))


def test_texts_by_their_enum_are_compared() -> None:
    schema = Schema(1, "JSON", json.dumps({"properties": {"f": {"enum": ["high", None]}}}), {})

    assert JsonReader(schema, struct(f="string"))(b'{"f": "high"}') == ("high",)


LINKED = {
    "type": "record", "name": "a.L",
    "fields": [
        {"name": "n", "type": "int"},
        {"name": "more", "type": {"type": "array", "items": "a.L"}},
        {"name": "text", "type": ["null", "int", "a.L"]},
    ],
}  # fmt: skip
IN_PROTOBUF = """message M { int32 n = 1; repeated M more = 2; google.protobuf.Value text = 3; }"""


def test_columns_of_what_holds_itself_are_named_and_the_others_are_compared() -> None:
    columns = [Column(1, "n", "int", False), Column(2, "more", {"type": "list", "element": "string"}, False),
               Column(3, "text", "string", False)]  # fmt: skip
    half = Half(format="registry", subject="s")
    imports = 'syntax = "proto3"; import "google/protobuf/struct.proto"; '

    for text, kind in ((json.dumps(LINKED), "AVRO"), (imports + IN_PROTOBUF, "PROTOBUF")):
        known = filled(half, schemas(text, kind), columns, "", "value", {})

        assert [column.name for column in known.columns] == ["n"]
        assert known.refused.keys() == {"more", "text"}


def test_records_of_avro_that_hold_themselves_are_read_to_their_end() -> None:
    schema = Schema(1, "AVRO", json.dumps(LINKED), {})
    inner = b"\x04" + b"\x00" + b"\x00"
    reader = AvroReader(schema, schema, struct(n="int"))

    assert reader(b"\x02" + b"\x02" + inner + b"\x00" + b"\x04" + inner) == (1,)
    with pytest.raises(BadRecordError):
        reader(b"\x02" + b"\x02" + inner + b"\x00" + b"\x04" + inner[:1])


def half(text: str = AVRO, kind: str = "AVRO", word: str = "value", long: Any = "none") -> HalfReader:
    wanted = Half(format="registry", subject="s", eight_byte_ids=long)
    return HalfReader(wanted, schemas(text, kind), struct(n="int"), word)


BY_GUID, BY_ID = b"\1" + GUID.bytes, b"\0\0\0\0\x07"


@pytest.mark.parametrize("header", [BY_GUID, BY_ID])
def test_a_header_names_the_schema_of_a_payload_without_a_prefix(header: bytes) -> None:
    headers = [("__value_schema_id", b"\1" + bytes(16)), ("__value_schema_id", header)]

    assert half()(b"\x02", headers) == (1,)
    assert half(MESSAGES, "PROTOBUF")(b"\x08\x01", [("__value_schema_id", header + b"\x02\x02")]) == (1,)


@pytest.mark.parametrize("header", [b"\1" + bytes(16), b"\0\0\0\0\x08", BY_GUID[:-1], b"\0\0", b"", b"\2"])
def test_a_header_that_names_no_version_of_the_subject_makes_a_bad_record(header: bytes) -> None:
    """Also where the payload begins as one behind a prefix: the header counts."""
    with pytest.raises(BadRecordError):
        half()(BY_ID + b"\x02", [("__value_schema_id", header)])


def test_a_header_for_the_other_half_names_nothing() -> None:
    headers = [("__key_schema_id", b"\1" + bytes(16))]

    assert half()(BY_ID + b"\x02", headers) == (1,)
    with pytest.raises(BadRecordError):
        half(word="key")(BY_ID + b"\x02", headers)


def test_records_of_other_tables_are_left_out_whatever_names_their_schema() -> None:
    """The table's own is Protobuf, the other one's Avro, so that message indexes follow its ids only."""
    other = {"id": 8, "schemaType": "AVRO", "schema": AVRO, "guid": str(uuid.UUID(int=5))}
    answers = {
        "subjects/o/versions?deleted=true": [1], "subjects/o/versions/1?deleted=true": other,
        "schemas/ids/8": other, "/apis/registry/v3/groups/default/artifacts/o/versions?offset=0&limit=500":
            {"count": 1, "versions": [{"globalId": 43, "contentId": 8}]},
    }  # fmt: skip
    own = schemas(MESSAGES, "PROTOBUF").ask
    known = Schemas(lambda path: answers.get(path) or own(path))
    wanted = Half(format="registry", subject="s", others=("o",), eight_byte_ids="global")
    reader = HalfReader(wanted, known, struct(n="int"))
    of_others: list[tuple[bytes, Any]] = [
        (b"\0\0\0\0\x08\x02", []), (b"\x02", [("__value_schema_id", b"\0\0\0\0\x08")]),
        (b"\x02", [("__value_schema_id", b"\1" + uuid.UUID(int=5).bytes)]),
        (b"\x02", [(CONTENT, (8).to_bytes(8, "big"))]),
        (b"\x02", [("apicurio.value.globalId", (43).to_bytes(8, "big"))]),
        (b"\0" + (43).to_bytes(8, "big") + b"\x02", []),
        (b"\xc3\x01" + avro.schema.parse(AVRO).fingerprint() + b"\x02", []),
    ]  # fmt: skip
    own_or_bad = [(BY_ID + b"\x02\x02\x08\x01", []), (b"\0\0\0\0\x09", []), (b"", []), (b"\xc3\x01", [])]

    assert all(reader.is_of_another_table(*each) for each in of_others)
    assert not any(reader.is_of_another_table(*each) for each in own_or_bad)
    assert reader(*own_or_bad[0]) == (1,)


CONTENT, LONG = "apicurio.value.contentId", (7).to_bytes(8, "big")


def test_ids_of_contents_by_apicurio_are_those_of_the_registry() -> None:
    assert half()(b"\x02", [(CONTENT, LONG), ("apicurio.value.globalId", bytes(8))]) == (1,)
    assert half(long="content")(b"\0" + LONG + b"\x02") == (1,)
    for header in (bytes(8), LONG[4:], b"\1" + LONG[1:]):
        with pytest.raises(BadRecordError):
            half()(b"\x02", [(CONTENT, header)])
    with pytest.raises(BadRecordError):
        half(MESSAGES, "PROTOBUF")(b"\0\x08\x01", [(CONTENT, LONG)])
    with pytest.raises(BadRecordError):
        half()(b"\0" + LONG + b"\x02")


def test_global_ids_of_apicurio_name_the_contents_that_it_tells() -> None:
    known = (42).to_bytes(8, "big")

    assert half()(b"\x02", [("apicurio.value.globalId", known)]) == (1,)
    assert half(long="global")(b"\0" + known + b"\x02") == (1,)
    with pytest.raises(BadRecordError):
        half()(b"\x02", [("apicurio.value.globalId", LONG)])
    with pytest.raises(BadRecordError):
        half(long="global")(b"\0" + LONG + b"\x02")


NAMED = {"namespace": "shop.eu", "type": "record", "name": "R", "doc": "A row.", "fields": [
    {"type": "long", "name": "at", "default": 0},
    {"name": "n", "type": ["null", {"type": "enum", "name": "E", "symbols": ["A"]}]},
]}  # fmt: skip


@pytest.mark.parametrize("text", [AVRO, json.dumps(NAMED), json.dumps(LINKED)])
def test_an_object_of_avros_own_names_its_schema_by_apaches_fingerprint(text: str) -> None:
    mark = avro.schema.parse(text).fingerprint()
    values = {AVRO: b"\x02", json.dumps(NAMED): b"\x02\x02\x00", json.dumps(LINKED): b"\x02\x00\x00"}
    reader = HalfReader(Half(format="registry", subject="s"), schemas(text), struct())

    assert reader(b"\xc3\x01" + mark + values[text]) == ()
    with pytest.raises(BadRecordError):
        reader(b"\xc3\x01" + mark[::-1] + values[text])


@pytest.mark.parametrize(
    ("parts", "size"),
    [
        ({"key": b"abc", "value": b"a"}, 3),
        ({"value": b"abcd", "headers": [("a", b"bc")]}, 4),
        ({"key": b"a", "headers": [("ä", b"bc"), ("d", None)]}, 5),
        ({}, 0),
    ],
)
def test_a_record_is_as_large_as_its_key_its_value_or_all_headers(parts: Any, size: int) -> None:
    assert largest_part(Message(topic="t", **parts)) == size


WIDTH = 20_000
WIDE = {"properties": {f"f{n}": {"type": "integer"} for n in range(WIDTH)}}
AS_STRUCT = struct(**{f"f{n}": "long" for n in range(WIDTH)})
ARRAY = {"type": "array", "items": WIDE}, {"type": "list", "element": AS_STRUCT}
MAP = {"additionalProperties": WIDE}, {"type": "map", "key": "string", "value": AS_STRUCT}


@pytest.mark.parametrize(("node", "kind"), [ARRAY, MAP], ids=["array", "map"])
def test_a_text_that_takes_four_million_values_more_than_bytes_is_bad(node: Any, kind: Any) -> None:
    schema = Schema(1, "JSON", json.dumps({"properties": {"w": node}}), {})
    reader = JsonReader(schema, struct(w=kind))
    many = [{}] * 210 if node == ARRAY[0] else {str(n): {} for n in range(210)}
    few = [{}] * 2 if node == ARRAY[0] else {"a": {}, "b": {}}

    with pytest.raises(BadRecordError, match="too many"):
        reader(json.dumps({"w": many}).encode())
    assert len(reader(json.dumps({"w": few, "text": "{" * 5000}).encode())[0]) == 2


@pytest.mark.parametrize(("objects", "bad"), [(4000, False), (4001, False), (4002, True)])
def test_the_bytes_of_the_text_are_allowed_beside_them(objects: int, bad: bool) -> None:
    kind = struct(w={"type": "list", "element": struct(**{f"f{n}": "long" for n in range(1000)})})

    with pytest.raises(BadRecordError) if bad else nullcontext():
        check_width({"w": [{}] * objects}, kind, 1000)


WIDE = struct(w={"type": "list", "element": struct(**{f"f{n}": "long" for n in range(1, 201)})})
MOST = 4_000_000 // 200


@pytest.mark.parametrize(("count", "bad"), [(MOST - 100, False), (MOST + 1000, True)])
def test_many_empty_messages_are_as_wide_as_their_fields(count: int, bad: bool) -> None:
    fields = " ".join(f"int64 f{n} = {n};" for n in range(1, 201))
    schema = proto(f"message M {{ repeated W w = 1; }} message W {{ {fields} }}")
    reader = ProtobufReader(schema, schema, WIDE, "")

    with pytest.raises(BadRecordError, match="values in memory") if bad else nullcontext():
        reader(b"\0" + b"\x0a\0" * count)


@pytest.mark.parametrize(("count", "bad"), [(MOST - 100, False), (MOST + 1000, True)])
def test_records_of_avro_are_as_wide_as_their_columns(count: int, bad: bool) -> None:
    item = {"type": "record", "name": "W", "fields": [{"name": "f1", "type": "long"}]}
    record = {
        "type": "record",
        "name": "R",
        "fields": [{"name": "w", "type": {"type": "array", "items": item}}],
    }
    schema = Schema(1, "AVRO", json.dumps(record), {})
    counted, left = bytearray(), count * 2
    while left > 127:
        counted.append(left & 127 | 128)
        left >>= 7

    with pytest.raises(BadRecordError, match="values in memory") if bad else nullcontext():
        AvroReader(schema, schema, WIDE)(bytes([*counted, left]) + b"\2" * count + b"\0")
