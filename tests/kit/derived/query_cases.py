"""Queries with the columns that they make, and queries with names that nothing has."""

from __future__ import annotations

from collections.abc import Mapping

from frazil.derive.queries.types import UNKNOWN
from frazil.spec.derived import Parameter

__all__ = ["PARAMETERS", "RIGHT", "TABLES", "WRONG"]

PARAMETERS: Mapping[str, Parameter] = {"large": 4000, "word": "x", "rate": 0.5}

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

RIGHT = [
    ("SELECT symbol AS s, price * quantity AS total FROM trades", {"s": "string", "total": "int"}),
    ("SELECT SYMBOL, trades.Price FROM trades", {"SYMBOL": "string", "Price": "int"}),
    ("SELECT * EXCEPT (symbol) FROM ns.prices", {"price": "decimal(10,2)"}),
    ("SELECT p.*, p.price * 2 AS twice FROM ns.prices p", {
        "symbol": "string", "price": "decimal(10,2)", "twice": "decimal(12,2)",
    }),
    ("SELECT address.geo.lat, trades.address.city, address.geo.* EXCEPT (lat) FROM trades", {
        "lat": "double", "city": "string", "lon": "double",
    }),
    ("SELECT tags['a'] AS a, items[0].sku AS sku, items.n FROM trades", {
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
    ("SELECT reverse(symbol) AS a FROM trades", {"a": UNKNOWN}),
    ("SELECT symbol = 'today' AS a FROM trades", {"a": "boolean"}),
]  # fmt: skip
"""A query and its columns, or some of them."""

WRONG = [
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
    ("SELECT symbol.x FROM trades", "q.sql:1:8: symbol.x: symbol is of type string and has no fields"),
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
    ("SELECT * EXCEPT (pric) FROM ns.prices", "q.sql:1:18: pric: did you mean price?"),
    ("SELECT adress.* FROM trades", "q.sql:1:8: adress: no column of trades; did you mean address?"),
    ("SELECT transform(items, i -> i.n + nn) AS a FROM trades", "q.sql:1:36: nn: no column of trades"),
]
"""A query and how the mistake in it is told."""
