"""Places on a z-order curve, compared with bits that Python's whole numbers give one by one."""

from __future__ import annotations

import datetime as dt
import random
import struct
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from frazil.exact import values_of
from frazil.upkeep.compaction.zorder import interleaved

MOMENT = dt.datetime(2026, 1, 2, tzinfo=dt.UTC)
VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "long": (pa.int64(), [-(2**63), -5, -1, 0, 1, 7, 2**40, 2**63 - 1]),
    "int": (pa.int32(), [-(2**31), -1, 0, 3, 2**31 - 1]),
    "double": (pa.float64(), [float("-inf"), -2.5, -1e-300, 0.0, 1e-300, 3.25, float("inf")]),
    "float": (pa.float32(), [-2.5, 0.0, 1.5]),
    "boolean": (pa.bool_(), [False, True]),
    "date": (pa.date32(), [dt.date(1, 1, 1), dt.date(1969, 12, 31), dt.date(2026, 1, 1)]),
    "moment": (pa.timestamp("us", "UTC"), [MOMENT.replace(year=year) for year in (1900, 1970, 2026)]),
    "text": (pa.string(), ["", "a", "aa", "b", "z" * 8, "ü"]),
    "bytes": (pa.binary(), [b"\0\1", b"a", b"\xff" * 8]),
    "money": (pa.decimal128(12, 2), [Decimal("-3.50"), Decimal("0.00"), Decimal("0.01"), Decimal("99.00")]),
}  # fmt: skip


@pytest.mark.parametrize("kind", VALUES)
def test_a_curve_through_one_column_is_its_order_and_null_is_least(kind: str) -> None:
    type_, values = VALUES[kind]
    rows = pa.StructArray.from_arrays([pa.array([None, *values], type_)], ["c"])

    places = values_of(interleaved(rows))

    assert places == sorted(places)
    assert len(set(places[1:])) == len(values)


def test_bits_of_columns_take_turns() -> None:
    dice = random.Random(5)
    numbers = [dice.randrange(-(2**63), 2**63) for _ in range(200)]
    doubles = [dice.uniform(-1e9, 1e9) for _ in range(200)]
    texts = ["".join(dice.choices("abcß", k=dice.randrange(12))) for _ in range(200)]
    rows = pa.StructArray.from_arrays([pa.array(numbers), pa.array(texts), pa.array(doubles)], list("abc"))

    actual = values_of(interleaved(rows))

    assert actual == [by_hand(*each) for each in zip(numbers, texts, doubles, strict=True)]


def by_hand(number: int, text: str, double: float) -> bytes:
    plain = struct.unpack(">Q", struct.pack(">d", double))[0]
    ordered = plain ^ (2**64 - 1) if double < 0 else plain + 2**63
    eight = int.from_bytes(text.encode()[:8].ljust(8, b"\0"), "big")
    columns = (number + 2**63, eight, ordered)
    bits = "".join(f"{column >> place & 1}" for place in range(63, -1, -1) for column in columns)
    return int(bits, 2).to_bytes(24, "big")
