"""The newest row per key, whatever comes when."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from frazil.formats.logical import Field, Map, Primitive
from kit.derived.made import Made, MakeSource, MakeTable, Source
from kit.derived.recomputed import recomputed

BEGIN = datetime(2026, 3, 5, 12, tzinfo=UTC)
SQL = "SELECT symbol, quantity, at FROM {}"
BY_DUCKDB = """
SELECT symbol, quantity, "at" FROM input
QUALIFY row_number() OVER (PARTITION BY symbol ORDER BY "at" DESC NULLS LAST, quantity DESC NULLS LAST) = 1
"""


@pytest.fixture
def latest(source: Source, make_table: MakeTable) -> Made:
    """The newest trade per symbol."""
    return make_table(SQL.format(source.name), kind="latest", key=["symbol"], latest_by=["at"])


def trade(symbol: str | None, quantity: int | None, minute: int | None) -> dict[str, Any]:
    """A row of an input."""
    at = None if minute is None else BEGIN + timedelta(minutes=minute)
    return {"symbol": symbol, "quantity": quantity, "at": at}


def test_the_newest_of_each_key_is_duckdbs_where_rows_come_late_or_at_the_same_time(
    source: Source, latest: Made
) -> None:
    chance, totals = random.Random(6), []
    for since in (0, 3, 1):
        source.append(
            trade(
                chance.choice(["a", "b", "c", "d", None]),
                chance.choice([None, *range(50)]),
                chance.choice([None, since, since + 1]),
            )
            for _ in range(20)
        )
        totals.append(latest.derive().total_rows)

    assert latest.rows() == recomputed(source, BY_DUCKDB)
    assert totals == [5, 5, 5]


@pytest.mark.nightly
def test_keys_that_are_far_from_the_new_ones_are_not_written_again(source: Source, latest: Made) -> None:
    for symbols in ("ab", "mn"):
        source.append(trade(symbol, 1, 1) for symbol in symbols)
        latest.derive()
    source.append([trade("n", 2, 2)])

    assert latest.derive().removed == 2, "m and n"
    assert latest.rows() == recomputed(source, BY_DUCKDB)


@pytest.mark.nightly
def test_rows_that_differ_in_a_map_only_have_an_order_too(
    make_input: MakeSource, make_table: MakeTable
) -> None:
    source = make_input((
        Field("symbol", Primitive("string")),
        Field("tags", Map(Primitive("string"), Primitive("int")), optional=True),
    ))  # fmt: skip
    made = make_table(
        f"SELECT symbol, tags FROM {source.name}", kind="latest", key=["symbol"], latest_by=["symbol"]
    )
    for number in (3, 2):
        source.append([{"symbol": "a", "tags": [("n", number)]}])
        made.derive()

    assert made.rows() == [("a", [("n", 3)])]


@pytest.mark.nightly
def test_a_function_in_python_can_say_what_the_rows_are(source: Source, latest: Made, tmp_path: Path) -> None:
    file = tmp_path / "twice.py"
    file.write_text(
        "def derive(inputs, parameters):\n"
        f"    return inputs['{source.name}'].selectExpr('symbol', 'quantity * 2 AS quantity', 'at')\n"
    )
    spec = latest.spec.model_copy(update={"sql": None, "python": file, "inputs": (str(source.name),)})
    made = Made(latest.connections, spec)
    for quantity in (1, 2):
        source.append([trade("a", quantity, quantity)])
        made.derive()

    assert made.rows("quantity") == [(4,)]
