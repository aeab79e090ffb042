"""What `frazil check T --values N` judges rows by: each case of a format has its own right value there.

The right values are those that PyIceberg and DuckDB must read. The independent decoders give days and moments
as numbers, and maps as pairs.
"""

from __future__ import annotations

import json
import math
import struct
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest

from frazil.formats.avro.format import Avro, AvroDecoder
from frazil.formats.bare import Bare, Unknown
from frazil.formats.columns.unmappable import Unmappable
from frazil.formats.json.format import Json, JsonDecoder
from frazil.formats.protocol import VALUE, HalfSchemas, WriterSchema
from kit.formats import avro_cases, json_cases
from kit.formats.avro_columns import payload
from kit.formats.conformance import RECORDS, Case

_AVRO = AvroDecoder(
    HalfSchemas(VALUE, Avro(), "s-value", (WriterSchema(1, 1, json.dumps(avro_cases.wide()), "AVRO"),))
)
_MONEY = (("money.json", json.dumps(json_cases.MONEY)),)
_JSON = JsonDecoder(
    HalfSchemas(
        VALUE, Json(), "s-value", (WriterSchema(1, 1, json.dumps(json_cases.wide()), "JSON", (), _MONEY),)
    )
)


def by_fastavro(n: int) -> Bare | None:
    return _AVRO.values(payload(avro_cases.wide(), {c.name: c.written[n] for c in avro_cases.AVRO.cases}))


def by_python(n: int) -> Bare | None:
    return _JSON.values(b"\0\0\0\0\1" + json.dumps(json_cases.record(n)).encode())


TOLD = {
    **{("avro", n): by_fastavro(n) for n in range(RECORDS)},
    **{("json", n): by_python(n) for n in range(RECORDS)},
}
CASES = [
    pytest.param(form.name, case, id=f"{form.name}-{case.name}")
    for form in (avro_cases.AVRO, json_cases.JSON)
    for case in form.cases
]
UNTOLD = {("avro", "union_int_long"), ("avro", "union_float_double")}
"""Of these the independent decoder says that it can't tell: fastavro's value does not name its branch."""


def right(decoded: Any, wanted: Any) -> bool:
    """Whether a decoder tells a value as PyIceberg must read it."""
    match wanted:
        case dict() if isinstance(decoded, dict):
            return decoded.keys() == wanted.keys() and all(right(decoded[k], wanted[k]) for k in wanted)
        case dict():
            pairs = [(key, each) for key, each in decoded if any(right(key, k) for k in wanted)]
            return len(pairs) == len(decoded) == len(wanted) and all(
                right(each, value) for key, each in pairs for k, value in wanted.items() if right(key, k)
            )
        case list() | tuple():
            return len(decoded) == len(wanted) and all(map(right, decoded, wanted))
        case datetime():
            since = wanted.replace(tzinfo=None) - datetime(1970, 1, 1)
            return bool(decoded == (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds)
        case date():
            return bool(decoded == wanted.toordinal() - date(1970, 1, 1).toordinal())
        case float():
            return (
                float(decoded) == wanted
                or (math.isnan(decoded) and math.isnan(wanted))
                or _as_float(decoded) == wanted
            )
        case Decimal():
            return Decimal(decoded) == wanted
        case _:
            return type(decoded) is type(wanted) and bool(decoded == wanted)


def _as_float(value: Any) -> float:
    """With the digits that a float has: these decoders leave that to whoever compares."""
    rounded: float = struct.unpack("f", struct.pack("f", value))[0]
    return rounded


@pytest.mark.parametrize(("form", "case"), CASES)
def test_each_case_has_its_right_value(form: str, case: Case) -> None:
    for n in range(RECORDS):
        record, untold = TOLD[form, n], (form, case.name) in UNTOLD
        assert record is not None
        value = record[case.name]
        assert isinstance(value, Unknown) == untold
        assert untold or right(value, case.read[n]), (value, case.read[n])


BOOL, TEXT, INT = ({"type": t} for t in ("boolean", "string", "integer"))
ONE_KEY = {"type": "object", "properties": {"x": INT}}
ONE_LIST = {"title": "many", "type": "array", "items": INT}


def named(name: str, **more: Any) -> dict[str, Any]:
    return {"title": name, **more}


@pytest.mark.parametrize(
    ("branches", "value", "taken"),
    [
        ((named("n", **INT), named("flag", **BOOL)), True, "flag"),
        ((named("flag", **BOOL), named("n", **INT)), 1, "n"),
        ((named("n", **INT), named("x", type="number")), 1.5, "x"),
        ((named("few", enum=["a"]), named("s", **TEXT)), "b", "s"),
        ((named("small", **INT, **{"connect.type": "int8"}), named("n", **INT)), 300, "n"),
        ((named("raw", **TEXT, **{"connect.type": "bytes"}), named("s", **TEXT)), "no base64!", "s"),
        ((ONE_LIST, named("words", type="array", items=TEXT)), ["a"], "words"),
        ((ONE_LIST, named("maybe", type="array", items={"oneOf": [{"type": "null"}, INT]})), [None], "maybe"),
        ((named("a", **ONE_KEY), named("b", type="object", properties={"y": INT})), {"y": 1}, "b"),
        ((named("a", **ONE_KEY), named("m", type="object", additionalProperties=TEXT)), {"x": "t"}, "m"),
    ],
)  # fmt: skip
def test_the_branch_is_taken_that_json_schema_lets_the_value_be(
    branches: tuple[Any, ...], value: Any, taken: str
) -> None:
    schema = {"type": "object", "properties": {"u": {"anyOf": list(branches)}}}
    writer = WriterSchema(1, 1, json.dumps(schema), "JSON")
    decoder = JsonDecoder(HalfSchemas(VALUE, Json(), "s-value", (writer,)))

    record = decoder.values(b"\0\0\0\0\1" + json.dumps({"u": value}).encode())

    assert record is not None
    assert [name for name, branch in record["u"].items() if branch is not None] == [taken]


def test_what_stands_beside_a_text_for_what_no_column_holds_is_told() -> None:
    node = {"type": "record", "name": "Node", "fields": [{"name": "up", "type": ["null", "Node"]}]}
    fields = [{"name": "n", "type": "int"}, {"name": "node", "type": node}, {"name": "z", "type": "string"}]
    schema = {"type": "record", "name": "R", "fields": fields}
    writer = WriterSchema(1, 1, json.dumps(schema), "AVRO")
    asked = HalfSchemas(VALUE, Avro(), "s-value", (writer,), unmappable=Unmappable.of("text"))
    record = {"n": 7, "node": {"up": {"up": {"up": None}}}, "z": "end"}

    columns = AvroDecoder(asked).values(payload(schema, record))

    assert columns is not None
    assert (columns["n"], columns["z"]) == (7, "end")
    assert isinstance(columns["node"]["up"], Unknown)
