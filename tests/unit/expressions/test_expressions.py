"""Expressions mean what SQL says, by columns, and put together of several tasks; the rest is refused."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from frazil.expressions.aggregates import combined, finished, partial
from frazil.expressions.arrow import Rows
from frazil.expressions.parsing import read_expression
from frazil.expressions.spark import spark_sql

NOW = 1_795_766_400 * 10**6
TABLE = pa.table(
    {
        "i": pa.array([1, -2, None, 2**62], pa.int64()),
        "d": pa.array(
            [Decimal("1.50"), Decimal("-3.25"), None, Decimal("99999999.99")], pa.decimal128(10, 2)
        ),
        "w": pa.array([Decimal("1.5"), None, Decimal(0), Decimal(7)], pa.decimal128(38, 20)),
        "t": ["abc", "XX", None, "a%b"],
        "x": pa.array([0.5, None, -1.0, 2e300]),
        "b": pa.array([True, False, None, True]),
        "ts": pa.array([0, 10**15, None, NOW], pa.timestamp("us", "UTC")),
        "n": pa.array([0, 10**15, None, 5], pa.timestamp("us")),
        "day": pa.array([0, 19000, None, 1], pa.date32()),
        "s": pa.array([{"p": 1}, None, {"p": None}, {"p": 4}], pa.struct([("p", pa.int32())])),
        "l": pa.array([[1], [], None, [1, 2]], pa.list_(pa.int32())),
        "odd name": ["1", "2", "3", None],
        "long": ["x" * 50, "=" * 41, "x" * 50 + "y", "x" * 50],
    }
)


def rows(of: pa.Table = TABLE) -> Rows:
    return Rows({name: of[name].combine_chunks() for name in of.column_names}, len(of), NOW)


def by_columns(text: str) -> list[Any]:
    return rows().flags(read_expression(text).root).to_pylist()


def at_our_time(text: str) -> str:
    """The same for DuckDB, whose own clock goes on."""
    return text.replace("now()", f"make_timestamptz({NOW})")


def by_duckdb(text: str) -> list[Any]:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("given", TABLE)
        return [row[0] for row in connection.execute(f"SELECT ({at_our_time(text)}) FROM given").fetchall()]


@pytest.mark.parametrize(
    "text",
    [
        "i > 0", "i >= d", "d * 2 >= 3.0", "d / i > 0", "not (i > 0 and d > 0)", "i in (1, 2, null)",
        "i not in (1, 2)", "i between -2 and 1", "t like 'a%'", "t ilike 'A_C'", "t is null",
        "b is true", "b is not true", "b or i > 5", "coalesce(d, 0) >= 0", "coalesce(i, d) > 1", "abs(i) > 1",
        "case when i > 0 then d else i end > 0", "case t when 'abc' then 1 else 2 end = 1", "-i < 0",
        "length(t) = 3", "lower(t) = 'xx'", "trim(t) = 'abc'", "ts > '1970-01-01T00:00:00Z'",
        "ts <= timestamp '2001-09-09 01:46:40'", "ts > now() - interval 1 hour", "ts - n > interval 1 day",
        "day > date '1970-01-01'", "day < ts", "n = ts", "day + interval 1 day > day", "s.p > 1", "x > 1e10",
        "t <> 'abc' or t is null", "x is null = false", "true", "null", "i = null", "i > 0 or null",
        "\"odd name\" = '2'", "d > 0.1", "i < 9223372036854775808",
    ],
)  # fmt: skip
def test_columns_say_what_another_engine_says(text: str) -> None:
    assert by_columns(text) == by_duckdb(text)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("i * i > 5", [False, False, None, True]),  # other engines end the query: it has more than 64 bits
        ("i + i < i", [False, True, None, False]),
        ("d * d >= 2.25", [True, True, None, True]),
        ("w < i", [False, None, None, True]),  # the digits of both are more than 38
        ("i / 0 is null", [True] * 4),
        ("size(l) > 0", [True, False, None, True]),
        ("t rlike '^[a-z]+$'", [True, False, None, False]),
    ],
)  # fmt: skip
def test_numbers_keep_all_their_digits_and_nothing_fails(text: str, wanted: list[Any]) -> None:
    assert by_columns(text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "count(*) = 4", "count(distinct i) = 3", "count(distinct t) = count(t)", "count(distinct d) = 3",
        "count(distinct long) = 3", "count(distinct x) = 3", "count(distinct day) = 3",
        "count(distinct b) = 2",
        "count(distinct ts) < 3", "count(i) = 3", "sum(i) > 2", "sum(d) < 0", "avg(x) > 0", "sum(w) = 8.5",
        "min(ts) < max(ts)", "max(ts) <= now() + interval 30 day", "max(t) = 'abc'", "min(d) = -3.25",
        "avg(d) > 5", "max(case when b then i end) > 3", "max(day) > date '2000-01-01'",
        "count_if(t is null) <= 0.25 * count(*)", "sum(i) > 0 and min(i) > 0",
    ],
)  # fmt: skip
def test_what_tasks_saw_together_is_what_one_sees(text: str) -> None:
    expression = read_expression(text)
    parts = [TABLE.slice(0, 1), TABLE.slice(1, 2), TABLE.slice(3), TABLE.slice(0, 2), TABLE.slice(0, 0)]
    whole = pa.concat_tables(parts)
    states = [partial(expression.aggregates, rows(part)) for part in parts]
    values = finished(expression.aggregates, combined([combined(states[:2]), *states[2:]]))
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("given", whole)
        wanted = connection.execute(f"SELECT ({at_our_time(text)}) FROM given").fetchall()[0][0]
    assert Rows(values, 1, NOW).flags(expression.root).to_pylist() == [wanted]


@pytest.mark.parametrize(
    "text",
    [
        "drop table x", "select 1", "(select 1) = 1", "x in (select 1)", "exists(select 1)", "a; b", "",
        "i >", "read_csv('x') = 1", "getenv('HOME') = 'x'", "now(3) > ts", "x[1] = 1",
        "cast(i as text) = 'a'",
        "i > interval 1 month", "i + max(i) > 2", "max(max(i)) > 1", "count(distinct a, b) = 1",
        "sum(i) over () > 1", "sum(i) filter (where b) > 1", "trim(both 'x' from t) = 'a'", "'a", "? = 1",
        ":a = 1", "@a = 1", "t collate x = 'a'", "i = " + "1" * 39, "(" * 3000 + "i" + ")" * 3000,
        "i = 1 or " * 2000 + "b",
    ],
)  # fmt: skip
def test_what_is_no_expression_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w") as refusal:
        read_expression(text)
    assert len(str(refusal.value)) < 1000


@pytest.mark.parametrize("sign", ["and", "or", "+"])
def test_an_expression_that_a_program_wrote_is_computed_or_refused(sign: str) -> None:
    part = "i" if sign == "+" else "i > 0"
    many = f" {sign} ".join([part] * 900)
    if sign == "+":
        with pytest.raises(ValueError, match="deep"):
            read_expression(f"{many} > 0")
    else:
        assert by_columns(many) == by_columns("i > 0")


def test_spark_gets_names_and_texts_as_data() -> None:
    share = read_expression("count_if(s.p > 1.5) / count(*) < 0.5")
    assert spark_sql(share) == ("(try_divide(double(count_if((`s`.`p` > 1.5BD))), double(count(1))) < 0.5BD)")
    assert spark_sql(read_expression("\"a`b\" = 'it''s \\ x'")) == "(`a``b` = 'it\\'s \\\\ x')"
    assert spark_sql(read_expression("ts < now() + interval 90 minute")) == (
        "(`ts` < (current_timestamp() + make_dt_interval(0, 0, 0, 5400.000000BD)))"
    )
