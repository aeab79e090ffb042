"""What a `where` says of a record, by the verifier, beside what DuckDB says of the same values."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from frazil_verify.filters.computing import computed
from frazil_verify.filters.reading import columns_in, tree_of
from frazil_verify.filters.wanted import Wanted
from frazil_verify.findings import UnverifiableError
from frazil_verify.table.metadata import Column
from frazil_verify.values.bad import NotComparedError

PLACE = {"type": "struct", "fields": [
    {"id": 1, "name": "p", "type": "int", "required": False},
    {"id": 2, "name": "q", "type": "string", "required": False},
]}  # fmt: skip
TYPES: dict[str, Any] = {
    "i": "long", "d": "decimal(10, 2)", "t": "string", "x": "double", "b": "boolean", "ts": "timestamptz",
    "n": "timestamp", "day": "date", "s": PLACE, "l": {"type": "list", "element": "int"},
    "odd name": "string", "f": "float", "raw": "binary",
}  # fmt: skip
ROWS: list[dict[str, Any]] = [
    {"i": 1, "d": 150, "t": "abc", "x": 0.5, "b": True, "ts": 0, "n": 0, "day": 0, "s": (1, "u"), "l": (1,),
     "odd name": "1", "f": 0.5, "raw": b"ab"},
    {"i": -2, "d": -325, "t": "XX", "x": None, "b": False, "ts": 10**15, "n": 10**15, "day": 19000, "s": None,
     "l": (), "odd name": "2", "f": -1.0, "raw": b""},
    dict.fromkeys(TYPES),
    {"i": 2**62, "d": 9999999999, "t": "a%b", "x": 2e300, "b": True, "ts": 10**15 + 1, "n": 5, "day": 1,
     "s": (None, "w"), "l": (1, 2), "odd name": None, "f": 2.0, "raw": b"abc"},
]  # fmt: skip
ARROW = {
    "i": pa.int64(), "d": pa.decimal128(10, 2), "t": pa.string(), "x": pa.float64(), "b": pa.bool_(),
    "ts": pa.timestamp("us", "UTC"), "n": pa.timestamp("us"), "day": pa.date32(),
    "s": pa.struct([("p", pa.int32()), ("q", pa.string())]), "l": pa.list_(pa.int32()),
    "odd name": pa.string(), "f": pa.float32(), "raw": pa.binary(),
}  # fmt: skip


def no_field(path: Sequence[str]) -> Column:
    raise NotComparedError(".".join(path))


def in_arrow(name: str, value: Any) -> Any:
    if name == "d" and value is not None:
        return Decimal(value).scaleb(-2)
    return dict(zip("pq", value, strict=True)) if name == "s" and value is not None else value


def by_duckdb(text: str) -> list[Any]:
    given = pa.table({  # noqa: F841 - it is asked by its name
        name: pa.array([in_arrow(name, row[name]) for row in ROWS], kind) for name, kind in ARROW.items()
    })  # fmt: skip
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        return [row[0] for row in connection.execute(f"SELECT ({text}) FROM given").fetchall()]


def judged(text: str) -> list[Any]:
    part = computed(tree_of(text), TYPES)
    return [part.take(row) for row in ROWS]


@pytest.mark.parametrize(
    "text",
    [
        "i > 0", "i >= d", "d * 2 >= 3.0", "d / i > 0", "not (i > 0 and d > 0)", "i in (1, 2, null)",
        "i not in (1, 2)", "i between -2 and 1", "i not between -2 and 1", "t like 'a%'", "t ilike 'A_C'",
        "t not like '%b'", "t is null", "t is not null", "b is true", "b is not true", "b is false",
        "b or i > 5", "coalesce(d, 0) >= 0", "coalesce(i, d) > 1", "coalesce(t, '') <> ''", "abs(i) > 1",
        "case when i > 0 then d else i end > 0", "case t when 'abc' then 1 else 2 end = 1", "-i < 0",
        "case when i > 0 then true end", "length(t) = 3", "lower(t) = 'xx'", "upper(t) = 'ABC'",
        "trim(t) = 'abc'", "ts > '1970-01-01T00:00:00Z'", "ts >= '2001-09-09T03:46:40+02:00'",
        "ts <= timestamp '2001-09-09 01:46:40'", "ts - n > interval 1 day", "day > date '1970-01-01'",
        "day = '1970-01-02'", "day < ts", "n = ts", "day + interval 1 day > day", "s.p > 1", "s.q = 'u'",
        "x > 1e10", "x > 0.1", "x = 0.5", "t <> 'abc' or t is null", "x is null = false", "true", "null",
        "i = null", "i > 0 or null", "\"odd name\" = '2'", "\"odd name\" = '2' and not b", "d > 0.1",
        "i < 9223372036854775808", "f > 0.25", "f = x", "isnan(x)", "t = 'it''s'", "b = true", "d = 1.50",
        "i + 1 > 1 and i - 1 < 5 or t = 'a%b'", "1 < d * 3", "- - i > 0",
        "ts between n and n + interval 2 hour",
    ],
)  # fmt: skip
def test_it_says_of_records_what_another_engine_says_of_rows(text: str) -> None:
    assert judged(text) == by_duckdb(text)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("i * i > 5", [False, False, None, True]),  # other engines end the query: it has more than 64 bits
        ("i / 0 is null", [True] * 4),
        ("size(l) > 0", [True, False, None, True]),
        ("length(raw) = 2", [True, False, None, False]),
        ("t rlike '^[a-z]+$'", [True, False, None, False]),
    ],
)
def test_numbers_keep_all_their_digits_and_nothing_fails(text: str, wanted: list[Any]) -> None:
    assert judged(text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "ts > now()", "i > count(*)", "nobody = 1", "s.nobody = 1",
        "t.p = 1", "t > 5", "l = l", "i >",
        "i ; 1", "substring(t, 1) = 'a'", "t like 'a\\%'", "ts > 'soon'", "i", "s = s",
        "i > interval 1 month", "(i = 1", "t like t", "cast(i as text) = '1'", "$$offset > 1",
        "ts + ts > ts", "i = 'one'",
    ],
)  # fmt: skip
def test_what_it_does_not_know_is_named_and_not_guessed(text: str) -> None:
    columns = [Column(n, name, kind, False) for n, (name, kind) in enumerate(TYPES.items())]

    with pytest.raises(UnverifiableError, match="its where"):
        Wanted.of(text, columns, (), no_field, no_field)


def test_a_float_is_not_judged_where_engines_differ() -> None:
    row = {"f": 0.10000000149011612}
    take = computed(tree_of("f > 0.1"), TYPES).take

    assert take({"f": 0.5}) is True
    with pytest.raises(NotComparedError):
        take(row)


def test_it_knows_which_columns_a_text_names() -> None:
    assert {*columns_in(tree_of("a.b > 1 and (\"c d\" in ('x') or not e)"))} == {("a", "b"), ("c d",), ("e",)}
