"""What Confluent's clients note beside Protobuf's fields, and the files that its registry always has."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest

from frazil.errors import SchemaRefusedError
from frazil.formats.kinds import SCHEMA_FORMATS
from frazil.formats.logical import Field, List, Map, Primitive, Struct
from frazil.formats.protobuf.decoder import Message, ProtobufDecoder, batches_of
from frazil.formats.protobuf.generations import columns_of
from frazil.formats.protobuf.messages import PtarsMessages
from frazil.formats.protocol import VALUE, HalfSchemas
from kit.formats.protobuf import framed, message_class, proto

BUILT_IN = (
    *(f"google/type/{name}.proto" for name in (
        "calendar_period", "color", "date", "datetime", "dayofweek", "decimal", "expr", "fraction",
        "interval", "latlng", "localized_text", "money", "month", "phone_number", "postal_address",
        "quaternion", "timeofday",
    )),
    *(f"google/protobuf/{name}.proto" for name in (
        "any", "api", "descriptor", "duration", "empty", "field_mask", "source_context", "struct",
        "timestamp", "type", "wrappers",
    )),
    "confluent/meta.proto", "confluent/type/decimal.proto", "confluent/type/variant.proto",
)  # fmt: skip
"""What Confluent's registry takes without a reference: `KNOWN_DEPENDENCIES` of its ProtobufSchema."""

META, STAMP = "confluent/meta.proto", "google/protobuf/timestamp.proto"
WALL = '[(confluent.field_meta).params = {key: "flink.type" value: "timestamp"}]'
WRAPPED = '[(confluent.field_meta).params = {key: "flink.wrapped" value: "true"}]'
FLINKS = f"""syntax = "proto3";
import "confluent/meta.proto";
message M {{
  ListWrapper maybe_list = 1 {WRAPPED};
  repeated ListWrapper lists = 2 {WRAPPED};
  repeated NumberWrapper numbers = 3 {WRAPPED};
  repeated ChoiceWrapper choices = 4 {WRAPPED};
  MapWrapper maybe_map = 5 {WRAPPED};
  oneof o {{ ListWrapper some = 6 {WRAPPED}; int32 one = 7; }}
}}
message ListWrapper {{ repeated int32 value = 1; }}
message NumberWrapper {{ optional int64 value = 1; }}
message ChoiceWrapper {{ oneof value {{ int32 n = 1; string s = 2; }} }}
message MapWrapper {{ map<string, int32> value = 1; }}
"""
"""What Flink writes for ARRAY, ARRAY<ARRAY>, ARRAY of what may be null, and so on."""

INT, LONG, STRING = Primitive("int"), Primitive("long"), Primitive("string")
CHOICE = Struct((Field("n", INT, True), Field("s", STRING, True)))


def decoded(text: str, *values: dict[str, Any]) -> list[Any]:
    """Records as rows: each of them by the fast way and by google.protobuf, which must agree."""
    writer = proto(text)
    decoder = SCHEMA_FORMATS["PROTOBUF"].decoder(
        HalfSchemas(VALUE, SCHEMA_FORMATS["PROTOBUF"], "s", (writer,))
    )
    assert isinstance(decoder, ProtobufDecoder)
    raw = [framed(1, message_class(text, "M")(**v).SerializeToString()) for v in values]
    batches = batches_of(decoder._recipe)
    rows = batches.decode(pa.array(raw, pa.binary()))
    known = batches._messages(1, (0,))
    assert isinstance(known, Message)
    assert isinstance(known.decoder, PtarsMessages)
    careful, reasons = known.decoder._careful.decode(pa.array([r[6:] for r in raw], pa.binary()))
    assert not reasons
    assert rows.field("ok").to_pylist() == [True] * len(raw)
    assert rows.field("d").to_pylist() == careful.to_pylist()
    return list(careful.to_pylist())


def columns(body: str, *imports: str) -> tuple[Field, ...]:
    lines = [f'import "{name}";' for name in imports]
    return columns_of([proto("\n".join(['syntax = "proto3";', *lines, body]))], "s").fields


def test_what_a_registry_always_has_needs_no_reference() -> None:
    assert columns("message M { int32 a = 1; }", *BUILT_IN) == (Field("a", INT),)


def test_googles_types_have_their_columns() -> None:
    money = Struct((Field("currency_code", STRING), Field("units", LONG), Field("nanos", INT)))

    fields = columns("message M { google.type.Money f = 1; }", "google/type/money.proto")
    assert fields == (Field("f", money, optional=True),)


def test_nothing_else_of_this_machine_is_imported() -> None:
    with pytest.raises(SchemaRefusedError, match="File not found"):
        columns("message M { int32 a = 1; }", "google/rpc/code.proto")


def test_a_variant_is_refused_by_its_path() -> None:
    with pytest.raises(SchemaRefusedError, match=r"(?s)variant needs format version 3.*field f"):
        columns("message M { confluent.type.Variant f = 1; }", "confluent/type/variant.proto")


def test_flinks_wrappers_are_what_is_in_them() -> None:
    assert columns_of([proto(FLINKS)], "s").fields == (
        Field("maybe_list", List(INT), optional=True),
        Field("lists", List(List(INT))),
        Field("numbers", List(LONG, element_optional=True)),
        Field("choices", List(CHOICE, element_optional=True)),
        Field("maybe_map", Map(STRING, INT), optional=True),
        Field("o", Struct((Field("some", List(INT), True), Field("one", INT, True))), optional=True),
    )


def test_what_flink_wrapped_lands_unwrapped() -> None:
    full = {
        "maybe_list": {"value": [1, 2]},
        "lists": [{"value": [1]}, {}, {"value": [2, 3]}],
        "numbers": [{"value": 0}, {}, {"value": 7}],
        "choices": [{"n": 0}, {}, {"s": "x"}],
        "maybe_map": {"value": {"a": 1}},
        "some": {"value": [4]},
    }
    rows = decoded(FLINKS, full, {}, {"maybe_list": {}, "maybe_map": {}, "one": 5})

    assert rows[0] == {
        "maybe_list": [1, 2],
        "lists": [[1], [], [2, 3]],
        "numbers": [0, None, 7],
        "choices": [{"n": 0, "s": None}, None, {"n": None, "s": "x"}],
        "maybe_map": [("a", 1)],
        "o": {"some": [4], "one": None},
    }
    nothing = {"lists": [], "numbers": [], "choices": []}
    assert rows[1] == {**nothing, "maybe_list": None, "maybe_map": None, "o": None}
    assert rows[2] == {**nothing, "maybe_list": [], "maybe_map": [], "o": {"some": None, "one": 5}}


@pytest.mark.parametrize("body", ["repeated int32 value = 1; int32 more = 2;", "int32 other = 1;"])
def test_a_message_with_more_in_it_is_no_wrapper(body: str) -> None:
    (field,) = columns(f"message M {{ W f = 1 {WRAPPED}; }} message W {{ {body} }}", META)
    assert isinstance(field.type, Struct)


def test_wrappers_within_themselves_are_refused() -> None:
    endless = f"message M {{ W f = 1 {WRAPPED}; }} message W {{ repeated W value = 1 {WRAPPED}; }}"

    with pytest.raises(SchemaRefusedError, match=r"(?s)message W contains itself.*field f"):
        columns(endless, META)


def test_a_timestamp_that_flink_has_without_a_zone_stays_so() -> None:
    fields = f"google.protobuf.Timestamp f = 1 {WALL}; repeated google.protobuf.Timestamp g = 2 {WALL};"
    text = f'syntax = "proto3"; import "{META}"; import "{STAMP}"; message M {{ {fields} }}'

    assert columns_of([proto(text)], "s").fields == (
        Field("f", Primitive("timestamp"), optional=True),
        Field("g", List(Primitive("timestamp"))),
    )
    noon = dt.datetime(2026, 3, 1, 12)
    at = {"seconds": int(noon.replace(tzinfo=dt.UTC).timestamp())}
    assert decoded(text, {"f": at, "g": [at]}) == [{"f": noon, "g": [noon]}]
