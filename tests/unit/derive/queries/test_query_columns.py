from __future__ import annotations

import pytest

from frazil.derive.queries.columns import lineage, typed
from frazil.derive.queries.query import parse_query
from frazil.errors import SpecError
from kit.derived.query_cases import PARAMETERS, RIGHT, TABLES, WRONG


def columns(text: str) -> dict[str, str]:
    return dict(typed(parse_query(text, "q.sql"), TABLES, PARAMETERS))


def origins(text: str) -> dict[str, set[str]]:
    by_column = lineage(parse_query(text, "q.sql"), TABLES)
    return {name: {f"{table}.{column}" for table, column in pairs} for name, pairs in by_column.items()}


def refusal(text: str) -> list[str]:
    with pytest.raises(SpecError) as refused:
        columns(text)
    return refused.value.what.splitlines()


@pytest.mark.parametrize(("text", "expected"), RIGHT)
def test_columns_of_a_query_are_known_from_those_of_its_inputs(text: str, expected: dict[str, str]) -> None:
    assert columns(text).items() >= expected.items()


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        ("007", "int"),
        ("2147483648", "bigint"),
        ("9223372036854775808", "decimal(19,0)"),
        ("1" * 5000, "decimal(5000,0)"),
    ],
)
def test_a_number_is_of_the_smallest_type_that_holds_it(number: str, kind: str) -> None:
    assert columns(f"SELECT {number} AS n FROM trades") == {"n": kind}


@pytest.mark.parametrize(("text", "expected"), WRONG)
def test_a_wrong_column_is_told_with_its_place_and_the_nearest_name(text: str, expected: str) -> None:
    (line,) = refusal(text)
    assert line.startswith(expected)


def test_a_text_that_stands_beside_a_time_is_the_clock() -> None:
    expected = "'yesterday': beside a time it is the clock; write :now"

    assert refusal("SELECT price FROM trades WHERE `$$timestamp` > 'yesterday'") == [
        f"q.sql:1:48: {expected}"
    ]
    assert refusal("SELECT coalesce(`$$timestamp`, 'yesterday') AS a FROM trades") == [
        f"q.sql:1:32: {expected}"
    ]


def test_all_wrong_columns_are_told_in_their_order() -> None:
    lines = refusal("SELECT pricee, symbl FROM trades WHERE quantiy > 1")

    assert [line.split(":")[3].strip() for line in lines] == ["pricee", "symbl", "quantiy"]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT l.what, price FROM trades t JOIN late l ON l.id = t.symbol",
        "SELECT what FROM late WHERE ever > 1",
        "SELECT t.price FROM trades t WHERE t.price IN (SELECT price FROM ns.prices WHERE symbol = t.symbol)",
        "SELECT price AS p FROM trades ORDER BY p",
        "SELECT price AS p, count(*) AS n FROM trades GROUP BY p HAVING n > 1",
        "SELECT current_user AS u, user AS v FROM trades",
    ],
)
def test_what_may_be_right_is_not_refused(text: str) -> None:
    assert columns(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT price * quantity AS total, 1 AS one FROM trades WHERE symbol > ''", {
            "total": {"trades.price", "trades.quantity"}, "one": set(),
        }),
        ("WITH x AS (SELECT price AS p, symbol FROM trades) SELECT sum(p) AS s, count(*) AS n FROM x", {
            "s": {"trades.price"}, "n": set(),
        }),
        ("SELECT price FROM trades UNION ALL SELECT price FROM ns.prices", {
            "price": {"trades.price", "ns.prices.price"},
        }),
        ("SELECT CASE WHEN price > 1 THEN symbol END AS a, address.geo.lat FROM trades", {
            "a": {"trades.price", "trades.symbol"}, "lat": {"trades.address"},
        }),
        ("SELECT to_json(struct(*)) AS row FROM ns.prices", {"row": {"ns.prices.symbol", "ns.prices.price"}}),
        ("SELECT e.item.sku FROM trades LATERAL VIEW explode(items) e AS item", {"sku": {"trades.items"}}),
        ("SELECT price, 'x' AS `$$error` FROM trades", {"price": {"trades.price"}}),
        ("SELECT (SELECT max(price) FROM ns.prices) AS best FROM trades", {"best": {"ns.prices.price"}}),
    ],
)  # fmt: skip
def test_lineage_names_the_columns_that_values_come_from(text: str, expected: dict[str, set[str]]) -> None:
    assert origins(text) == expected


def test_no_column_is_there_twice() -> None:
    assert refusal("SELECT *, price * 2 AS PRICE FROM trades") == [
        "q.sql:1:1: price: more than once in the output"
    ]


def test_columns_that_a_join_makes_one_come_first() -> None:
    text = "SELECT * FROM ns.prices p JOIN (SELECT quantity, symbol FROM trades) t USING (symbol)"

    assert list(columns(text)) == ["symbol", "price", "quantity"]
