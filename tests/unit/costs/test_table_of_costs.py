"""The table that `frazil cost` prints."""

from __future__ import annotations

import pytest

from frazil.cli.console import print_table
from frazil.cli.costs.cost import cost_table
from frazil.costs.prices import PriceList
from frazil.costs.units import Line

LANDED = Line("a", "iceberg", "landing", {"records": 5, "commits": 1})
SHOWN = Line(
    "a", "snowflake", "publication",
    {"publications": 3, "statements": 9, "refreshes": 2, "warehouse_seconds": 1.5},
)  # fmt: skip


def printed(capsys: pytest.CaptureFixture[str], *lines: Line) -> list[list[str]]:
    print_table(cost_table(lines, "layer", PriceList(), total=True))
    return [line.split() for line in capsys.readouterr().out.splitlines()]


def test_what_snowflake_took_stands_in_columns_of_its_own_where_it_took_anything(
    capsys: pytest.CaptureFixture[str],
) -> None:
    head, _, snowflake, total = printed(capsys, LANDED, SHOWN)
    without, *_ = printed(capsys, LANDED)

    assert head[-5:] == ["statements", "refreshes", "warehouse", "(s)", "USD"]
    assert snowflake[:5] == ["snowflake", "3", "9", "2", "1.5"]
    assert total[:6] == ["total", "5", "1", "9", "2", "1.5"]
    assert {"statements", "refreshes", "warehouse"}.isdisjoint(without)
