"""The tables made of trades and users: each transform by its edges, and all of them by DuckDB's answer."""

from __future__ import annotations

import uuid
from collections import Counter
from datetime import UTC, datetime, timedelta
from math import sqrt
from typing import Any

import pytest

from frazil.connections import Connections
from frazil_local.generators.chance import Chance
from kit.derived.shipped import Pipeline, Row, derived_spec, transformed

NOW = datetime(2026, 3, 5, 12, tzinfo=UTC)
TRADE = "side string, quantity int, symbol string, price int, account string, userid string"

TRADES = 6_000
MORE = 2_000


def trades(connections: Connections, rows: list[tuple[Any, ...]]) -> Any:
    """Trades by quantity, price, user and time; the user tells one from the other."""
    values = [("BUY", quantity, "ZTEST", price, "ABC123", user, at) for quantity, price, user, at in rows]
    return connections.spark.createDataFrame(values, f"{TRADE}, `$$timestamp` timestamp")


FLAGS = [
    (1, -1, "NEGATIVE_PRICE"),
    (4001, -1, "NEGATIVE_PRICE"),
    (1, 0, "NORMAL"),
    (4000, 100, "NORMAL"),
    (4001, 100, "LARGE_TRADE"),
    (4001, 901, "LARGE_TRADE"),
    (4000, 901, "UNUSUAL_PRICE"),
    (1, 900, "NORMAL"),
    (1, 901, "UNUSUAL_PRICE"),
    (None, 901, "UNUSUAL_PRICE"),
    (4001, None, "LARGE_TRADE"),
    (None, None, "NORMAL"),
]


@pytest.fixture(scope="module")
def flagged(connections: Connections) -> list[Row]:
    """All of `FLAGS`, by their numbers."""
    rows = trades(connections, [(q, p, f"{n:02}", NOW) for n, (q, p, _) in enumerate(FLAGS)])
    derived_rows = transformed(derived_spec("flagged_stock_trades"), connections, NOW, stock_trades=rows)
    return sorted(derived_rows, key=lambda row: str(row["userid"]))


@pytest.mark.parametrize("number", range(len(FLAGS)), ids=[f"{q}-{p}" for q, p, _ in FLAGS])
def test_the_first_flag_that_fits_is_the_trades(flagged: list[Row], number: int) -> None:
    quantity, price, flag = FLAGS[number]

    assert flagged[number] == {
        "side": "BUY", "quantity": quantity, "symbol": "ZTEST", "price": price, "account": "ABC123",
        "userid": f"{number:02}", "anomaly_flag": flag,
    }  # fmt: skip


def test_the_thresholds_are_the_pipelines(connections: Connections) -> None:
    spec = derived_spec("flagged_stock_trades")
    assert spec.parameters == {"large_trade": 4000, "unusual_price": 900}
    lower = spec.model_copy(update={"parameters": {"large_trade": 10, "unusual_price": 20}})
    rows = trades(connections, [(10, 20, "0", NOW), (11, 20, "1", NOW), (10, 21, "2", NOW)])

    derived_rows = transformed(lower, connections, NOW, stock_trades=rows)

    flags = {row["userid"]: row["anomaly_flag"] for row in derived_rows}
    assert flags == {"0": "NORMAL", "1": "LARGE_TRADE", "2": "UNUSUAL_PRICE"}


def test_normal_trades_are_no_anomalies(connections: Connections, flagged: list[Row]) -> None:
    values = [tuple(row.values()) for row in flagged]
    rows = connections.spark.createDataFrame(values, f"{TRADE}, anomaly_flag string")

    derived_rows = transformed(
        derived_spec("anomalous_stock_trades"), connections, NOW, flagged_stock_trades=rows
    )

    assert sorted(derived_rows, key=lambda row: str(row["userid"])) == [
        row for row in flagged if row["anomaly_flag"] != "NORMAL"
    ]


def test_a_total_price_is_that_of_one_trade(connections: Connections) -> None:
    rows = trades(connections, [(4999, 999, "dear", NOW), (3, -2, "below", NOW), (None, 7, "none", NOW)])

    derived_rows = transformed(derived_spec("stock_trades_with_totals"), connections, NOW, stock_trades=rows)

    assert {row["userid"]: row["total_price"] for row in derived_rows} == {
        "dear": 4994001,
        "below": -6,
        "none": None,
    }
    assert list(derived_rows[0]) == [
        "trade_timestamp", "userid", "side", "symbol", "quantity", "price", "total_price",
    ]  # fmt: skip
    assert derived_rows[0]["trade_timestamp"] == NOW.replace(tzinfo=None)


def test_totals_are_by_minute_from_its_first_moment_to_its_last(connections: Connections) -> None:
    minute = datetime(2026, 3, 5, 23, 59, tzinfo=UTC)
    last, next_day = minute + timedelta(seconds=59.999999), minute + timedelta(minutes=1)
    rows = trades(
        connections, [(2, 10, "a", minute), (3, 100, "a", last), (5, 7, "a", next_day), (1, 1, "b", last)]
    )

    derived_rows = transformed(derived_spec("stock_trade_totals"), connections, NOW, stock_trades=rows)

    totals = {
        (row["trade_minute"].strftime("%d %H:%M"), row["userid"]):
        (row["number_of_trades"], row["total_quantity"], row["total_price"])
        for row in derived_rows
    }  # fmt: skip
    assert totals == {
        ("05 23:59", "a"): (2, 5, 320), ("05 23:59", "b"): (1, 1, 1), ("06 00:00", "a"): (1, 5, 35),
    }  # fmt: skip


def test_totals_exceed_32_bits(connections: Connections) -> None:
    rows = trades(connections, [(2_000_000_000, 2_000_000_000, "a", NOW), (2_000_000_000, 1, "a", NOW)])

    (derived_rows,) = transformed(derived_spec("stock_trade_totals"), connections, NOW, stock_trades=rows)

    assert (derived_rows["total_quantity"], derived_rows["total_price"]) == (
        4_000_000_000,
        4_000_000_002_000_000_000,
    )


def test_the_latest_record_of_a_user_is_the_user(connections: Connections) -> None:
    schema = "userid string, registertime bigint, regionid string, gender string"
    place = "`$$timestamp` timestamp, `$$offset` bigint"
    later = NOW + timedelta(seconds=1)
    values = [
        ("User_1", 1, "Region_1", "OTHER", later, 5),
        ("User_1", 2, "Region_2", "OTHER", NOW, 9),
        ("User_2", 3, "Region_3", "FEMALE", NOW, 7),
        ("User_2", 4, "Region_4", "FEMALE", NOW, 8),
    ]

    rows = connections.spark.createDataFrame(values, f"{schema}, {place}")

    derived_rows = transformed(derived_spec("users_latest"), connections, NOW, users=rows)

    assert {row["userid"]: row["regionid"] for row in derived_rows} == {
        "User_1": "Region_1",
        "User_2": "Region_4",
    }


@pytest.fixture(scope="module")
def trading(connections: Connections) -> Pipeline:
    """The pipeline after two landings and derivations; minutes of the first get more in the second."""
    pipeline = Pipeline("trading", connections, f"t{uuid.uuid4().hex[:8]}", Chance(5))
    for records, begin in ((TRADES, NOW), (MORE, NOW + timedelta(seconds=200))):
        pipeline.fill("stock_trades", records, begin, 300)
        pipeline.fill("users", 100, begin, 300)
        pipeline.run()
    return pipeline


TABLES = {
    "stock_trades_with_totals": """
        SELECT "$$timestamp" AS trade_timestamp, userid, side, symbol, quantity, price,
               quantity * price AS total_price
        FROM stock_trades
    """,
    "stock_trade_totals": """
        SELECT time_bucket(INTERVAL 1 MINUTE, "$$timestamp") AS trade_minute, userid, side, symbol,
               count(*) AS number_of_trades, sum(quantity) AS total_quantity,
               sum(quantity * price) AS total_price
        FROM stock_trades GROUP BY ALL
    """,
    "flagged_stock_trades": """
        SELECT side, quantity, symbol, price, account, userid,
               if(price < 0, 'NEGATIVE_PRICE', if(quantity >= 4001, 'LARGE_TRADE',
               if(price >= 901, 'UNUSUAL_PRICE', 'NORMAL'))) AS anomaly_flag
        FROM stock_trades
    """,
    "anomalous_stock_trades": """
        SELECT side, quantity, symbol, price, account, userid,
               if(quantity BETWEEN 4001 AND 4999, 'LARGE_TRADE', 'UNUSUAL_PRICE') AS anomaly_flag
        FROM stock_trades WHERE NOT (quantity BETWEEN 1 AND 4000 AND price BETWEEN 0 AND 900)
    """,
    "users_latest": """
        SELECT userid, registertime, regionid, gender, "$$timestamp", "$$offset" FROM users AS one
        WHERE NOT EXISTS (
            FROM users AS other WHERE one.userid = other.userid
            AND (one."$$timestamp", one."$$offset") < (other."$$timestamp", other."$$offset")
        )
    """,
}


@pytest.mark.parametrize("table", TABLES)
def test_each_table_is_what_duckdb_makes_of_all_records_at_once(trading: Pipeline, table: str) -> None:
    rows, odd = trading.differing(table, TABLES[table])

    assert rows > 0
    assert odd == []


def test_the_second_run_read_new_records_only(trading: Pipeline) -> None:
    first, second = ({name: report.input_rows for name, report in run.items()} for run in trading.reports)

    assert set(first) == set(TABLES)
    assert (first["flagged_stock_trades"], second["flagged_stock_trades"]) == (TRADES, MORE)
    assert (first["stock_trade_totals"], second["stock_trade_totals"]) == (TRADES, MORE)
    assert second["users_latest"] == 100


def test_flags_are_as_frequent_as_the_ranges_of_the_generator_say(trading: Pipeline) -> None:
    rows = trading.rows("flagged_stock_trades")
    large, dear = 999 / 4999, 99 / 995
    expected = {"LARGE_TRADE": large, "UNUSUAL_PRICE": (1 - large) * dear, "NORMAL": (1 - large) * (1 - dear)}

    flags = Counter(row["anomaly_flag"] for row in rows)

    assert [f"{share:.2%}" for share in expected.values()] == ["19.98%", "7.96%", "72.05%"]
    assert set(flags) == set(expected), "no price is below zero"
    for flag, share in expected.items():
        sigma = sqrt(share * (1 - share) / len(rows))  # of a binomial share
        assert abs(flags[flag] / len(rows) - share) < 5 * sigma, flag  # once in 1.7 million seeds


def test_types_are_those_of_the_sources_and_sums_are_wide(trading: Pipeline) -> None:
    assert trading.columns("stock_trades_with_totals") == {
        "trade_timestamp": "timestamptz", "userid": "string", "side": "string", "symbol": "string",
        "quantity": "int", "price": "int", "total_price": "int",
    }  # fmt: skip
    assert trading.columns("stock_trade_totals") == {
        "trade_minute": "timestamptz", "userid": "string", "side": "string", "symbol": "string",
        "number_of_trades": "long", "total_quantity": "long", "total_price": "long",
    }  # fmt: skip
