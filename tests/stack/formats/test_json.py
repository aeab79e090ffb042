"""JSON in Spark: which texts become rows, by schema, without a topic between."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import Observation, SparkSession
from pyspark.sql.functions import expr

from frazil.connections import Connections
from frazil.formats.json.format import Json, JsonDecoder
from frazil.formats.protocol import KEY, VALUE, Half, HalfSchemas, WriterSchema
from frazil.formats.unmappable import Unmappable
from kit.json_texts import BAD, GOOD, SCHEMA

MONEY = {"type": "object", "properties": {"cents": {"type": "integer", "minimum": 0}}, "required": ["cents"]}


@pytest.fixture
def spark(connections: Connections) -> SparkSession:
    return connections.spark


def version(schema_id: int, schema: Any, *dependencies: tuple[str, Any]) -> WriterSchema:
    texts = tuple((name, json.dumps(text)) for name, text in dependencies)
    return WriterSchema(schema_id, schema_id, json.dumps(schema), "JSON", dependencies=texts)


def json_decoder(*versions: WriterSchema, half: Half = VALUE, **options: bool) -> JsonDecoder:
    return JsonDecoder(HalfSchemas(half, Json(), f"s-{half.word}", versions, **options))


def decoded(spark: SparkSession, decoder: JsonDecoder, raws: list[bytes], half: Half = VALUE) -> list[Any]:
    """Per record what its half became: a dict of text, or None where it is bad."""
    frame = spark.createDataFrame(
        [(n, bytearray(raw)) for n, raw in enumerate(raws)], f"n int, {half.raw} binary"
    )
    rows = decoder.decode(frame, half).selectExpr("n", half.ok, f"to_json({half.data}) AS data").collect()
    return [
        json.loads(r.data, parse_float=Decimal) if r[half.ok] else None
        for r in sorted(rows, key=lambda r: r.n)
    ]


def framed(schema_id: int, text: str) -> bytes:
    return b"\0" + schema_id.to_bytes(4, "big") + text.encode()


def test_texts_become_rows_or_are_bad_whatever_else_stands_in_the_batch(spark: SparkSession) -> None:
    decoder = json_decoder(version(1, SCHEMA))

    rows = decoded(spark, decoder, [framed(1, text) for text, _ in (*GOOD, *BAD)])

    assert [text for (text, _), row in zip(GOOD, rows, strict=False) if row is None] == []
    assert [text for (text, _), row in zip(BAD, rows[len(GOOD) :], strict=True) if row is not None] == []
    for (_, expected), row in zip(GOOD, rows, strict=False):
        assert expected.items() <= flat(row).items()


def test_each_record_is_read_with_the_schema_it_was_written_with(spark: SparkSession) -> None:
    """Integers widen, what a version lacks is null, and each is checked by its own rules."""
    small = {"type": "integer", "connect.type": "int8"}
    old = {"type": "object", "properties": {"n": small, "gone": {"type": "string"}}, "required": ["n"]}
    new = {"type": "object", "properties": {"n": {"type": "integer"}, "s": {"type": "string"}}}
    decoder = json_decoder(version(1, old), version(2, new))

    rows = decoded(
        spark,
        decoder,
        [
            framed(1, '{"n":1,"s":5}'),
            framed(1, '{"n":128}'),
            framed(1, "{}"),
            framed(2, '{"n":128,"s":"a"}'),
            framed(2, "{}"),
            framed(3, "{}"),
        ],
    )

    assert rows == [{"n": 1}, None, None, {"n": 128, "s": "a"}, {}, None]


def test_every_rule_counts_where_validation_is_strict(spark: SparkSession) -> None:
    """Also those of another subject."""
    schema = {"type": "object", "properties": {"m": {"$ref": "money.json"}}, "additionalProperties": False}
    decoder = json_decoder(version(1, schema, ("money.json", MONEY)), strict=True)

    texts = ('{"m":{"cents":1}}', '{"m":{"cents":-1}}', '{"x":1}')
    rows = decoded(spark, decoder, [framed(1, text) for text in texts])

    assert rows == [{"m": {"cents": 1}}, None, None]


def test_bare_texts_are_read_by_the_newest_schema(spark: SparkSession) -> None:
    versions = [version(1, MONEY), version(2, {**MONEY, "properties": {"cents": {"type": "number"}}})]
    decoder = json_decoder(*versions, framed=False)

    assert decoded(spark, decoder, [b'{"cents":0.5}', framed(2, '{"cents":1}')]) == [
        {"cents": Decimal("0.5")},
        None,
    ]


def test_a_record_is_parsed_once_and_again_only_for_doubtful_texts(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    """Spark computes an expression again for whoever names it, unless it has a column of its own."""
    schema = {"type": "object", "properties": {"s": {"type": "string"}, "t": {"type": "string"}}}
    decoder = json_decoder(version(1, schema), version(2, schema))
    records = spark.range(1).selectExpr(f"CAST(CAST(id AS string) AS binary) AS {VALUE.raw}")
    frame = decoder.decode(records, VALUE)
    counted = frame.observe(Observation("x"), expr(f"count_if({VALUE.ok})").alias("n")).where(VALUE.ok)

    counted.selectExpr(f"{VALUE.data}.*").explain()

    assert capsys.readouterr().out.count("from_json(") == 2 * len(decoder.writers)


@pytest.mark.parametrize("schema_id", [1, 34])
def test_an_empty_object_is_a_record_where_nothing_is_required(spark: SparkSession, schema_id: int) -> None:
    """Also where a byte of the header is a quotation mark, as 34 is."""
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    decoder = json_decoder(version(schema_id, schema))

    good, bad = ("{}", " { }\n", '{"x":{}}'), ("{", "}", "{}}", "{}{}", '{}"}', "{1}", "[]", "[ ]}", " ")
    rows = decoded(spark, decoder, [framed(schema_id, text) for text in (*good, *bad)])

    assert rows == [{}] * len(good) + [None] * len(bad)


def test_a_key_that_is_no_object_is_one_column(spark: SparkSession) -> None:
    decoder = json_decoder(version(1, {"type": "string"}), half=KEY)

    rows = decoded(spark, decoder, [framed(1, t) for t in ('"a"', "null", "5", '"a","x":[1', '"a"]}')], KEY)

    assert rows == [{"key": "a"}, None, None, None, None]


def flat(row: dict[str, Any], path: str = "") -> dict[str, str]:
    """All that is set, by path, as text."""
    found: dict[str, str] = {}
    for name, value in row.items():
        found |= flat(value, f"{path}{name}.") if isinstance(value, dict) else {f"{path}{name}": str(value)}
    return found


def test_a_name_may_hold_any_sign_but_white_space_and_a_backtick(spark: SparkSession) -> None:
    """Also where values are parsed again: texts that look like numbers, and branches of a union."""
    names = ("it's", "back\\slash", 'quo"te', "a.b", "c,d:e", "<f>", "--g", "/*h*/", "{i}", "'||j||'", "Ž")
    plain = obj({name: {"type": "string"} for name in (*names, "${env:PATH}", "ends\\")})
    either = {"oneOf": [{"type": "integer"}, obj({"it's": {"type": "string"}, "\\": {"type": "string"}})]}
    decoder = json_decoder(version(1, obj({"p'": plain, "e'": either})))
    record = {"p'": dict.fromkeys(plain["properties"], "12"), "e'": {"it's": "12", "\\": "x"}}
    bad = ({"p'": {"it's": 12}}, {"e'": {"it's": 12}})

    rows = decoded(spark, decoder, [framed(1, json.dumps(r)) for r in (record, *bad)])

    assert rows == [{**record, "e'": {"connect_union_field_1": record["e'"]}}, None, None]


def obj(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


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


@pytest.mark.parametrize(
    "schema",
    [
        UNION,
        {},
        {"oneOf": [{"type": "object"}, {"type": "string"}]},
        {"type": "array", "items": {"type": "object"}},
        {"type": "object", "additionalProperties": {"type": ["object", "number"]}},
    ],
)
def test_a_record_that_is_text_or_has_it_in_a_branch_is_read_alike_by_both_ways(
    spark: SparkSession, schema: Any
) -> None:
    schemas = HalfSchemas(VALUE, Json(), "s", (version(1, schema),), unmappable=Unmappable.of("text"))
    decoder, raws = JsonDecoder(schemas), [framed(1, text) for text in TEXTS]
    found = decoder.arrow().decode(pa.array(raws, pa.binary()))
    rows = found.data.to_pylist()
    by_columns = [row if ok else None for row, ok in zip(rows, found.ok.to_pylist(), strict=True)]

    by_spark = decoded(spark, decoder, raws)

    assert any(by_columns)
    assert list(map(without_nulls, by_spark)) == list(map(without_nulls, by_columns))


def without_nulls(value: Any) -> Any:
    """Spark's JSON leaves nulls out; maps of Arrow are pairs."""
    if isinstance(value, list) and value and isinstance(value[0], tuple):
        value = dict(value)
    if isinstance(value, dict):
        return {name: without_nulls(each) for name, each in value.items() if each is not None}
    return value
