"""Protobuf schemas: what they become, what is refused, and what older versions do to the columns."""

from __future__ import annotations

import base64
import subprocess

import pytest

from frazil.errors import SchemaRefusedError
from frazil.formats.logical import Decimal, Field, List, Map, Primitive, Struct, Type
from frazil.formats.protobuf import descriptors
from frazil.formats.protobuf.descriptors import compiled, file_of, message_at
from frazil.formats.protobuf.generations import columns_of
from frazil.formats.protocol import WriterSchema
from kit.formats.protobuf import proto

INT, LONG, STRING = Primitive("int"), Primitive("long"), Primitive("string")
BOOL, BINARY, MOMENT = Primitive("boolean"), Primitive("binary"), Primitive("timestamptz")
LEG = Struct((Field("n", INT),))

INTRO = """syntax = "proto3";
import "google/protobuf/any.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/empty.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
import "google/type/date.proto";
import "google/type/timeofday.proto";
import "confluent/meta.proto";
import "confluent/type/decimal.proto";
"""
TYPES = """
enum E { ZERO = 0; }
message Leg { int32 n = 1; }
message Nothing {}
message Loop { Leg leg = 1; repeated Loop loops = 2; }
message PairEntry { string key = 1; int32 value = 2; }
message MaybeEntry { string key = 1; optional int32 value = 2; }
message OddEntry { optional string key = 1; int32 value = 2; }
"""
EIGHTEEN_TWO = (
    '[(confluent.field_meta).params = {key: "precision" value: "18"},'
    ' (confluent.field_meta).params = {key: "scale" value: "2"}]'
)


def columns(text: str, **dependencies: str) -> Struct:
    return columns_of([proto(text, **dependencies)], "s-value")


def message(*lines: str) -> Struct:
    return columns(f"{INTRO} message M {{ {' '.join(lines)} }} {TYPES}")


def version(number: int, text: str) -> WriterSchema:
    return proto(f'syntax = "proto3"; {text}', number)


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        *((f"{name} f = 1;", INT) for name in ("int32", "sint32", "sfixed32")),
        *((f"{name} f = 1;", LONG) for name in ("uint32", "fixed32", "int64", "sint64", "sfixed64")),
        *((f"{name} f = 1;", LONG) for name in ("uint64", "fixed64")),
        ("float f = 1;", Primitive("float")),
        ("double f = 1;", Primitive("double")),
        ("bool f = 1;", BOOL),
        ("string f = 1;", STRING),
        ("bytes f = 1;", BINARY),
        ("E f = 1;", STRING),
        ("repeated int32 f = 1;", List(INT)),
        ("repeated Leg f = 1;", List(LEG)),
        ("map<string, Leg> f = 1;", Map(STRING, LEG)),
        ("map<uint32, E> f = 1;", Map(LONG, STRING)),
        ("repeated PairEntry f = 1;", Map(STRING, INT)),
        ("repeated MaybeEntry f = 1;", Map(STRING, INT, value_optional=True)),
        ("repeated OddEntry f = 1;", List(Struct((Field("key", STRING, True), Field("value", INT))))),
    ],
)
def test_plain_and_repeated_fields_are_required_columns(line: str, kind: Type) -> None:
    assert message(line).fields == (Field("f", kind),)


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("optional int32 f = 1;", INT),
        ("optional E f = 1;", STRING),
        ("Leg f = 1;", LEG),
        ("google.protobuf.BoolValue f = 1;", BOOL),
        ("google.protobuf.UInt32Value f = 1;", LONG),
        ("google.protobuf.UInt64Value f = 1;", LONG),
        ("google.protobuf.BytesValue f = 1;", BINARY),
        ("google.protobuf.Timestamp f = 1;", MOMENT),
        ("google.protobuf.Duration f = 1;", LONG),
        ("google.type.Date f = 1;", Primitive("date")),
        ("google.type.TimeOfDay f = 1;", LONG),
        (f"confluent.type.Decimal f = 1 {EIGHTEEN_TWO.replace('18', '64')};", Decimal(38, 2)),
        (f"confluent.type.Decimal f = 1 {EIGHTEEN_TWO};", Decimal(18, 2)),
        ("google.protobuf.Any f = 1;", Struct((Field("type_url", STRING), Field("value", BINARY)))),
    ],
)
def test_whatever_may_be_absent_is_an_optional_column(line: str, kind: Type) -> None:
    assert message(line).fields == (Field("f", kind, optional=True),)


def test_a_oneof_is_an_optional_struct_behind_the_other_fields() -> None:
    columns_read = message("oneof o { int32 a = 1; Leg b = 2; }", "string s = 3;")

    members = Struct((Field("a", INT, True), Field("b", LEG, True)))
    assert columns_read.fields == (Field("s", STRING), Field("o", members, optional=True))


def test_proto2_tells_required_from_optional() -> None:
    columns_read = columns(
        'syntax = "proto2"; message M { required int32 a = 1; optional int32 b = 2 [default = 7];'
        " repeated int32 c = 3; optional group G = 4 { optional int32 n = 1; } }"
    )

    group = Field("g", Struct((Field("n", INT, True),)), True)
    assert columns_read.fields == (Field("a", INT), Field("b", INT, True), Field("c", List(INT)), group)


def test_an_edition_says_itself_what_has_presence() -> None:
    columns_read = columns(
        'edition = "2023"; message M { int32 a = 1; int32 b = 2 [features.field_presence = IMPLICIT]; }'
    )

    assert columns_read.fields == (Field("a", INT, optional=True), Field("b", INT))


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("google.protobuf.Struct f = 1;", "field f"),
        ("repeated google.protobuf.Value f = 1;", r"field f\[\]"),
        ("google.protobuf.Empty f = 1;", "field f"),
        ("Nothing f = 1;", "field f"),
        ("Loop f = 1;", r"field f.loops\[\]"),
        ("map<string, Loop> f = 1;", r"field f\{\}.loops\[\]"),
        ("oneof o { Nothing n = 1; }", "field o.n"),
        ("int32 a = 1; int32 A = 2;", "a and A differ by case only"),
        ("confluent.type.Decimal f = 1;", "without precision and scale"),
        (f"confluent.type.Decimal f = 1 {EIGHTEEN_TWO.replace('2', '39')};", r"decimal\(18,39\)"),
    ],
)
def test_what_no_column_holds_is_refused_by_its_path(line: str, why: str) -> None:
    with pytest.raises(SchemaRefusedError, match=why):
        message(line)


def test_the_error_of_protoc_is_told_without_paths_of_this_machine() -> None:
    with pytest.raises(SchemaRefusedError, match=r'"Missing" is not defined') as raised:
        columns('syntax = "proto3"; message M { Missing m = 1; }')

    assert "/tmp" not in str(raised.value)


def test_an_import_may_not_leave_its_folder() -> None:
    with pytest.raises(SchemaRefusedError, match="no plain relative path"):
        columns('syntax = "proto3"; message M { int32 a = 1; }', **{"../../evil.proto": ""})


def test_imports_come_from_references() -> None:
    inner = 'syntax = "proto3"; package p; message Leg { int32 n = 1; }'
    columns_read = columns(
        'syntax = "proto3"; import "dir/leg.proto"; message M { p.Leg leg = 1; }', **{"dir/leg.proto": inner}
    )

    assert columns_read.fields == (Field("leg", LEG, optional=True),)


def test_what_clients_register_in_base64_is_understood() -> None:
    """Python's serializer sends no text but a serialized descriptor."""
    text = f"{INTRO} message M {{ google.protobuf.Timestamp f = 1; }}"
    file = file_of(compiled(proto(text), "s"))
    shipped = base64.standard_b64encode(file.serialized_pb).decode()

    assert columns(shipped) == columns(text)


def test_damaged_base64_is_refused() -> None:
    with pytest.raises(SchemaRefusedError):
        columns(base64.standard_b64encode(b"\x0a\x01a\x22\x05\x0a\x03B.C").decode())


def test_indexes_count_messages_as_they_are_declared() -> None:
    text = (
        'syntax = "proto3"; message A { map<string, int32> m = 1; message B { int32 n = 1; } } message C {}'
    )
    file = file_of(compiled(proto(text), "s"))

    messages = [message_at(file, indexes) for indexes in ((0,), (1,), (0, 0), (0, 1), (2,), (0, 9), (-1,))]
    names = [m and m.full_name for m in messages]
    assert names == ["A", "C", "A.MEntry", "A.B", None, None, None]


def test_a_plain_field_that_came_later_is_optional() -> None:
    old, new = (
        version(1, "message M { int32 a = 1; }"),
        version(2, "message M { int32 a = 1; string b = 2; }"),
    )

    assert columns_of([new], "s").fields == (Field("a", INT), Field("b", STRING))
    assert columns_of([old, new], "s").fields == (Field("a", INT), Field("b", STRING, optional=True))


def test_a_field_that_was_optional_once_stays_so() -> None:
    old, new = version(1, "message M { optional int32 a = 1; }"), version(2, "message M { int32 a = 1; }")

    assert columns_of([old, new], "s").fields == (Field("a", INT, optional=True),)


def test_a_nested_field_that_came_later_is_optional() -> None:
    old = version(1, "message M { repeated L l = 1; } message L { int32 a = 1; }")
    new = version(2, "message M { repeated L l = 1; } message L { int32 a = 1; bool b = 2; }")

    element = Struct((Field("a", INT), Field("b", BOOL, optional=True)))
    assert columns_of([old, new], "s").fields == (Field("l", List(element)),)


def test_a_version_that_does_not_fit_changes_nothing() -> None:
    old, new = (
        version(1, "message M { string a = 1; }"),
        version(2, "message M { int32 a = 1; int32 b = 2; }"),
    )

    assert columns_of([old, new], "s") == columns_of([new], "s")


def test_the_record_type_names_a_message_that_is_not_the_first() -> None:
    writer = version(1, "package p; message A { int32 a = 1; message B { bool b = 1; } }")

    assert columns_of([writer], "s", "p.A.B").fields == (Field("b", BOOL),)


def test_messages_that_would_grow_without_bound_are_refused() -> None:
    levels = [f"message D{n} {{ D{n + 1} a = 1; D{n + 1} b = 2; }}" for n in range(25)]

    with pytest.raises(SchemaRefusedError, match="more than 20000 nested fields"):
        columns("\n".join(['syntax = "proto3";', *levels, "message D25 { int32 x = 1; }"]))


def test_messages_that_lie_too_deep_are_said_to() -> None:
    levels = [f"message D{n} {{ D{n + 1} a = 1; }}" for n in range(70)]

    with pytest.raises(SchemaRefusedError, match="deeper than 64 levels"):
        columns("\n".join(['syntax = "proto3";', *levels, "message D70 { int32 x = 1; }"]))


def test_protoc_that_is_started_for_one_schema_says_what_the_one_says_that_stays_for_tests(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    good, bad = version(1, "message M { int32 n = 1; }"), version(2, "message M { int33 n = 1; }")

    def answers() -> tuple[bytes, str]:
        descriptors._compile.cache_clear()
        with pytest.raises(SchemaRefusedError) as refused:
            compiled(bad, "s")
        return compiled(good, "s"), refused.value.where

    stays = answers()
    monkeypatch.setattr(descriptors, "subprocess", subprocess)

    assert answers() == stays
    assert "int33" in stays[1]
