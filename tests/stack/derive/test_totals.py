"""Totals grow by what is new, and are what one query over everything would have given."""

from __future__ import annotations

import math
import random
import time
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal as Number
from typing import Any

import pytest

from frazil.formats.logical import Decimal, Field, Primitive
from frazil.upkeep.compaction.run import compact as compact_files
from frazil.upkeep.kind import Order
from kit.derived.made import Made, MakeSource, MakeTable, Source
from kit.derived.recomputed import recomputed

BEGIN = datetime(2026, 3, 5, 12, tzinfo=UTC)

WIDE = (
    Field("symbol", Primitive("string"), optional=True),
    Field("moment", Primitive("timestamptz"), optional=True),
    Field("local", Primitive("timestamp"), optional=True),
    Field("day", Primitive("date"), optional=True),
    Field("price", Decimal(10, 2), optional=True),
    Field("number", Primitive("long"), optional=True),
    Field("ratio", Primitive("double"), optional=True),
    Field("raw", Primitive("binary"), optional=True),
    Field("sold", Primitive("boolean"), optional=True),
    Field("quantity", Primitive("int"), optional=True),
)
KEYS = "symbol, moment, local, day, price, number, ratio, raw"
TOTALS = f"""
SELECT {KEYS}, sum(quantity) AS total, count(*) AS rows, count(quantity) AS known, min(quantity) AS least,
       max(moment) AS newest, sum(price) AS worth, bool_and(sold) AS every, bool_or(sold) AS any
FROM {{}} GROUP BY ALL
"""
BY_DUCKDB = f"""
SELECT {KEYS}, sum(quantity)::BIGINT, count(*), count(quantity), min(quantity), max(moment),
       sum(price)::DECIMAL(20, 2), bool_and(sold), bool_or(sold)
FROM input GROUP BY ALL
"""
BY_MINUTE = """
SELECT symbol, date_trunc('MINUTE', at) AS minute, sum(quantity) AS total, count(*) AS trades
FROM {} GROUP BY symbol, date_trunc('MINUTE', at)
"""
MINUTES_BY_DUCKDB = """
SELECT symbol, date_trunc('minute', "at"), sum(quantity)::BIGINT, count(*) FROM input GROUP BY ALL
"""


def wide(chance: random.Random, since: int) -> dict[str, Any]:
    """A row whose keys are few, and lie higher with time; each of them may be missing."""
    n = since + chance.randrange(3)
    at = BEGIN + timedelta(days=n, microseconds=n)
    row = {
        "symbol": f"a symbol of many letters, the last {n - 3}'\\",
        "moment": at,
        "local": at.replace(tzinfo=None),
        "day": date(1969, 12, 30) + timedelta(days=n),
        "price": Number(n - 3) / 4,
        "number": (n - 3) * 10**12,
        "ratio": chance.choice([math.nan, 0.5]),
        "raw": bytes([n, 0]),
    }
    missing = chance.choice([*row, "", "", "", ""])
    return {k: None if k == missing else v for k, v in row.items()} | {
        "sold": chance.choice([True, False, None]),
        "quantity": chance.choice([None, -1, 2**30]),
    }


def trades(minute: int, count: int = 30) -> list[dict[str, Any]]:
    """Trades of one minute and the next."""
    at = BEGIN + timedelta(minutes=minute)
    return [
        {"symbol": "ZVV" if n % 3 else None, "quantity": n, "at": at + timedelta(seconds=4 * n)}
        for n in range(count)
    ]


def compact(made: Made) -> None:
    """One file of all."""
    compact_files(made.spec, made.connections, time.time(), Order(everything=True))


@pytest.fixture
def minutes(source: Source, make_table: MakeTable) -> Made:
    """Totals by minute."""
    return make_table(BY_MINUTE.format(source.name), kind="totals")


@pytest.mark.nightly
def test_totals_with_keys_of_every_type_are_those_of_duckdb_and_a_compaction_changes_nothing(
    make_input: MakeSource, make_table: MakeTable
) -> None:
    source, chance = make_input(WIDE), random.Random(6)
    made = make_table(TOTALS.format(source.name), kind="totals")

    for since in (0, 2, 1):
        source.append(wide(chance, since) for _ in range(60))
        made.derive()
        if since == 2:
            compact(made)

    assert list(map(repr, made.rows())) == list(map(repr, recomputed(source, BY_DUCKDB)))


@pytest.mark.nightly
def test_only_files_that_can_hold_a_new_key_are_read(source: Source, minutes: Made) -> None:
    for minute in (0, 10):
        source.append(trades(minute))
        minutes.derive()
    old = {task.file.file_path for task in minutes.table.scan().plan_files()}

    source.append(trades(11))
    report = minutes.derive()

    new = {task.file.file_path for task in minutes.table.scan().plan_files()}
    assert len(old) == 2
    assert len(old - new) == 1, "the file of minutes 10 and 11"
    assert report.removed == 4
    assert minutes.rows() == recomputed(source, MINUTES_BY_DUCKDB)


@pytest.mark.nightly
def test_what_grows_is_soon_by_itself(source: Source, minutes: Made) -> None:
    source.append(row for minute in range(40) for row in trades(minute))
    minutes.derive()
    source.append(trades(40))
    assert minutes.derive().removed == 82, "all minutes were in one file"

    source.append(trades(41))
    assert minutes.derive().removed == 4, "minutes 40 and 41"

    assert minutes.rows() == recomputed(source, MINUTES_BY_DUCKDB)


@pytest.mark.nightly
def test_a_compaction_in_the_middle_of_a_run_has_it_done_again(source: Source, minutes: Made) -> None:
    source.append(trades(0))
    minutes.derive()
    source.append(trades(1))
    steps: list[str] = []

    def beside(done: str) -> None:
        if done == "written" and done not in steps:
            compact(minutes)
        steps.append(done)

    minutes.derive(on_step=beside)

    assert steps.count("written") == 2, "once for nothing"
    assert minutes.rows() == recomputed(source, MINUTES_BY_DUCKDB)
    assert set(minutes.table.refs()) == {"main"}


@pytest.mark.nightly
def test_a_derivation_in_the_middle_of_a_compaction_is_the_one_that_counts(
    source: Source, minutes: Made
) -> None:
    source.append(trades(0))
    minutes.derive()
    source.append(trades(1))

    def beside(done: str) -> None:
        if done == "written":
            minutes.derive()

    report = compact_files(
        minutes.spec, minutes.connections, time.time(), Order(everything=True), on_step=beside
    )

    assert report.snapshot_id is None, "the files that it wrote anew were no longer there"
    assert minutes.rows() == recomputed(source, MINUTES_BY_DUCKDB)
    assert set(minutes.table.refs()) == {"main"}


@pytest.mark.nightly
def test_an_input_that_was_rolled_back_takes_its_totals_along(source: Source, minutes: Made) -> None:
    source.append(trades(0))
    minutes.derive()
    first = source.head
    source.append(trades(1))
    minutes.derive()

    source.roll_back(first)
    source.append(trades(2))
    minutes.derive()

    assert minutes.rows() == recomputed(source, MINUTES_BY_DUCKDB)


def test_a_rebuild_gives_the_same(source: Source, minutes: Made) -> None:
    source.append(trades(0))
    minutes.derive()
    source.append(trades(1))

    minutes.derive(rebuild=True)

    assert minutes.rows() == recomputed(source, MINUTES_BY_DUCKDB)
    assert minutes.ledger.total_rows == len(minutes.rows())


@pytest.mark.nightly
def test_partitions_prune_files_too(source: Source, make_table: MakeTable) -> None:
    made = make_table(BY_MINUTE.format(source.name), kind="totals", partition_by=["day(minute)", "symbol"])
    source.append([*trades(0), *trades(24 * 60)])
    made.derive()

    source.append(trades(0))

    assert made.derive().removed == 4, "two minutes of two symbols, all of the first day"
    assert made.rows() == recomputed(source, MINUTES_BY_DUCKDB)
