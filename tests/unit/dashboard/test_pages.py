"""dashboard.yaml: what a pipeline shows, every mistake with its line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from frazil.cli.views.sandbox import Sandbox, sandbox
from frazil.errors import SpecError
from frazil.settings.profile import Settings
from frazil_dashboard.page import Page
from frazil_dashboard.pages import load_pages, read_page

PAGE = """
title: Trades
choices:
  - {name: symbol, sql: SELECT DISTINCT symbol FROM trades}
  - {name: top, from: 3, to: 30}
charts:
  - title: Values
    kind: bar
    x: symbol
    y: value
    sql: SELECT symbol, sum(price) AS value FROM trades WHERE symbol = $symbol GROUP BY ALL LIMIT $top
"""


@pytest.fixture
def duck() -> Iterator[Sandbox]:
    with sandbox() as duck:
        yield duck


def page(text: str, folder: Path, duck: Sandbox) -> Page:
    file = folder / "dashboard.yaml"
    file.write_text(text)
    return read_page(file, duck)


def test_a_page_has_choices_and_charts(tmp_path: Path, duck: Sandbox) -> None:
    shown_page = page(PAGE, tmp_path, duck)
    assert [choice.name for choice in shown_page.choices] == ["symbol", "top"]
    assert [(chart.kind, chart.x, chart.y) for chart in shown_page.charts] == [("bar", "symbol", "value")]
    assert len(shown_page.queries) == 2


@pytest.mark.parametrize(
    ("good", "bad", "line", "expected"),
    [
        ("= $symbol", "= $symbl", 11, "$symbl is no choice of this page; did you mean $symbol?"),
        ("SELECT DISTINCT symbol FROM trades", "DROP TABLE trades", 4, "This is not one SELECT."),
        ("SELECT symbol, sum", "SELECT 1; SELECT symbol, sum", 11, "This is not one SELECT."),
        ("FROM trades WHERE", "FROM read_csv('/etc/passwd') WHERE", 11, "can't call read_csv"),
        ("    y: value\n", "", 7, "a bar needs `x` and `y`"),
        ("kind: bar", "kind: pie", 8, "'line', 'bar', 'table' or 'number'"),
        ("title: Trades", "titel: Trades", 2, "did you mean 'title'?"),
        ("from: 3, to: 30", "from: 3", 5, "write `sql`, or `from` and `to`"),
        ("from: 3, to: 30", "from: 30, to: 3", 5, "`from` must be less than `to`"),
        ("name: top", "name: symbol", 5, "there is another choice symbol"),
        ("name: top", "name: a-b", 5, "String should match pattern"),
    ],
)
def test_a_mistake_is_named_with_its_line(
    tmp_path: Path, duck: Sandbox, good: str, bad: str, line: int, expected: str
) -> None:
    assert good in PAGE
    with pytest.raises(SpecError) as refused:
        page(PAGE.replace(good, bad), tmp_path, duck)
    assert f"dashboard.yaml:{line}: " in refused.value.what
    assert expected in refused.value.what


def test_a_page_is_one_document(tmp_path: Path, duck: Sandbox) -> None:
    with pytest.raises(SpecError, match="one document is expected, and it has 2"):
        page(f"{PAGE}\n---\n{PAGE}", tmp_path, duck)


def test_the_pipelines_that_come_with_frazil_have_pages() -> None:
    pages = load_pages(Settings.load())
    assert {name: shown_page.title for name, shown_page in pages.items()} == {
        "airline": "Flights",
        "trading": "Trades",
    }
    assert {choice.name: choice.least for choice in pages["airline"].choices}["top"] == 3
