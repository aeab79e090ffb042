"""`frazil dashboard` in a browser: what its pages show, as a screen reader finds it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import requests

from kit.pages.browser import Browser
from kit.runs.shell import FRAZIL, Shell
from kit.runs.waiting import wait_for
from kit.stack.standin import free_port

Row = dict[str, str]

_SIZE = {"width": 1400, "height": 2600}
"""High enough that a page shows all that is compared."""

_GRIDS = """
return Array.from(document.querySelectorAll('[data-testid="stDataFrame"]'), frame => {
  const rows = Array.from(frame.querySelectorAll('table tr[role="row"]'));
  const cells = '[role="columnheader"], [role="gridcell"]';
  return rows.map(row => Array.from(row.querySelectorAll(cells), cell => cell.innerText));
});
"""
_MARKS = """
const marks = '[aria-roledescription="bar"], [aria-roledescription="point"]';
return Array.from(document.querySelectorAll('[data-testid="stVegaLiteChart"]'), chart =>
  Array.from(chart.querySelectorAll(marks), mark => mark.getAttribute('aria-label')));
"""
_METRICS = """
return Array.from(document.querySelectorAll('[data-testid="stMetricValue"]'), value => value.innerText);
"""
_COLOURS = """
const style = getComputedStyle(document.querySelector('[data-testid="stApp"]'));
return [style.color, style.backgroundColor].map(colour => colour.match(/[0-9]+/g).slice(0, 3).map(Number));
"""
_VALUE = "return document.querySelector(arguments[0]).value"
_IS_OPEN = "return document.querySelectorAll('[role=option]').length"
_SEARCH = """
const tools = '[data-testid="stElementToolbar"] button[aria-label="Search"]';
document.querySelectorAll(tools)[arguments[0]].click();
"""
_SEARCHED = "input[data-testid=search-input]"

_HOME, _DOWN, _ENTER = "\ue011", "\ue015", "\ue007"


@dataclass(frozen=True)
class Dashboard:
    """One window on the dashboard."""

    window: Browser
    address: str

    def open(self, path: str, *texts: str) -> None:
        """Opens one of its pages, and waits until it shows some texts."""
        self.window.open(f"{self.address}/{path}", *texts, **_SIZE)

    def grid(self, place: int) -> list[Row]:
        """The rows of one grid that are in sight; none while it is drawn."""
        grids = self.window.run(_GRIDS)
        head, *rows = grids[place] if len(grids) > place and grids[place] else [[]]
        return [dict(zip(head, row, strict=True)) for row in rows]

    def chart(self, place: int) -> list[Row]:
        """What one chart says of each of its bars or points; nothing while it is drawn."""
        charts = self.window.run(_MARKS)
        marks = charts[place] if len(charts) > place else []
        return [dict(part.split(": ", 1) for part in mark.split("; ")) for mark in marks]

    @property
    def numbers(self) -> list[str]:
        """The numbers that stand alone."""
        return list(self.window.run(_METRICS))

    def brightness(self) -> tuple[float, float]:
        """Of its text and of what lies below, from 0 to 1: https://www.w3.org/TR/WCAG22/#dfn-relative-luminance."""
        text, ground = (_luminance(colour) for colour in self.window.run(_COLOURS))
        return text, ground

    def value(self, label: str) -> str:
        """What is chosen."""
        return str(self.window.run(_VALUE, _named(label)))

    def choose_next(self, label: str) -> None:
        """Takes the option below the one that is chosen, by keys."""
        self.window.press(_named(label), _DOWN)
        wait_for(lambda: self.window.run(_IS_OPEN))
        self.window.press(_named(label), _ENTER)

    def choose_least(self, label: str) -> None:
        """Moves a slider to its beginning, by keys."""
        self.window.press(_named(label), _HOME)

    def spoken(self, label: str) -> tuple[str, str]:
        """What a screen reader calls a choice, and its role."""
        return self.window.spoken(_named(label))

    def search(self, place: int, text: str) -> None:
        """Searches one grid for a text."""
        self.window.run(_SEARCH, place)
        wait_for(lambda: self.window.run(f"return document.querySelector('{_SEARCHED}')"))
        self.window.press(_SEARCHED, text)


def _luminance(colour: list[int]) -> float:
    parts = (c / 255 / 12.92 if c / 255 <= 0.04045 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in colour)
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), parts, strict=True))


def _named(label: str) -> str:
    return f"input[aria-label='{label}']"


@contextmanager
def dashboard_of(shell: Shell, window: Browser) -> Iterator[Dashboard]:
    """The dashboard of a shell's pipelines, until the context ends."""
    port = free_port()
    environment = {**os.environ, "FRAZIL_PIPELINES": str(shell.pipelines)}
    with subprocess.Popen([FRAZIL, "dashboard", "--port", str(port)], env=environment) as server:
        try:
            wait_for(partial(_serves, port))
            yield Dashboard(window, f"http://127.0.0.1:{port}")
        finally:
            server.kill()  # Streamlit hears no signal that comes as it starts


def _serves(port: int) -> bool:
    try:
        return requests.get(f"http://127.0.0.1:{port}/_stcore/health", timeout=5).ok
    except requests.ConnectionError:
        return False
