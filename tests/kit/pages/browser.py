"""A browser without a screen, driven by its WebDriver over HTTP: it opens pages and takes their pictures."""

from __future__ import annotations

import shutil
import subprocess
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests

from kit.runs.waiting import PATIENCE, wait_for
from kit.stack.dagster_servers import free_port

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
DRIVER = "chromedriver"

_ARGUMENTS = ["--headless=new", "--no-sandbox", "--hide-scrollbars", "--disable-gpu"]
_AROUND = """
const [parts, margin] = arguments;
const boxes = Array.from(document.querySelectorAll(parts), part => part.getBoundingClientRect());
const x = Math.min(...boxes.map(box => box.left)) - margin;
const y = Math.min(...boxes.map(box => box.top)) - margin;
const width = Math.max(...boxes.map(box => box.right)) + margin - x;
const height = Math.max(...boxes.map(box => box.bottom)) + margin - y;
return {x, y, width, height, scale: 1 / devicePixelRatio};
"""
_WAITING = ".bp4-spinner, .bp5-spinner, [aria-label='Loading'], [class*='Spinner']"

_FETCHING = "fetching statuses"
"""What Dagster shows of a group that it does not know yet."""


@dataclass(frozen=True)
class Browser:
    """One window of a browser."""

    session: str  # its address

    def open(self, address: str, *texts: str, width: int, height: int) -> None:
        """Opens a page, and waits until it shows some texts and nothing that still loads."""
        self._do("window/rect", width=width, height=height)
        self._do("url", url=address)
        wait_for(lambda: self._is_ready(texts))

    def picture(self) -> bytes:
        """The window, as PNG."""
        return b64decode(self._answer(requests.get(f"{self.session}/screenshot", timeout=PATIENCE)))

    def picture_of(self, parts: str, margin: int = 16) -> bytes:
        """The smallest part of the page that shows all these elements, and a margin around them, as PNG.

        Args:
            parts: A CSS selector.
        """
        clip = self.run(_AROUND, parts, margin)
        command = {"cmd": "Page.captureScreenshot", "params": {"clip": clip}}
        return b64decode(self._do("goog/cdp/execute", **command)["data"])

    def prefer(self, scheme: str) -> None:
        """Says to pages that the person at the browser likes `dark` or `light` ones."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        command = {"cmd": "Emulation.setEmulatedMedia", "params": {"features": features}}
        self._do("goog/cdp/execute", **command)

    def text(self) -> str:
        """What the page shows."""
        return str(self.run("return document.body.innerText"))

    def press(self, element: str, keys: str) -> None:
        """Types into the one element that a CSS selector finds, as a person without a mouse does."""
        self._do(f"element/{self._element(element)}/value", text=keys)

    def spoken(self, element: str) -> tuple[str, str]:
        """What a screen reader calls the one element that a CSS selector finds, and its role."""
        identity = self._element(element)
        name, role = (
            self._answer(requests.get(f"{self.session}/element/{identity}/computed{of}", timeout=PATIENCE))
            for of in ("label", "role")
        )
        return str(name), str(role)

    def run(self, script: str, *arguments: object) -> Any:
        """What a script on the page returns."""
        return self._do("execute/sync", script=script, args=list(arguments))

    def _is_ready(self, texts: tuple[str, ...]) -> bool:
        shown = self.text()
        complete = _FETCHING not in shown and all(text in shown for text in texts)
        return complete and not self.run("return document.querySelectorAll(arguments[0]).length", _WAITING)

    def _element(self, element: str) -> str:
        (identity,) = self._do("element", using="css selector", value=element).values()
        return str(identity)

    def _do(self, what: str, **asked: object) -> Any:
        return self._answer(requests.post(f"{self.session}/{what}", json=asked, timeout=PATIENCE))

    @staticmethod
    def _answer(answer: requests.Response) -> Any:
        assert answer.ok, answer.text
        return answer.json()["value"]


def programs() -> tuple[str | None, str | None]:
    """A browser and its driver, where they are installed."""
    return next(filter(None, map(shutil.which, BROWSERS)), None), shutil.which(DRIVER)


@contextmanager
def browser(scale: float = 1.0) -> Iterator[Browser]:
    """A browser until the context ends."""
    program, driver = programs()
    missing = "make pictures needs Chromium: apt-get install chromium chromium-driver"
    assert program, missing
    assert driver, missing
    port = free_port()
    server = subprocess.Popen([driver, f"--port={port}"], stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        yield from _window(f"http://127.0.0.1:{port}", Path(program), scale)
    finally:
        server.terminate()
        server.wait()


def _window(driver: str, program: Path, scale: float) -> Iterator[Browser]:
    wait_for(lambda: _listens(driver))
    options = {"binary": str(program), "args": [*_ARGUMENTS, f"--force-device-scale-factor={scale}"]}
    wanted = {"capabilities": {"alwaysMatch": {"goog:chromeOptions": options}}}
    made = requests.post(f"{driver}/session", json=wanted, timeout=PATIENCE)
    assert made.ok, made.text
    session = f"{driver}/session/{made.json()['value']['sessionId']}"
    try:
        yield Browser(session)
    finally:
        requests.delete(session, timeout=PATIENCE)


def _listens(driver: str) -> bool:
    try:
        return requests.get(f"{driver}/status", timeout=60).ok
    except requests.ConnectionError:
        return False
