from __future__ import annotations

import pytest

from frazil.derive.columns import UNKNOWN, typed
from frazil.derive.lineage import lineage
from frazil.derive.query import parse_query
from frazil.errors import SpecError

TABLES = {
    "trades": (
        ("symbol", "string"),
        ("quantity", "int"),
        ("price", "int"),
        ("$$timestamp", "timestamp"),
        ("address", "struct<`city`:string,`geo`:struct<`lat`:double,`lon`:double>>"),
        ("tags", "map<string,binary>"),
        ("items", "array<struct<`sku`:string,`n`:int>>"),
    ),
    "ns.prices": (("symbol", "string"), ("price", "decimal(10,2)")),
    "late": None,
}


def columns(text: str) -> dict[str, str]:
    return dict(typed(parse_query(text, "q.sql"), TABLES, {"large": 4000, "word": "x", "rate": 0.5}))


def origins(text: str) -> dict[str, set[str]]:
    found = lineage(parse_query(text, "q.sql"), TABLES)
    return {name: {f"{table}.{column}" for table, column in pairs} for name, pairs in found.items()}


def refusal(text: str) -> list[str]:
    with pytest.raises(SpecError) as refused:
        columns(text)
    return refused.value.what.splitlines()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT symbol AS s, price * quantity AS total FROM trades", {"s": "string", "total": "int"}),
        ("SELECT SYMBOL, trades.Price FROM trades", {"SYMBOL": "string", "Price": "int"}),
        ("SELECT * EXCEPT (symbol) FROM ns.prices", {"price": "decimal(10,2)"}),
        ("SELECT p.*, p.price * 2 AS twice FROM ns.prices p", {
            "symbol": "string", "price": "decimal(10,2)", "twice": "decimal(12,2)",
        }),
        ("SELECT address.geo.lat, trades.address.city, address.geo.* EXCEPT (lat) FROM trades", {
            "lat": "double", "city": "string", "lon": "double",
        }),
        ("SELECT tags['a'] AS a, items[0].sku, items.n FROM trades", {
            "a": "binary", "sku": "string", "n": "array<int>",
        }),
        ("SELECT :large AS a, :word AS b, :rate AS c, :now AS d FROM trades", {
            "a": "int", "b": "string", "c": "double", "d": "timestamp",
        }),
        ("SELECT price + 1 AS a, a * 2 AS b FROM trades", {"a": "int", "b": "int"}),
        ("SELECT price FROM trades UNION ALL SELECT price FROM ns.prices", {"price": "decimal(12,2)"}),
        ("SELECT symbol, NULL AS flag FROM trades UNION ALL SELECT symbol, 'x' FROM ns.prices", {
            "symbol": "string", "flag": "string",
        }),
        ("WITH x(a, b) AS (SELECT symbol, price FROM trades) SELECT b, y.a FROM x AS y", {
            "b": "int", "a": "string",
        }),
        ("SELECT t.symbol, p.price FROM trades t JOIN ns.prices p USING (symbol)", {
            "symbol": "string", "price": "decimal(10,2)",
        }),
        ("SELECT window.start AS s, window.end FROM trades GROUP BY window(`$$timestamp`, '1 minute')", {
            "s": "timestamp", "end": "timestamp",
        }),
        ("SELECT item.sku FROM trades LATERAL VIEW explode(items) e AS item", {"sku": "string"}),
        ("SELECT k FROM trades LATERAL VIEW explode(tags) e AS k, v", {"k": UNKNOWN}),
        ("SELECT a, upper(b) AS b, count(*) AS n FROM late GROUP BY ALL", {
            "a": UNKNOWN, "b": "string", "n": "bigint",
        }),
        ("SELECT *, 1 AS one FROM late", {"*": UNKNOWN, "one": "int"}),
        ("SELECT some_function_of_tomorrow(price) AS a FROM trades", {"a": UNKNOWN}),
    ],
)  # fmt: skip
def test_columns_of_a_query_are_known_from_those_of_its_inputs(text: str, expected: dict[str, str]) -> None:
    assert columns(text).items() >= expected.items()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("SELECT pricee FROM trades", "q.sql:1:8: pricee: no column of trades; did you mean price?"),
        (
            "SELECT price\nFROM trades WHERE pric > 1",
            "q.sql:2:19: pric: no column of trades; did you mean price",
        ),
        (
            "SELECT price FROM trades t WHERE t.symbl = ''",
            "q.sql:1:34: symbl: no column of trades; did you mean",
        ),
        (
            "SELECT `$$time` AS ts FROM trades",
            "q.sql:1:8: $$time: no column of trades; did you mean $$timestamp?",
        ),
        ("SELECT zzz FROM ns.prices", "q.sql:1:8: zzz: no column of ns.prices; known are symbol, price"),
        ("SELECT address.town FROM trades", "q.sql:1:8: address.town: known are city, geo"),
        ("SELECT address.geo.lot FROM trades", "q.sql:1:8: address.geo.lot: did you mean lo"),
        ("SELECT count(*) AS n FROM trades GROUP BY symbo", "q.sql:1:43: symbo: no column of trades"),
        (
            "SELECT symbol FROM trades UNION ALL SELECT symbo FROM ns.prices",
            "q.sql:1:44: symbo: no column of ns.",
        ),
        (
            "SELECT symbol, price FROM trades UNION ALL SELECT symbol FROM ns.prices",
            "q.sql:1:51: UNION of 2 columns",
        ),
        (
            "WITH x AS (SELECT symbol AS s FROM trades) SELECT symbol FROM x",
            "q.sql:1:51: symbol: no column of x",
        ),
        ("SELECT price FROM trades, ns.prices", "q.sql:1:8: price: of trades or prices? Write which"),
        (
            "SELECT a.price FROM trades a JOIN ns.prices b ON a.symbol = b.symbl",
            "q.sql:1:61: symbl: no column of",
        ),
        (
            "SELECT price FROM trades t WHERE EXISTS (SELECT 1 FROM ns.prices p WHERE p.x = t.price)",
            "q.sql:1:74: x:",
        ),
        ("SELECT price AS p FROM trades WHERE p > 1", "q.sql:1:37: p: no column of trades"),
        ("SELECT *, price * 2 AS PRICE FROM trades", "q.sql:1:1: price: more than once in the output"),
        ("SELECT * EXCEPT (pric) FROM ns.prices", "q.sql:1:18: pric: did you mean price?"),
        ("SELECT adress.* FROM trades", "q.sql:1:8: adress: no column of trades; did you mean address?"),
        ("SELECT transform(items, i -> i.n + nn) AS a FROM trades", "q.sql:1:36: nn: no column of trades"),
    ],
)
def test_a_wrong_column_is_told_with_its_place_and_the_nearest_name(text: str, told: str) -> None:
    (line,) = refusal(text)
    assert line.startswith(told)


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
        ("SELECT (SELECT max(price) FROM ns.prices) AS best FROM trades", {"best": {"ns.prices.price"}}),
    ],
)  # fmt: skip
def test_lineage_names_the_columns_that_values_come_from(text: str, expected: dict[str, set[str]]) -> None:
    assert origins(text).items() >= expected.items()


def test_columns_that_a_join_makes_one_come_first() -> None:
    text = "SELECT * FROM ns.prices p JOIN (SELECT quantity, symbol FROM trades) t USING (symbol)"

    assert list(columns(text)) == ["symbol", "price", "quantity"]
