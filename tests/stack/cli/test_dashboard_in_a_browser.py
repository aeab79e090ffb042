"""Each page of `frazil dashboard` in a real browser: its grids, its charts, and what is chosen by keys."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pytest
import yaml

import assets
from frazil.connections import Connections
from frazil.derive.derive import derive
from frazil.derive.tables import load_tables
from frazil.landing.land import land
from frazil.settings.profile import Settings
from frazil_local.generators import GENERATORS
from frazil_local.generators.generator import generate
from kit.pages.browser import Browser, browser, programs
from kit.pages.dashboard import Dashboard, Row, dashboard_of
from kit.readers.duck import duckdb_on
from kit.records.topics import Topic
from kit.runs.shell import NAMESPACE, Command, Shell
from kit.runs.waiting import wait_for

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(not all(programs()), reason="apt-get install chromium chromium-driver"),
]

PIPELINES = Path(next(iter(assets.__path__))) / "pipelines"


@pytest.fixture(scope="module")
def window() -> Iterator[Browser]:
    with browser() as opened:
        yield opened


@pytest.fixture
def trading(shell: Shell, connections: Connections, fresh_name: str) -> dict[str, str]:
    """Trades of the test's own, by the name that the pipeline's page has for them."""
    generate(GENERATORS["stock_trades"], connections.settings, topic=fresh_name, count=500, seed=38)
    shell.write({"topic": fresh_name, "publish": []}, name="trading")
    return {"stock_trades": fresh_name}


@pytest.fixture
def airline(shell: Shell, connections: Connections, fresh_name: str) -> dict[str, str]:
    """Flights of the test's own, made of tickets."""
    names = {name: f"{fresh_name}_{name}" for name in ("skyone", "sunset", "flight")}
    for name in ("skyone", "sunset"):
        generate(GENERATORS[name], connections.settings, topic=names[name], count=300, seed=38)
    sql = renamed((PIPELINES / "airline" / "flight.sql").read_text(), names)
    topics = [{"topic": names[name], "key_format": "none", "publish": []} for name in ("skyone", "sunset")]
    made = {"table": names["flight"], "sql": sql, "publish": []}
    shell.write(*topics, name="airline", derived=[made])
    return {"flight": names["flight"]}


def renamed(sql: str, names: Mapping[str, str]) -> str:
    for name, own in names.items():
        sql = re.sub(rf"\bFROM {name}\b", f"FROM {own}", sql)
    return sql


@dataclass(frozen=True)
class Figures:
    """A pipeline's page, beside what DuckDB says of the same SELECTs.

    Args:
        values: What is chosen, by the choices' names.
    """

    page: Dashboard
    written: Mapping[str, Any]
    duck: duckdb.DuckDBPyConnection
    values: dict[str, Any]

    def agree(self) -> bool:
        """Whether each number, grid and chart shows what DuckDB says of the values."""
        charts = self.written["charts"]
        kinds = [chart.get("kind", "table") for chart in charts]
        places = [kinds[:n].count(kind) for n, kind in enumerate(kinds)]
        plots = [sum(k in ("line", "bar") for k in kinds[:n]) for n in range(len(kinds))]
        return all(
            self._number(chart, place) if kind == "number"
            else self._grid(chart, place) if kind == "table"
            else self._plot(chart, plot)
            for chart, kind, place, plot in zip(charts, kinds, places, plots, strict=True)
        )  # fmt: skip

    def options(self, choice: Mapping[str, Any]) -> list[Any]:
        return [value for (value,) in self.duck.execute(choice["sql"]).fetchall()]

    def rows(self, sql: str) -> list[dict[str, Any]]:
        done = self.duck.execute(sql, {name: v for name, v in self.values.items() if f"${name}" in sql})
        names = [column[0] for column in done.description]
        return [dict(zip(names, row, strict=True)) for row in done.fetchall()]

    def _number(self, chart: Mapping[str, Any], place: int) -> bool:
        (row,) = self.rows(chart["sql"])
        return self.page.numbers[place : place + 1] == [f"{value:,}" for value in row.values()]

    def _grid(self, chart: Mapping[str, Any], place: int) -> bool:
        rows, shown = self.rows(chart["sql"]), self.page.grid(place)
        return bool(shown) is bool(rows) and same(shown, rows[: len(shown)])

    def _plot(self, chart: Mapping[str, Any], place: int) -> bool:
        wanted = (chart["x"], chart["y"], chart.get("colour"))
        rows = [{k: v for k, v in row.items() if k in wanted} for row in self.rows(chart["sql"])]
        shown = self.page.chart(place)
        if chart["kind"] == "bar":  # in the order of the rows
            return same(shown, rows)
        return sorted(map(counted(chart), shown)) == sorted(map(counted(chart), rows))


def counted(chart: Mapping[str, Any]) -> Any:
    """Of a row what does not depend on how a browser writes times."""
    return lambda row: (str(row[chart["colour"]]), int(row[chart["y"]]))


def same(shown: list[Row], rows: list[dict[str, Any]]) -> bool:
    """Whether rows in sight are those; but for times, which each browser writes in its own way."""
    if len(shown) != len(rows):
        return False
    texts = [{name: str(v) for name, v in row.items() if isinstance(v, int | str)} for row in rows]
    pairs = zip(shown, texts, strict=True)
    return texts == [{name: row.get(name, "").replace(",", "") for name in text} for row, text in pairs]


@pytest.mark.parametrize("name", ["trading", "airline"])
def test_what_is_chosen_by_keys_on_a_pipelines_page_shows_what_sql_says_of_it(
    shell: Shell, connections: Connections, window: Browser, stack: Settings,
    request: pytest.FixtureRequest, name: str,
) -> None:  # fmt: skip
    tables: dict[str, str] = request.getfixturevalue(name)
    source = (PIPELINES / name / "dashboard.yaml").read_text()
    full = {own: f"{NAMESPACE}.{table}" for own, table in tables.items()}
    (shell.pipelines / name / "dashboard.yaml").write_text(renamed(source, full))
    fill(connections)
    written = yaml.safe_load(source)

    with dashboard_of(shell, window) as page, duckdb_on(stack) as duck:
        for own, table in tables.items():
            at = connections.catalog.load_table((NAMESPACE, table)).metadata_location
            duck.execute(f"CREATE VIEW {own} AS SELECT * FROM iceberg_scan('{at}')")
        figures = Figures(page, written, duck, {})
        for choice in written["choices"]:
            figures.values[choice["name"]] = choice.get("value") or figures.options(choice)[0]
        page.open(name, written["title"], *(chart["title"] for chart in written["charts"]))
        wait_for(figures.agree)

        for choice in written["choices"]:
            figures.values[choice["name"]] = changed(page, choice, figures)
            wait_for(figures.agree)

        rows = figures.rows(written["charts"][-1]["sql"])
        text = next(value for value in rows[0].values() if isinstance(value, str))
        hits = sum(text in str(value) for row in rows for value in row.values())
        page.search(0, text)
        wait_for(lambda: f"{hits} result" in page.window.text())


def fill(connections: Connections) -> None:
    """Lands and derives all tables of the shell's pipelines."""
    pipelines = load_tables(Settings.load()).pipelines.all()
    for spec in (spec for each in pipelines for spec in each.tables):
        land(spec, connections)
    for made in (spec for each in pipelines for spec in each.derived):
        derive(made, connections)


def changed(page: Dashboard, choice: Mapping[str, Any], figures: Figures) -> Any:
    """Moves a choice by keys, as one who hears it; what it is then."""
    label = choice["label"]
    spoken, role = page.spoken(label)
    assert label in spoken
    if "sql" in choice:
        value = (figures.options(choice) * 2)[1]  # there may be one year only
        page.choose_next(label)
    else:
        value = choice["from"]
        page.choose_least(label)
    wait_for(lambda: page.value(label) == str(value))
    assert role == ("combobox" if "sql" in choice else "slider")
    return value


def test_the_pages_of_all_tables_show_what_lies_in_them(
    shell: Shell, frazil: Command, connections: Connections, window: Browser, topic: Topic, name: str
) -> None:
    land(topic.spec, connections)
    topic.trades(5)
    costs_by_command = frazil("cost", name, "--json").document

    with dashboard_of(shell, window) as page:
        page.open("", "Tables", "records that wait")
        wait_for(partial(page.grid, 0))
        (row,) = page.grid(0)
        page.open("frazil-layers", "Layers", "Upkeep that was done")
        wait_for(partial(page.grid, 0))
        layers = [each["layer"] for each in page.grid(0)]
        page.open("frazil-cost", "Cost", "The same traffic elsewhere")
        wait_for(partial(page.grid, 1))
        (costs,), works = page.grid(0), page.grid(1)

    assert (row["table"], row["rows"], row["lag"] != "0") == (name, "10", True)
    assert layers == ["iceberg", "glue", "snowflake"]
    assert (costs["table"], costs["writes"]) == (name, str(int(costs_by_command["total"]["writes"])))
    assert {each["work"] for each in works} >= {"creation", "landing", "storage"}


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_a_page_is_as_dark_as_its_reader_likes_and_can_be_read(
    shell: Shell, window: Browser, scheme: str
) -> None:
    with dashboard_of(shell, window) as page:
        window.prefer(scheme)
        page.open("", "Tables", "records that wait")
        text, ground = page.brightness()

    assert (ground < text) is (scheme == "dark")
    assert (max(text, ground) + 0.05) / (min(text, ground) + 0.05) >= 4.5, "as WCAG asks of text"
