"""Protobuf records by Arrow batches: what lands is what google.protobuf reads, whatever came in."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from frazil.formats.protobuf.decoder import ProtobufBatches, ProtobufDecoder
from frazil.formats.protobuf.format import Protobuf
from frazil.formats.protobuf.messages import Messages, PtarsMessages, UpbMessages
from frazil.formats.protobuf.schema import message_to_logical
from frazil.formats.protocol import VALUE, HalfSchemas
from frazil.formats.wires.prefix import Header, WireError, by_header, header_of
from kit.drawn.damage import FRAME, damaged
from kit.formats import protobuf_oracle as oracle
from kit.formats.formats import same
from kit.formats.protobuf import framed, message_class, proto

ID = 7
WIDE = """syntax = "proto3";
import "google/protobuf/timestamp.proto";
message M {
  int32 n = 1;
  map<string, int32> counts = 2;
  oneof choice { int32 one = 3; string two = 4; }
  repeated int32 list = 5;
  uint64 big = 6;
  Inner inner = 7;
  google.protobuf.Timestamp at = 8;
  repeated Inner inners = 9;
}
message Inner { int32 a = 1; uint64 b = 2; }
message Other { int32 n = 1; string more = 2; }
message Twin { int32 n = 1; map<string, int32> counts = 2; oneof choice { int32 one = 3; string two = 4; }
  repeated int32 list = 5; uint64 big = 6; Inner inner = 7; google.protobuf.Timestamp at = 8;
  repeated Inner inners = 9; }
"""
M = message_class(WIDE, "M")
DECODERS = [PtarsMessages, UpbMessages]


def decoded(payloads: Sequence[bytes], cls: Any, text: str = WIDE) -> list[Any]:
    """Rows, or reason codes where there is none."""
    message = message_class(text, "M").DESCRIPTOR
    decoder: Messages = cls(message, message_to_logical(message, "s"))
    rows, reasons = decoder.decode(pa.array(payloads, pa.binary()))
    values = rows.to_pylist(maps_as_pydicts="strict")
    return [reasons[n][0] if n in reasons else row for n, row in enumerate(values)]


def batches(*texts: str, is_framed: bool = True, record_type: str | None = None) -> ProtobufBatches:
    """A decoder of a subject whose versions have the ids 7, 8 and so on."""
    return ProtobufBatches(recipe(*texts, is_framed=is_framed, record_type=record_type))


def recipe(*texts: str, is_framed: bool = True, record_type: str | None = None) -> Any:
    writers = tuple(proto(text, ID + n) for n, text in enumerate(texts))
    schemas = HalfSchemas(VALUE, Protobuf(), "s-value", writers, is_framed, record_type)
    return ProtobufDecoder(schemas)._recipe


def rows(decoding: ProtobufBatches, *raw: bytes | None) -> list[Any]:
    """Each record's columns, or None where it is bad."""
    result = decoding.decode(pa.array(raw, pa.binary()))
    assert len(result) == len(raw)
    listed = result.to_pylist(maps_as_pydicts="strict")
    return [row["d"] if row["ok"] else None for row in listed]


@pytest.mark.parametrize(
    ("raw", "header"),
    [
        (b"\0\0\0\0\7\0abc", Header(7, (0,), 6)),
        (b"\0\0\0\0\7\2\0abc", Header(7, (0,), 7)),
        (b"\0\0\0\0\7\2\2abc", Header(7, (1,), 7)),
        (b"\0\0\0\0\7\4\2\4", Header(7, (1, 2), 8)),
        (b"\0\xff\xff\xff\xff\2\x80\2x", Header(2**32 - 1, (128,), 8)),
    ],
)
def test_a_header_is_as_long_as_its_indexes(raw: bytes, header: Header) -> None:
    assert header_of(raw) == header


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (b"", "too_short"),
        (b"\0\0\0\0\7", "too_short"),
        (b"\1\0\0\0\7\0", "magic_byte"),
        (b"\0\0\0\0\7\4\2", "message_indexes"),
        (b"\0\0\0\0\7\1", "message_indexes"),
        (b"\0\0\0\0\7" + b"\xff" * 9, "message_indexes"),
    ],
)
def test_what_is_no_header_has_a_reason(raw: bytes, code: str) -> None:
    with pytest.raises(WireError) as raised:
        header_of(raw)

    assert raised.value.reason[0] == code
    assert batches(WIDE).explain(raw)[0] == code


def test_headers_of_schemas_that_are_not_known_are_not_read_at_all() -> None:
    """A topic of several formats: what follows an id in Avro and JSON looks like many indexes of messages."""
    own, foreign = b"\0\0\0\0\7", b"\0\0\0\0\6"
    raw = pa.array(
        [foreign + b"\2\2x", own + b"\0x", b"{text}", None, own + b"\2\2x", foreign + b"\0x", b"\0"]
    )

    groups = {header.indexes: places.tolist() for header, places in by_header(raw, {7})}

    assert groups == {(0,): [1], (1,): [4]}


@pytest.mark.parametrize("cls", DECODERS)
def test_one_bad_row_leaves_the_others_alone(cls: Any) -> None:
    good = [M(n=n).SerializeToString() for n in range(200)]
    good[77], good[150] = b"\x0a\x7fz", b"\xff"

    values = decoded(good, cls)

    assert [n for n, row in enumerate(values) if row == "payload"] == [77, 150]
    assert [row["n"] for row in values if row != "payload"] == [n for n in range(200) if n not in (77, 150)]


@pytest.mark.parametrize("cls", DECODERS)
@pytest.mark.parametrize(
    "place", [{"big": 2**63}, {"inner": {"b": 2**64 - 1}}, {"inners": [{}, {"b": 2**63}]}]
)
def test_a_number_that_fits_no_bigint_is_no_row(cls: Any, place: dict[str, Any]) -> None:
    most = M(big=2**63 - 1, inner={"b": 2**63 - 1}, inners=[{"b": 2**63 - 1}]).SerializeToString()

    top, over = decoded([most, M(**place).SerializeToString()], cls)

    assert (top["big"], over) == (2**63 - 1, "range")


@pytest.mark.parametrize("cls", DECODERS)
@pytest.mark.parametrize("at", [{"seconds": 253_402_300_800}, {"nanos": 10**9}, {"nanos": -1}])
def test_a_moment_outside_of_the_years_1_to_9999_is_no_row(cls: Any, at: dict[str, int]) -> None:
    assert decoded([M(at=at).SerializeToString()], cls) == ["range"]


@pytest.mark.parametrize("cls", DECODERS)
def test_digits_behind_microseconds_are_cut(cls: Any) -> None:
    (row,) = decoded([M(at={"seconds": -1, "nanos": 1999}).SerializeToString()], cls)

    assert row["at"] == dt.datetime(1969, 12, 31, 23, 59, 59, 1, dt.UTC)


@pytest.mark.parametrize("cls", DECODERS)
@pytest.mark.parametrize(
    ("payload", "column", "value"),
    [
        (b"\x18\1\x22\1x", "choice", {"one": None, "two": "x"}),
        (b"\x22\1x\x18\1", "choice", {"one": 1, "two": None}),
        (b"\x12\5\x0a\1k\x10\1\x12\5\x0a\1k\x10\2", "counts", {"k": 2}),
        (b"\x12\3\x0a\1k", "counts", {"k": 0}),
        (b"\x12\2\x10\5", "counts", {"": 5}),
        (b"\x3a\2\x08\1\x3a\2\x10\2", "inner", {"a": 1, "b": 2}),
        (b"\x28\1\x2a\2\2\3\x28\4", "list", [1, 2, 3, 4]),
        (b"\x08\1\x08\2", "n", 2),
        (b"\x08\x81\x80\x80\0", "n", 1),
        (b"\xf8\x06\1\x08\3", "n", 3),
    ],
    ids=["two-members", "two-members-turned", "key-twice", "no-value", "no-key", "merged", "half-packed",
         "last-wins", "overlong", "unknown-field"],
)  # fmt: skip
def test_odd_but_valid_bytes_land_as_google_reads_them(
    cls: Any, payload: bytes, column: str, value: Any
) -> None:
    plain = M(n=1).SerializeToString()

    values = decoded([plain, payload, plain], cls)

    assert values[1][column] == value
    assert values[0]["n"] == values[2]["n"] == 1


@pytest.mark.parametrize("cls", DECODERS)
def test_text_that_is_not_utf_8_is_no_row(cls: Any) -> None:
    assert decoded([b"\x22\1\xff"], cls) == ["payload"]


@pytest.mark.parametrize("cls", DECODERS)
def test_proto2_closed_enums_and_required_fields_are_heeded(cls: Any) -> None:
    text = 'syntax = "proto2"; message M { required int32 a = 1; optional E e = 2; } enum E { X = 1; Y = 2; }'

    values = decoded([b"\x08\1\x10\2", b"\x08\1\x10\7", b"\x10\2"], cls, text)

    assert values == [{"a": 1, "e": "Y"}, {"a": 1, "e": None}, "required"]


@pytest.mark.parametrize("cls", DECODERS)
def test_of_two_names_for_one_number_google_s_is_taken(cls: Any) -> None:
    text = (
        'syntax = "proto3"; message M { E e = 1; } enum E { option allow_alias = true; A = 0; B = 1; C = 1; }'
    )
    first = message_class(text, "M").DESCRIPTOR.fields[0].enum_type.values_by_number[1].name

    assert decoded([b"\x08\1"], cls, text) == [{"e": first}]


@pytest.mark.parametrize("text", [
    'edition = "2023"; message M { int32 a = 1; }',
    'syntax = "proto2"; message M { optional int32 a = 1; optional group G = 2 { optional int32 n = 3; } }',
], ids=["edition", "group"])  # fmt: skip
def test_what_ptars_can_t_read_google_reads(text: str) -> None:
    (row,) = rows(batches(text), framed(ID, b"\x08\5"))

    assert row["a"] == 5


@pytest.mark.parametrize("seed", [1, 2])
def test_damaged_records_land_as_google_reads_them_or_not_at_all(seed: int) -> None:
    raw = damaged([oracle.encode(n, ID) for n in range(50)], 1500, seed)
    decoding = batches(oracle.SCHEMA)
    own = b"\0" + ID.to_bytes(4, "big")

    expected = [oracle.decode(r[FRAME:]) if r[:FRAME] == own else None for r in raw]
    differing = [
        (r, row, e) for r, row, e in zip(raw, rows(decoding, *raw), expected, strict=True) if not same(row, e)
    ]

    assert differing == []
    assert all(all(decoding.explain(r)) for r, e in zip(raw, expected, strict=True) if e is None)


def test_versions_and_messages_mixed_in_one_batch_keep_their_order() -> None:
    older = 'syntax = "proto3"; message M { int32 n = 1; } message Nested { message M { int32 n = 1; } }'
    newer = 'syntax = "proto3"; message First { int32 x = 1; } message M { int64 n = 1; bool b = 2; }'
    decoding = batches(older, newer, record_type="M")
    raw = [
        framed(ID, b"\x08\1"), None, framed(ID + 1, b"\x08\2\x10\1", b"\2\2"), b"junk", framed(ID, b"\x08\3"),
        framed(ID + 1, b"\x08\4", b"\0"), framed(ID, b"\x08\5", b"\2\0"), framed(ID + 9, b""),
    ]  # fmt: skip

    first, second, third, fifth = ({"n": n, "b": True if n == 2 else None} for n in (1, 2, 3, 5))
    assert rows(decoding, *raw) == [first, None, second, None, third, None, fifth, None]
    writers = decoding.decode(pa.array(raw, pa.binary())).field("w").to_pylist()
    assert writers == [1, None, 0, None, 1, None, 1, None]


def test_each_bad_record_says_why() -> None:
    decoding = batches(WIDE)
    reasons = {
        framed(ID, b"\x08\1", b"\2\4"): "message_type",
        framed(ID, b"\x08\1", b"\2\x20"): "message_indexes",
        framed(99, b""): "schema_id",
        framed(ID, b"\x0a\x7fz"): "payload",
        framed(ID, M(big=2**63).SerializeToString()): "range",
    }

    assert rows(decoding, *reasons) == [None] * len(reasons)
    assert {raw: decoding.explain(raw)[0] for raw in reasons} == reasons


def test_another_message_of_the_same_columns_is_a_row() -> None:
    (row,) = rows(batches(WIDE), framed(ID, b"\x08\5", b"\2\6"))

    assert row["n"] == 5


def test_a_version_that_does_not_fit_says_which_field() -> None:
    older = 'syntax = "proto3"; message M { Inner i = 1; } message Inner { string a = 1; }'
    newer = 'syntax = "proto3"; message M { Inner i = 1; } message Inner { int32 a = 1; }'
    decoding = batches(older, newer)

    assert rows(decoding, framed(ID, b"")) == [None]
    code, why = decoding.explain(framed(ID, b""))
    assert code == "schema_id"
    assert "field i.a: string can't become int without loss" in why


def test_an_empty_payload_is_a_message_of_defaults() -> None:
    assert rows(batches(WIDE), framed(ID, b""))[0]["n"] == 0


def test_bare_payloads_are_of_the_newest_schema() -> None:
    texts = ['syntax = "proto3"; message M { int32 n = 1; }', 'syntax = "proto3"; message M { int64 n = 1; }']
    decoding = batches(*texts, is_framed=False)

    assert rows(decoding, b"\x08\5", None, b"", b"\xff") == [{"n": 5}, None, {"n": 0}, None]
    assert decoding.explain(b"\xff")[0] == "payload"


def test_a_batch_without_records_is_one() -> None:
    assert rows(batches(WIDE)) == []
    assert rows(batches(WIDE), None, b"x") == [None, None]


def test_spark_s_workers_import_no_registry_and_no_catalog() -> None:
    """Each new worker process imports what decodes: with the registry's clients that took half a second."""
    there = (
        "import sys, frazil.formats.protobuf.decoder; print(*sorted({m.split('.')[0] for m in sys.modules}))"
    )

    done = subprocess.run([sys.executable, "-c", there], capture_output=True, check=True, text=True)

    assert "frazil" in done.stdout.split()
    assert not {"confluent_kafka", "httpx", "pydantic", "pyiceberg", "pyspark"} & set(done.stdout.split())


@pytest.mark.parametrize("count", [128, 130, 256, 300])
def test_a_oneof_with_many_members_on_the_wire_has_the_last_one(count: int) -> None:
    """They were counted in eight bits."""
    members = " ".join(f"int32 m{n} = {n};" for n in range(1, count + 1))
    text = f'syntax = "proto3"; message M {{ oneof choice {{ {members} }} }}'
    cls = message_class(text, "M")
    payload = b"".join(cls(**{f"m{n}": n}).SerializeToString() for n in range(1, count + 1))

    (row,) = rows(batches(text), framed(ID, payload))

    assert {name: v for name, v in row["choice"].items() if v is not None} == {f"m{count}": count}


UNCHECKED = """message M {{ {0} s = 1; {1} r = 2; map<string, int32> m = 3; {2} n = 4;
  oneof o {{ string a = 5; int32 b = 6; }} }} message N {{ {0} t = 1; }}"""


@pytest.mark.parametrize(
    "text",
    [
        'syntax = "proto2"; ' + UNCHECKED.format("optional string", "repeated string", "optional N"),
        'edition = "2023"; option features.utf8_validation = NONE; '
        + UNCHECKED.format("string", "repeated string", "N"),
    ],
    ids=["proto2", "editions"],
)
@pytest.mark.parametrize(
    "payload",
    [
        b"\x0a\x02\xff\xfe", b"\x12\x02\xff\xfe", b"\x1a\x05\x0a\x01\xff\x10\x01", b"\x22\x03\x0a\x01\xff",
        b"\x2a\x01\xff", b"\x0a\x03\xed\xa0\x80",
    ],
)  # fmt: skip
def test_a_string_that_is_not_utf8_makes_its_record_bad(text: str, payload: bytes) -> None:
    good = framed(ID, b"\x0a\x01a")
    decoding = batches(text)

    decoded_rows = rows(decoding, *[good] * 20, framed(ID, payload), *[good] * 20)

    assert [row is None for row in decoded_rows] == [False] * 20 + [True] + [False] * 20
    assert decoding.explain(framed(ID, payload))[0] == "utf8"


EMPTY = 'syntax = "proto3"; message Other {{ int32 n = 1; }} message M {{ {0} }} message Placed {{ {1} }}'
ARMS = "string id = 1; oneof event { Placed placed = 2; string gone = 3; }"


def test_records_of_a_version_that_is_no_table_by_itself_are_read_by_the_newest() -> None:
    """An arm of a oneof that begins empty: https://github.com/apache/iceberg/issues/16212."""
    then, now = EMPTY.format(ARMS, ""), EMPTY.format(f"{ARMS} int32 added = 4;", "string at = 1;")
    moved = now.replace("message Other { int32 n = 1; }", "")  # so that the indexes are others
    old = message_class(then, "M")(id="a", placed={}).SerializeToString()
    gone = message_class(then, "M")(id="b", gone="x").SerializeToString()

    for newest in (now, moved):
        decoding = batches(then, newest, record_type="M")
        read = rows(decoding, *(framed(ID, payload, b"\x02\x02") for payload in (old, gone)))

        assert read == [
            {"id": "a", "added": 0, "event": {"placed": {"at": ""}, "gone": None}},
            {"id": "b", "added": 0, "event": {"placed": None, "gone": "x"}},
        ]


@pytest.mark.parametrize(
    ("then", "now"),
    [
        ("Placed placed = 1; int32 n = 2;", "Placed placed = 1; string n = 2;"),
        ("Placed placed = 1; int32 n = 2;", "Placed placed = 1; int32 m = 2;"),
        ("Placed placed = 1; int32 n = 2;", "Placed placed = 1; int32 n = 3;"),
        ("Placed placed = 1; int32 n = 2;", "Placed placed = 1; repeated int32 n = 2;"),
        ("Placed placed = 1; oneof o { int32 n = 2; }", "Placed placed = 1; int32 n = 2;"),
    ],
)
def test_where_a_value_could_be_taken_for_another_they_stay_bad(then: str, now: str) -> None:
    texts = EMPTY.format(then, ""), EMPTY.format(now, "string at = 1;")
    payload = message_class(texts[0], "M")(placed={}, n=5).SerializeToString()

    decoding = batches(*texts, record_type="M")

    assert rows(decoding, framed(ID, payload, b"\x02\x02")) == [None]
    assert decoding.explain(framed(ID, payload, b"\x02\x02"))[0] == "schema_id"
