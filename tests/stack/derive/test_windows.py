"""Windows of event time: late and out-of-order rows end where the policy says; running totals are exact."""

from __future__ import annotations

import json
import random
import signal
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from frazil.errors import SpecError
from kit.derived.made import Made, MakeTable, Source
from kit.derived.recomputed import recomputed
from kit.runs.waiting import PATIENCE
from kit.wires.killed import derive_process

BEGIN = datetime(2026, 3, 5, 12, tzinfo=UTC)
WINDOW = {"start": "minute", "length": "1m", "lateness": "2m"}
SQL = """
SELECT symbol, date_trunc('MINUTE', at) AS minute, sum(quantity) AS total, count(*) AS trades
FROM {} GROUP BY symbol, date_trunc('MINUTE', at)
"""
BY_DUCKDB = """
SELECT symbol, date_trunc('minute', "at") AS minute, sum(quantity)::BIGINT AS total, count(*) AS trades
FROM input WHERE {} GROUP BY ALL
"""
RUNNING = f"""
SELECT symbol, minute, (sum(total) OVER past)::BIGINT, (sum(trades) OVER past)::BIGINT
FROM ({BY_DUCKDB.format(True)}) WINDOW past AS (PARTITION BY symbol ORDER BY minute NULLS FIRST)
"""
"""A sum over a window of DuckDB's and one over rows of Spark's are the same: a key has a minute once."""


def events(*minutes: float | None, symbol: str | None = "ZVV", quantity: int | None = 1) -> Any:
    """Rows of those minutes."""
    return [
        {
            "symbol": symbol,
            "quantity": quantity,
            "at": None if minute is None else BEGIN + timedelta(minutes=minute),
        }
        for minute in minutes
    ]


def at(minute: int) -> int:
    """A minute as watermarks are told."""
    return int((BEGIN + timedelta(minutes=minute)).timestamp()) * 1_000_000


def windows(make_table: MakeTable, source: Source, late_rows: str, **spec: Any) -> Made:
    """Totals by minute that stay open for two more."""
    window = WINDOW | {"late_rows": late_rows}
    return make_table(SQL.format(source.name), kind="windows", window=window, **spec)


@pytest.mark.parametrize("policy", ["update", "drop", "dead_letter"])
@pytest.mark.each_time("drop")
def test_late_rows_end_where_the_policy_says(source: Source, make_table: MakeTable, policy: str) -> None:
    made = windows(make_table, source, policy)
    source.append(events(0, 7, 10, 3))
    assert (made.derive().watermark, made.ledger.late) == (at(8), 0)

    source.append(events(8.5, 10.5, 9.5, 8))  # behind the newest one, but the window from 8 to 9 is open
    source.append(events(7.9, 9, 20, quantity=5))  # the first one's window was complete at 8
    report = made.derive()

    assert (report.late, report.watermark) == (1, at(18))
    counts = True if policy == "update" else "NOT (quantity = 5 AND date_part('minute', \"at\") = 7)"
    assert made.rows() == recomputed(source, BY_DUCKDB.format(counts))
    if policy == "dead_letter":
        ((reason, row),) = made.dead_letters()
        assert reason == "came when its window was closed"
        late = {"symbol": "ZVV", "minute": "2026-03-05T12:07:00.000Z", "total": 5, "trades": 1}
        assert json.loads(row) == late


@pytest.mark.parametrize("spec", [{}, {"cumulative_by": ["symbol"]}], ids=["totals", "running"])
@pytest.mark.nightly
def test_a_row_far_ahead_of_the_clock_is_kept_apart_and_closes_no_window(
    source: Source, make_table: MakeTable, spec: dict[str, Any]
) -> None:
    made, clock = windows(make_table, source, "drop", **spec), (BEGIN + timedelta(minutes=10)).timestamp()
    century = 74 * 365 * 24 * 60
    source.append([*events(0, 60), *events(century, quantity=5)])
    assert (made.derive(now=clock).watermark, made.ledger.bad) == (at(58), 1), "an hour ahead is allowed"
    source.append([*events(61), *events(71, quantity=5)])

    report = made.derive(now=clock + 60)

    assert (report.watermark, report.late, report.bad) == (at(69), 0, 0), "the clock went on"
    source.append([*events(70), *events(90, quantity=5)])
    assert (made.derive(now=clock + 60).watermark, made.ledger.total_bad) == (at(69), 2)
    assert sorted(row[1].minute for row in made.rows()) == [0, 0, 1, 10, 11]
    letters = [(reason, json.loads(row)["minute"][:16]) for reason, row in made.dead_letters()]
    assert letters == [
        ("begins too far ahead of the clock", "2026-03-05T13:30"),
        ("begins too far ahead of the clock", f"{BEGIN + timedelta(minutes=century):%Y-%m-%dT%H:%M}"),
    ]


@pytest.mark.nightly
def test_where_all_is_late_the_position_moves_on_and_the_watermark_stays(
    source: Source, make_table: MakeTable
) -> None:
    made = windows(make_table, source, "drop")
    source.append(events(10))
    made.derive()
    source.append(events(0, 1, 2))

    report = made.derive()

    assert (report.done, report.rows, report.late, report.watermark) == (True, 0, 3, at(8))
    assert made.ledger.total_late == 3
    assert len(made.rows()) == 1
    assert not made.derive().done


def test_running_totals_are_those_of_duckdb_whatever_comes_when(
    source: Source, make_table: MakeTable
) -> None:
    made, chance = windows(make_table, source, "update", cumulative_by=["symbol"]), random.Random(6)
    for run in (0, 4, -1):
        rows: list[Any] = []
        for _ in range(15):
            minute = chance.choice([None, *(run + chance.uniform(0, 3) for _ in range(12))])
            known = chance.choice(["a", "b", None])
            rows += events(minute, symbol=known, quantity=chance.choice([None, 1, 2**31 - 1]))
        source.append(rows)
        made.derive()

    assert made.rows() == recomputed(source, RUNNING)
    report = made.derive(rebuild=True)
    assert made.rows() == recomputed(source, RUNNING)
    assert (report.watermark, made.ledger.total_late) == (made.ledger.watermark, 0)


@pytest.mark.nightly
def test_running_totals_go_on_from_old_windows_and_a_late_row_raises_all_that_follow(
    source: Source, make_table: MakeTable
) -> None:
    made = windows(make_table, source, "update", cumulative_by=["symbol"])
    for minute in (0, 3):
        source.append([*events(minute, symbol="a"), *events(minute, symbol="b")])
        made.derive()
    source.append(events(9, symbol="a"))
    report = made.derive()
    assert (report.removed, report.rows) == (0, 1), "no old window was written again"

    source.append(events(3, symbol="b", quantity=100))
    made.derive()

    assert [row[2] for row in made.rows() if row[0] == "b"] == [1, 102]
    assert made.rows() == recomputed(source, RUNNING)


@pytest.mark.nightly
def test_in_a_large_table_running_totals_look_back_as_far_as_it_takes(
    source: Source, make_table: MakeTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("frazil.derive.merging.windows.SMALL", 0)
    made = windows(make_table, source, "update", cumulative_by=["symbol"])
    sizes = []
    for minute, symbols in ((0, "ad"), (5000, "bc")):
        source.append(event for symbol in symbols for event in events(minute, symbol=symbol))
        made.derive()
        sizes.append(sum(task.file.file_size_in_bytes for task in made.table.scan().plan_files()))
    read = []
    for minute, symbol in ((5002, "c"), (5004, "bb")):
        source.append(events(minute, symbol=symbol))
        read.append(made.derive().state_bytes)

    assert read == [sizes[1] - sizes[0], sizes[1]], "64 windows back, and everything for who is new"
    assert made.rows() == recomputed(source, RUNNING)


def test_a_window_that_begins_at_no_time_is_refused(source: Source, make_table: MakeTable) -> None:
    sql = "SELECT symbol, quantity AS minute, count(*) AS n FROM {} GROUP BY symbol, quantity"
    made = make_table(sql.format(source.name), kind="windows", window=WINDOW)
    source.append(events(1))

    with pytest.raises(SpecError, match=r"minute of .* is int, and no time") as refused:
        made.derive()

    assert "date_trunc('MINUTE', ...) does" in refused.value.todo
    minute = "date_trunc('MINUTE', timestamp_seconds(quantity))"
    sql = f"SELECT symbol, {minute} AS minute, count(*) AS n FROM {{}} GROUP BY symbol, {minute}"
    assert make_table(sql.format(source.name), kind="windows", window=WINDOW).derive().rows == 1


@pytest.mark.nightly
def test_a_late_row_is_kept_apart_once_though_the_derivation_is_killed(
    source: Source, make_table: MakeTable
) -> None:
    made = windows(make_table, source, "dead_letter")
    source.append(events(0, 10))
    made.derive()
    source.append(events(5, 11))

    process = derive_process(made.spec, made.connections.settings, "kept")
    assert process.wait(PATIENCE) == -signal.SIGKILL
    source.append(events(6))
    made.derive()

    assert [json.loads(row)["minute"][14:16] for _, row in made.dead_letters()] == ["05", "06"]
    assert len(made.rows()) == 3
    assert not made.derive().done
    assert list(made.table.refs()) == ["main"], "the next run drops what a dead one left"
