"""Queries of each kind over an input whose rows change, or over one of these tables; and DuckDB's answers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal as Number
from typing import Any

from frazil.formats.logical import Decimal, Field
from kit.derived.made import Made, MakeTable
from kit.derived.recomputed import recomputed
from kit.tables.changing import KEYED, Changing

__all__ = ["BEGIN", "KEYS", "OF_THE_INPUT", "ORACLES", "PRICED", "QUERIES", "agree", "of", "trade"]

BEGIN = datetime(2026, 3, 5, 12, tzinfo=UTC)
PRICED = (*KEYED, Field("price", Decimal(10, 2), optional=True))

SIZED = "SELECT symbol, quantity * 2 AS twice FROM {source} WHERE quantity > 5"
SUMS = """
SELECT symbol, quantity % 3 AS third, sum(quantity) AS total, count(*) AS trades, min(at) AS first,
       max(quantity) AS most FROM {source} GROUP BY symbol, quantity % 3
"""
COUNTED = """
SELECT symbol, count(*) AS trades, sum(quantity) AS total, count(quantity) AS known,
       sum(price) FILTER (WHERE quantity > 9) AS worth, count(price) FILTER (WHERE quantity > 9) AS worthy
FROM {source} GROUP BY symbol
"""
NEWEST = "SELECT symbol, quantity, at FROM {source}"
MINUTES = """
SELECT symbol, date_trunc('MINUTE', at) AS minute, sum(quantity) AS total, count(quantity) AS known,
       count(*) AS trades FROM {source} GROUP BY ALL
"""
PEAKS = "SELECT date_trunc('MINUTE', at) AS minute, max(quantity) AS most FROM {source} GROUP BY ALL"
AGAIN = "SELECT symbol, twice + 1 AS more FROM {rows} WHERE twice < 50"
SUMMED = "SELECT trades % 3 AS third, count(*) AS symbols, sum(total) AS total FROM {counted} GROUP BY ALL"
LAST = "SELECT symbol, minute, total FROM {windows} WHERE trades > 1"
WINDOW = {"start": "minute", "length": "1m"}
BY_SYMBOL = {"key": ["symbol"]}
QUERIES: dict[str, tuple[str, dict[str, Any]]] = {
    "rows": (SIZED, {}),
    "totals": (SUMS, {"kind": "totals"}),
    "counted": (COUNTED, {"kind": "totals"}),
    "latest": (NEWEST, {"kind": "latest", "latest_by": ["at", "quantity"], **BY_SYMBOL}),
    "windows": (MINUTES, {"kind": "windows", "window": WINDOW}),
    "running": (MINUTES, {"kind": "windows", "window": WINDOW, "cumulative_by": ["symbol"]}),
    "peaks": (PEAKS, {"kind": "windows", "window": WINDOW}),
    "rows of rows": (AGAIN, {}),
    "totals of totals": (SUMMED, {"kind": "totals"}),
    "latest of windows": (LAST, {"kind": "latest", "latest_by": ["minute"], **BY_SYMBOL}),
}
"""What each table is made by; of the input, or of a table before it."""

OF_THE_INPUT = ("rows", "totals", "counted", "latest")
BY_MINUTE = "symbol, date_trunc('minute', \"at\") AS minute"
ORACLES = {
    "rows": "SELECT symbol, quantity * 2 FROM input WHERE quantity > 5",
    "totals": 'SELECT symbol, quantity % 3, sum(quantity)::bigint, count(*), min("at"), max(quantity) '
    "FROM input GROUP BY ALL",
    "counted": "SELECT symbol, count(*), sum(quantity)::bigint, count(quantity), "
    "(sum(price) FILTER (quantity > 9))::decimal(20, 2), count(price) FILTER (quantity > 9) "
    "FROM input GROUP BY ALL",
    "latest": 'SELECT symbol, quantity, "at" FROM input '
    "QUALIFY row_number() OVER "
    '(PARTITION BY symbol ORDER BY "at" DESC NULLS LAST, quantity DESC NULLS LAST) = 1',
    "windows": f"SELECT {BY_MINUTE}, sum(quantity)::bigint AS total, count(quantity) AS known, "
    "count(*) AS trades FROM input GROUP BY ALL",
    "peaks": "SELECT date_trunc('minute', \"at\"), max(quantity) FROM input GROUP BY ALL",
}
ORACLES |= {
    "running": "SELECT symbol, minute, (sum(total) OVER past)::bigint, (sum(known) OVER past)::bigint, "
    f"(sum(trades) OVER past)::bigint FROM ({ORACLES['windows']}) "
    "WINDOW past AS (PARTITION BY symbol ORDER BY minute)",
    "rows of rows": f"SELECT symbol, twice + 1 FROM ({ORACLES['rows']}) AS t(symbol, twice) WHERE twice < 50",
    "totals of totals": "SELECT trades % 3, count(*), sum(total)::bigint "
    f"FROM ({ORACLES['counted']}) AS t(symbol, trades, total) GROUP BY ALL",
    "latest of windows": f"SELECT symbol, minute, total FROM ({ORACLES['windows']}) WHERE trades > 1 "
    "QUALIFY row_number() OVER (PARTITION BY symbol ORDER BY minute DESC) = 1",
}
"""The same over everything, as DuckDB says it."""

KEYS = {
    "totals": 2, "counted": 1, "latest": 1, "windows": 2, "running": 2, "peaks": 1, "totals of totals": 1,
    "latest of windows": 1,
}  # fmt: skip
"""How many of the first columns of a table tell its rows apart."""


def trade(number: int, quantity: int | None, symbol: str | None = "ZVV", second: int = 0) -> dict[str, Any]:
    """A row of the input."""
    at, price = BEGIN + timedelta(seconds=second), Number(number * 7 % 5 - 2) / 4
    return {"id": number, "symbol": symbol, "quantity": quantity, "at": at, "price": price}


def of(source: Changing, make_table: MakeTable, *words: str, **more: Any) -> dict[str, Made]:
    """The tables that are made by these queries; `more` goes into the spec of each."""
    made: dict[str, Made] = {}
    for word in words:
        sql, spec = QUERIES[word]
        names = {"source": source.name, **{each: table.name for each, table in made.items()}}
        made[word] = make_table(sql.format(**names), **spec, **more)
    return made


def agree(source: Changing, made: dict[str, Made]) -> bool:
    """Whether each table holds what DuckDB makes of the input, and says how many rows that are."""
    for kind, table in made.items():
        assert table.rows() == recomputed(source, ORACLES[kind]), kind
        assert table.ledger.total_rows == len(table.rows())
    return True
