"""JSON of listed fields: the values that docs/json.md names, and the same as the engine's own decoder."""

from __future__ import annotations

import pickle
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from frazil.formats.columns.columns import rest_field
from frazil.formats.json.given.format import FieldsDecoder
from frazil.spec.topic import TableSpec
from frazil_verify.request import Listed
from frazil_verify.table.canonical import values_of
from frazil_verify.values.bad import BadRecordError
from frazil_verify.values.listed import ListedReader

COLUMNS: dict[str, tuple[str, Any]] = {
    "flag": ("boolean", "boolean"),
    "small": ("int", "int"),
    "large": ("long", "long"),
    "rate": ("float", "float"),
    "amount": ("double", "double"),
    "price": ("decimal(9,2)", "decimal(9, 2)"),
    "name": ("string", "string"),
    "blob": ("binary", "binary"),
    "day": ("date", "date"),
    "here": ("timestamp", "timestamp"),
    "seen": ("timestamptz", "timestamptz"),
    "any": ("json", "string"),
    "tags": ("list<string>", {"type": "list", "element": "string"}),
}
"""By name the type that a spec writes, and Iceberg's."""


def reader(kind: str, **more: Any) -> ListedReader:
    return ListedReader([Listed(name="a", path=("a",), type=kind, optional=False, **more)], "", ["a"])


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("boolean", "true", True),
        ("int", "-2147483648", -(2**31)),
        ("long", "9223372036854775807", 2**63 - 1),
        ("float", "0.1", 0.10000000149011612),
        ("double", "1", 1.0),
        ("decimal(9,2)", "-1.2500", -125),
        ("decimal(9,2)", "1E+3", 100_000),
        ("decimal(9,2)", "0E-10", 0),
        ("decimal(9,2)", "9999999.99", 999_999_999),
        ("string", '"\\u00e4"', "ä"),
        ("binary", '"AAE="', b"\0\1"),
        ("date", '"1969-12-31"', -1),
        ("timestamp", '"1970-01-01T00:00:01.5"', 1_500_000),
        ("timestamptz", '"1970-01-01T01:00:00.123456789+01:00"', 123_456),
        ("json", '{"b": [1.50, null], "a": "ä"}', '{"a":"ä","b":[1.50,null]}'),
        ("list<string>", '["a", null]', ("a", None)),
        ("list<list<date>>", '[["1970-01-02"], []]', ((1,), ())),
    ],
)
def test_each_type_has_its_values(kind: str, text: str, value: Any) -> None:
    assert reader(kind)(f'{{"a": {text}}}'.encode()) == (value,)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("boolean", "1"), ("int", "2147483648"), ("long", "1.0"), ("long", '"12"'), ("float", "1e39"),
        ("double", "1e309"), ("decimal(9,2)", "1.005"), ("decimal(9,2)", "10000000"), ("string", "1"),
        ("string", '"\\ud800"'), ("binary", '"AAE"'), ("date", '"2026-02-30"'), ("date", '"2026-02-28T00"'),
        ("timestamp", '"2026-11-26T10:00:00Z"'), ("timestamp", '"2026-11-26T24:00:00"'),
        ("timestamptz", '"2026-11-26T10:00:00"'), ("timestamptz", '"2026-11-26T10:00:00+19:00"'),
        ("json", '{"a": 1, "a": 2}'), ("list<string>", '"a"'), ("long", "null"),
    ],
)  # fmt: skip
def test_a_value_that_does_not_fit_is_bad(kind: str, text: str) -> None:
    with pytest.raises(BadRecordError):
        reader(kind)(f'{{"a": {text}}}'.encode())


def test_moments_may_be_milliseconds() -> None:
    assert reader("timestamptz", millis=True)(b'{"a": 1500}') == (1_500_000,)


def test_the_rest_is_what_no_field_names_as_it_was_written() -> None:
    fields = [Listed(name="city", path=("address", "city"), type="string", optional=True)]
    read = ListedReader(fields, "rest", ["city", "rest"])

    assert read(b'{"z": 1.50, "address": {"city": "x", "n": [ 1 ]}}') == (
        "x", '{"z":1.50,"address":{"n":[ 1 ]}}',
    )  # fmt: skip
    assert read(b'{"address": {"city": "x"}}') == ("x", None)
    with pytest.raises(BadRecordError):
        read(b'{"a": 1, "a": 1}')


POOL: dict[str, tuple[str, ...]] = {
    "flag": ("true", "false", "0"),
    "small": ("1", "-0", "2147483647", "2147483648", "1.0", "1e2", '"1"'),
    "large": ("9223372036854775807", "-9223372036854775808", "9223372036854775808", "1", "1E0"),
    "rate": ("0.1", "1e38", "3.4028236e38", "1e39", "-0.0", "7", "1e-50"),
    "amount": ("0.1", "1e308", "1e309", "-0.0", "123456789012345678901234567890", "1e-400"),
    "price": ("1.5", "1.500", "1.005", "1E+3", "1e-2", "0E-10", "9999999.99", "10000000", "-0.01", "true"),
    "name": ('"ä"', '"\\u00e4\\n"', '"\\ud83d\\ude8b"', '"\\ud83d"', '""', '"a\\/b"', "5"),
    "blob": ('"AAE="', '""', '"AAE"', '"AA=="', '"A-_="', '"AAEC"', '"AA= ="'),
    "day": ('"2026-02-28"', '"2026-02-30"', '"0001-01-01"', '"0000-01-01"', '"2026-2-3"', '"10000-01-01"'),
    "here": (
        '"2026-11-26T10:00:00"', '"2026-11-26T10:00:00.123456789"', '"2026-11-26 10:00:00"',
        '"2026-11-26T23:59:60"', '"2026-11-26T10:00:00Z"', '"2026-11-26T10:00"',
    ),
    "seen": (
        '"2026-11-26T10:00:00Z"', '"2026-11-26T10:00:00.5+05:45"', '"2026-11-26T10:00:00-18:00"',
        '"2026-11-26T10:00:00+18:01"', '"0001-01-01T00:00:00+01:00"', '"2026-11-26T10:00:00z"',
        '"2026-11-26T10:00:00-00:00"', '"2026-11-26T10:00:00+01:60"',
    ),
    "any": (
        '{"b": [1.50, -0, 1e2], "a": "\\u00e4\\"\\\\ / \\/"}', '[ ]', '"x"', "1.0", '{"k": {"k": 1, "k": 2}}',
        '{"\\u00e9": "\\ud83d\\ude8b", "e": "\\t\\b\\u0001"}', '["\\ud83d"]', "true",
    ),
    "tags": ('["a", null]', "[]", '["a", 1]', '"a"', '[["a"]]'),
}  # fmt: skip
"""Values of each field, those too that do not fit."""


def drawn(chance: Random) -> str:
    """A record: mostly good values of some fields, within an object or not, and what no field names."""
    names = chance.sample([*COLUMNS], chance.randrange(1, 5))
    members = [f'"{name}": {chance.choice((POOL[name][0], *POOL[name], "null"))}' for name in names]
    members += chance.sample(
        ('"x": 1.50', '"y:": ":"', '"x": {"a": [1, 2]}', '"x": null'), chance.randrange(3)
    )
    if chance.random() < 0.3:
        deep = ('{"deep": 1, "z": 2}', '{"deep": 7}', "null", "{}", "[]", '{"z": "\\u00e4"}', '{"deep": "7"}')
        members.append(f'"within": {chance.choice(deep)}')
    if chance.random() < 0.05:
        members.append(chance.choice(members))
    chance.shuffle(members)
    return "{" + chance.choice((",", " , ", ",\n\t")).join(members) + "}" + chance.choice(("", "", " ", "x"))


@pytest.mark.parametrize("rest", [False, True], ids=["", "with the rest"])
def test_the_engine_and_the_verifier_agree_on_each_record(rest: bool) -> None:
    fields = [{"name": name, "type": kind, "optional": True} for name, (kind, _) in COLUMNS.items()]
    fields.append({"name": "deep", "type": "long", "path": "within.deep", "optional": True})
    spec = TableSpec.model_validate({"topic": "t", "value_format": "json", "fields": fields, "rest": rest})
    kinds = [kind for _, kind in COLUMNS.values()] + ["long"] + ["string"] * rest
    listed = [Listed(name=f.name, path=f.steps, type=f.type, optional=True) for f in spec.fields]
    names = [f.name for f in listed] + ["$$rest"] * rest
    read = ListedReader(listed, "$$rest" if rest else "", names)
    chance = Random(7)
    texts = [drawn(chance) for _ in range(4000)]

    decoder = pickle.loads(pickle.dumps(FieldsDecoder(spec.fields, rest_field(spec)).arrow()))
    batch = decoder.decode(pa.array([text.encode() for text in texts], pa.binary()))

    columns = [values_of(array, kind) for array, kind in zip(batch.data.flatten(), kinds, strict=True)]
    engine = [
        row if ok else None for row, ok in zip(zip(*columns, strict=True), batch.ok.to_pylist(), strict=True)
    ]
    ours = [_read(read, text) for text in texts]
    differ = [each for each in zip(texts, engine, ours, strict=True) if repr(each[1]) != repr(each[2])]
    assert differ == []
    assert 500 < ours.count(None) < 3500


def _read(read: ListedReader, text: str) -> tuple[Any, ...] | None:
    try:
        return read(text.encode())
    except BadRecordError:
        return None
