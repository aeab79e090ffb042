"""The pages of `frazil dashboard` over all tables in a real browser, as a screen reader finds their grids."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import pytest
import requests

from frazil.connections import Connections
from frazil.landing.land import land
from kit.pages.browser import Browser, browser, programs
from kit.records.topics import Topic
from kit.runs.shell import FRAZIL, Command, Shell
from kit.runs.waiting import wait_for
from kit.stack.standin import free_port

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(not all(programs()), reason="apt-get install chromium chromium-driver"),
]

SIZE = {"width": 1400, "height": 2600}
"""High enough that a page shows all rows that are compared."""

CELLS = """
return Array.from(document.querySelectorAll('[data-testid="stDataFrame"]'), frame => {
  const rows = Array.from(frame.querySelectorAll('table tr[role="row"]'));
  const cells = '[role="columnheader"], [role="gridcell"]';
  return rows.map(row => Array.from(row.querySelectorAll(cells), cell => cell.innerText));
});
"""
"""The grids of a page as a screen reader finds them: their headers, and the rows that are in sight."""


@dataclass(frozen=True)
class Served:
    """The dashboard in a browser."""

    window: Browser
    address: str

    def open(self, path: str, *texts: str) -> None:
        self.window.open(f"{self.address}/{path}", *texts, **SIZE)

    def grid(self, place: int) -> list[dict[str, str]]:
        """The rows of one grid that are in sight; none while it is drawn."""
        grids = self.window.run(CELLS)
        head, *rows = grids[place] if len(grids) > place and grids[place] else [[]]
        return [dict(zip(head, row, strict=True)) for row in rows]


@contextmanager
def served(shell: Shell, window: Browser) -> Iterator[Served]:
    port = free_port()
    environment = {**os.environ, "FRAZIL_PIPELINES": str(shell.pipelines)}
    with subprocess.Popen([FRAZIL, "dashboard", "--port", str(port)], env=environment) as server:
        try:
            wait_for(partial(serves, port))
            yield Served(window, f"http://127.0.0.1:{port}")
        finally:
            server.kill()  # Streamlit hears no signal that comes as it starts


def serves(port: int) -> bool:
    try:
        return requests.get(f"http://127.0.0.1:{port}/_stcore/health", timeout=5).ok
    except requests.ConnectionError:
        return False


@pytest.fixture(scope="module")
def window() -> Iterator[Browser]:
    with browser() as opened:
        yield opened


def test_the_pages_of_all_tables_show_what_lies_in_them(
    shell: Shell, frazil: Command, connections: Connections, window: Browser, topic: Topic, name: str
) -> None:
    land(topic.spec, connections)
    topic.trades(5)
    costs_by_command = frazil("cost", name, "--json").document

    with served(shell, window) as page:
        page.open("", "Tables", "records that wait")
        wait_for(lambda: page.grid(0))
        (row,) = page.grid(0)
        page.open("frazil-layers", "Layers", "Upkeep that was done")
        wait_for(lambda: page.grid(0))
        layers = [each["layer"] for each in page.grid(0)]
        page.open("frazil-cost", "Cost", "The same traffic elsewhere")
        wait_for(lambda: page.grid(1))
        (costs,), works = page.grid(0), page.grid(1)

    assert (row["table"], row["rows"], row["lag"] != "0") == (name, "10", True)
    assert layers == ["iceberg", "glue", "snowflake"]
    assert (costs["table"], costs["writes"]) == (name, str(int(costs_by_command["total"]["writes"])))
    assert {each["work"] for each in works} >= {"creation", "landing", "storage"}
