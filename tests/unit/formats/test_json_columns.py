"""JSON by columns: which texts become rows, and which."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from frazil.exact import rows_of
from frazil.formats.columns.unmappable import Unmappable
from frazil.formats.json.format import Json, JsonDecoder
from frazil.formats.protocol import VALUE, HalfSchemas, WriterSchema
from kit.drawn.damage import FRAME, damaged
from kit.formats import json_oracle
from kit.formats.formats import plain, same
from kit.formats.json_cases import DEFINED, JSON, LEFT_OUT, MONEY, obj
from kit.formats.json_texts import BAD, GOOD, SCHEMA


def version(schema_id: int, schema: Any, *dependencies: tuple[str, Any]) -> WriterSchema:
    texts = tuple((name, json.dumps(text)) for name, text in dependencies)
    return WriterSchema(schema_id, schema_id, json.dumps(schema), "JSON", dependencies=texts)


def decoder(*versions: WriterSchema, **options: bool) -> JsonDecoder:
    return JsonDecoder(HalfSchemas(VALUE, Json(), "s-value", versions, **options))


def decoded(
    by: JsonDecoder,
    raws: list[bytes | None],
    read: Callable[[pa.Table], list[dict[str, Any]]] = plain,
) -> list[dict[str, Any] | None]:
    """Per record its columns; None where it is bad."""
    batch = by.arrow().decode(pa.array(raws, pa.binary()))
    batch.data.validate(full=True)
    good = iter(read(pa.Table.from_struct_array(batch.data.filter(batch.ok))))
    return [next(good) if ok else None for ok in batch.ok.to_numpy(False)]


def framed(schema_id: int, text: str | bytes) -> bytes:
    return b"\0" + schema_id.to_bytes(4, "big") + (text if isinstance(text, bytes) else text.encode())


def flat(row: Any, path: str = "") -> dict[str, str]:
    """All that is set, by path, as text."""
    if not isinstance(row, dict):
        return {path.rstrip("."): str(row)}
    parts = (flat(each, f"{path}{name}.") for name, each in row.items() if each is not None)
    return {k: v for part in parts for k, v in part.items()}


def test_texts_become_rows_or_are_bad_whatever_else_stands_in_the_batch() -> None:
    rows = decoded(decoder(version(1, SCHEMA)), [framed(1, text) for text, _ in (*GOOD, *BAD)])

    assert [text for (text, _), row in zip(GOOD, rows, strict=False) if row is None] == []
    assert [text for (text, _), row in zip(BAD, rows[len(GOOD) :], strict=True) if row is not None] == []
    for (_, expected), row in zip(GOOD, rows, strict=False):
        assert expected.items() <= flat(row).items()


@pytest.mark.parametrize("case", JSON.cases, ids=lambda case: case.name)
def test_every_kind_of_field_becomes_its_column(case: Any) -> None:
    defined = {"$defs": DEFINED["$defs"], "definitions": DEFINED["definitions"]}
    schema = {**obj(*() if case.optional else (case.name,), **{case.name: case.schema}), **defined}
    by = decoder(version(1, schema, ("money.json", MONEY)))
    records = [{} if value is LEFT_OUT else {case.name: value} for value in case.written]

    rows = decoded(by, [framed(1, json.dumps(record)) for record in records])

    assert all(row and same(row[case.name], value) for row, value in zip(rows, case.read, strict=True))


def test_damaged_records_are_bad_or_read_as_another_decoder_reads_them() -> None:
    """What Frazil refuses and the other one reads is so by a rule that the other one lacks."""
    by = decoder(version(1, json_oracle.SCHEMA))
    payloads = damaged([json_oracle.encode(n, 1) for n in range(50)], 10_000, seed=20261126)

    rows = decoded(by, payloads, numbers)

    for payload, row in zip(payloads, rows, strict=True):
        expected = json_oracle.decode(payload[FRAME:]) if payload[:FRAME] == framed(1, "") else None
        if row is None and expected is not None:
            assert by.explain(payload)[0] in json_oracle.STRICTER
        else:
            assert same(row, expected), payload


def numbers(table: pa.Table) -> list[dict[str, Any]]:
    """Rows with moments as numbers, as the other decoder has them."""
    return [{**row, **{name: dict(row[name]) for name in ("counts", "flags")}} for row in rows_of(table)]


def test_each_record_is_read_with_the_schema_it_was_written_with() -> None:
    """Integers widen, what a version lacks is null, and each is checked by its own rules."""
    small = {"type": "integer", "connect.type": "int8"}
    old = {"type": "object", "properties": {"n": small, "gone": {"type": "string"}}, "required": ["n"]}
    new = {"type": "object", "properties": {"n": {"type": "integer"}, "s": {"type": "string"}}}
    by = decoder(version(1, old), version(2, new))
    old_texts, new_texts = ('{"n":1,"s":5}', '{"n":128}', "{}"), ('{"n":128,"s":"a"}', "{}")
    raws = [*(framed(1, text) for text in old_texts), *(framed(2, text) for text in new_texts)]

    batch = by.arrow().decode(pa.array([*raws, framed(3, "{}"), None, b"\1"], pa.binary()))

    assert batch.ok.to_pylist() == [True, False, False, True, True, False, False, False]
    writers = [None if place is None else by.writers[place] for place in batch.writer.to_pylist()]
    assert writers == [1, 1, 1, 2, 2, None, None, None]
    assert batch.data.field("n").filter(batch.ok).to_pylist() == [1, 128, None]


def test_every_rule_counts_where_validation_is_strict() -> None:
    """Also those of another subject."""
    money = {"type": "object", "properties": {"cents": {"type": "integer", "minimum": 0}}}
    schema = {"type": "object", "properties": {"m": {"$ref": "money.json"}}, "additionalProperties": False}
    by = decoder(version(1, schema, ("money.json", money)), strict=True)

    rows = decoded(by, [framed(1, text) for text in ('{"m":{"cents":1}}', '{"m":{"cents":-1}}', '{"x":1}')])

    assert rows == [{"m": {"cents": 1}}, None, None]


@pytest.mark.parametrize("part", ['"s":%s', '"more":%s', '"more":[{"deep":%s}]'])
@pytest.mark.parametrize(
    "value",
    [
        b'"\xff"',
        b'"\xed\xa0\xbd"',
        b'"\\ud83d"',
        b'"\\ude8b"',
        b'"\\ud83d\\u0041"',
        b'"\\q"',
        b'"\t"',
        b"01",
        b"tru",
    ],
)
def test_what_is_no_text_is_bad_also_where_no_column_looks(part: str, value: bytes) -> None:
    payload = b'{"i":1,' + part.encode() % value + b"}"

    assert decoded(decoder(version(1, SCHEMA)), [framed(1, payload), framed(1, '{"i":1}')])[0] is None


def test_names_that_json_has_to_escape_are_columns_like_others() -> None:
    names, text = ("back\\slash", 'quo"te'), {"type": "string"}
    own = obj('quo"te', **dict.fromkeys(names, text))
    optional = {"oneOf": [{"type": "null"}, own]}
    by = decoder(version(1, obj(inner=optional, many={"type": "array", "items": own})))
    record = dict.fromkeys(names, "12")
    texts = [
        {"inner": record, "many": [record]},
        {"inner": {'quo"te': "1"}, "many": []},
        {"inner": {**record, "back\\slash": 12}},
        {"inner": {"back\\slash": "12"}},
        {"inner": {'quo"te': None}},
    ]

    rows = decoded(by, [framed(1, json.dumps(text)) for text in texts])

    assert rows == [
        {"inner": record, "many": [record]},
        {"inner": {**dict.fromkeys(names), 'quo"te': "1"}, "many": []},
        None,
        None,
        None,
    ]


def test_a_value_that_is_no_object_is_one_column() -> None:
    for kind, texts in (("string", ('"a"', "null", "5")), ("number", ("1.5", '"1.5"', "null"))):
        rows = decoded(decoder(version(1, {"type": kind})), [framed(1, text) for text in texts])

        assert rows == [{"value": json.loads(texts[0])}, None, None]


def test_a_map_at_the_root_is_one_column_and_bad_where_a_key_stands_twice() -> None:
    by = decoder(version(1, {"type": "object", "additionalProperties": {"type": "string"}}))
    texts = (
        '{"a":"x:y","b":""}',
        '{"a":"1","a":"2"}',
        '{"a" :"1","a":"2"}',
        '{"a":":","a":"2"}',
        "null",
        "[]",
    )

    rows = decoded(by, [framed(1, text) for text in texts])

    assert rows == [{"value": {"a": "x:y", "b": ""}}, *[None] * 5]


def test_of_a_null_column_the_values_of_others_keep_their_places() -> None:
    inner = obj("n", n={"type": "integer"}, tags={"type": "array", "items": {"type": "string"}})
    by = decoder(version(1, obj(o=inner, many={"type": "array", "items": inner})))
    records = [
        {"many": [{"n": 1, "tags": ["a", "b"]}, {"n": 2}]},
        {"o": {"n": 3, "tags": ["c"]}},
        {},
        {"o": {"n": 4}, "many": [{"n": 5, "tags": []}]},
    ]

    rows = decoded(by, [framed(1, json.dumps(record)) for record in records])

    assert rows == [
        {"o": None, "many": [{"n": 1, "tags": ["a", "b"]}, {"n": 2, "tags": None}]},
        {"o": {"n": 3, "tags": ["c"]}, "many": None},
        {"o": None, "many": None},
        {"o": {"n": 4, "tags": None}, "many": [{"n": 5, "tags": []}]},
    ]


def test_bare_texts_are_read_by_the_newest_schema() -> None:
    newest = obj(cents={"type": "number"})
    by = decoder(version(1, MONEY), version(2, newest), framed=False)

    assert decoded(by, [b'{"cents":0.5}', framed(2, '{"cents":1}')]) == [{"cents": 0.5}, None]


@pytest.mark.parametrize("schema_id", [1, 34])
def test_an_empty_object_is_a_record_where_nothing_is_required(schema_id: int) -> None:
    """Also where a byte of the header is a quotation mark, as 34 is."""
    by = decoder(version(schema_id, obj(n={"type": "integer"})))

    good, bad = ("{}", " { }\n", '{"x":{}}'), ("{", "}", "{}}", "{}{}", '{}"}', "{1}", "[]", "[ ]}", " ")
    rows = decoded(by, [framed(schema_id, text) for text in (*good, *bad)])

    assert rows == [{"n": None}] * len(good) + [None] * len(bad)


UNION = {
    "oneOf": [
        {"title": "a", "type": "object", "properties": {"kind": {"const": "a"}, "data": {"type": "object"}}},
        {"title": "b", "type": "object", "properties": {"kind": {"const": "b"}, "data": {"type": "string"}}},
    ]
}
TEXTS = [
    '{"kind":"a","data":{"y":1.0,"x":[]}}',
    '{"kind":"b","data":"{}"}',
    '{"kind":"c"}',
    "5",
    "[{}]",
    '{"k": 1.0}',
]
CANONICAL = ['{"data":{"x":[],"y":1.0},"kind":"a"}', '{"data":"{}","kind":"b"}', '{"kind":"c"}', "5"]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (
            UNION,
            [
                {"value": {"a": {"kind": "a", "data": '{"x":[],"y":1.0}'}, "b": None}},
                {"value": {"a": None, "b": {"kind": "b", "data": "{}"}}},
                *[None] * 3,
                {"value": {"a": {"kind": None, "data": None}, "b": None}},
            ],
        ),
        ({}, [{"value": text} for text in [*CANONICAL, "[{}]", '{"k":1.0}']]),
        ({"type": "array", "items": {"type": "object"}}, [*[None] * 4, {"value": ["{}"]}, None]),
        (
            {"type": "object", "additionalProperties": {"type": ["object", "number"]}},
            [
                {"value": {"kind": '"a"', "data": '{"x":[],"y":1.0}'}},
                {"value": {"kind": '"b"', "data": '"{}"'}},
                {"value": {"kind": '"c"'}},
                *[None] * 2,
                {"value": {"k": "1.0"}},
            ],
        ),
    ],
)
def test_a_record_may_be_text_or_have_it_in_a_branch(schema: Any, expected: list[Any]) -> None:
    schemas = HalfSchemas(VALUE, Json(), "s", (version(1, schema),), unmappable=Unmappable.of("text"))

    assert decoded(JsonDecoder(schemas), [framed(1, text) for text in TEXTS]) == expected
