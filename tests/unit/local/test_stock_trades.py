"""Stock trades: the values that Datagen's quickstart gives, in bytes that any Avro reader takes."""

from __future__ import annotations

import io
import json
from itertools import islice
from typing import Any

import fastavro
import pytest

from frazil_local.generators.chance import Chance, Origin
from frazil_local.generators.datagen import STOCK_TRADES, trades

COUNT = 60_000

Records = list[Any]
Values = list[dict[str, Any]]


def decode(value: bytes | None) -> dict[str, Any]:
    assert value is not None
    rest = io.BytesIO(value[5:])
    record: Any = fastavro.schemaless_reader(
        rest, fastavro.parse_schema(json.loads(STOCK_TRADES.value.text)), None
    )
    assert rest.read() == b"", "bytes are left over"
    return dict(record)


@pytest.fixture(scope="module")
def records() -> Records:
    return list(islice(trades(Chance(7), 513, Origin(2, 1000)), COUNT))


@pytest.fixture(scope="module")
def values(records: Records) -> Values:
    return [decode(value) for _, value, *_ in records]


def test_every_value_stands_behind_its_schema_id(records: Records) -> None:
    assert {value[:5] for _, value, *_ in records} == {b"\x00\x00\x00\x02\x01"}


def test_bytes_are_those_of_an_avro_writer(records: Records, values: Values) -> None:
    schema = fastavro.parse_schema(json.loads(STOCK_TRADES.value.text))
    for (_, value, *_), fields in zip(records[:2000], values, strict=False):
        stream = io.BytesIO()
        fastavro.schemaless_writer(stream, schema, fields)
        assert value[5:] == stream.getvalue()


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("side", {"BUY", "SELL"}),
        ("symbol", {"ZBZX", "ZJZZT", "ZTEST", "ZVV", "ZVZZT", "ZWZZT", "ZXZZT"}),
        ("account", {"ABC123", "LMN456", "XYZ789"}),
        ("userid", {f"User_{n}" for n in range(1, 10)}),
        ("price", set(range(5, 1000))),
    ],
)
def test_every_value_of_a_field_comes_up_and_no_other(values: Values, field: str, expected: set[Any]) -> None:
    assert {v[field] for v in values} == expected


def test_quantities_lie_between_1_and_4999(values: Values) -> None:
    quantities = {v["quantity"] for v in values}
    assert (min(quantities), max(quantities)) == (1, 4999)


def test_the_key_is_the_symbol_without_a_schema(records: Records, values: Values) -> None:
    assert [key for key, *_ in records] == [v["symbol"].encode() for v in values]


def test_headers_count_on_as_decimal_text(records: Records) -> None:
    assert records[0][2] == [
        ("task.generation", b"2"),
        ("task.id", b"0"),
        ("current.iteration", b"1000"),
    ]
    assert [r[2][2][1] for r in records] == [b"%d" % n for n in range(1000, 1000 + COUNT)]


def test_the_same_seed_gives_the_same_trades() -> None:
    one, two = (list(islice(trades(Chance(7), 1, Origin()), 1000)) for _ in range(2))
    other = list(islice(trades(Chance(8), 1, Origin()), 1000))
    assert one == two
    assert one != other
