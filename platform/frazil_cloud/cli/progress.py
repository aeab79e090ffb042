"""What becomes of many objects at once: a line for each news, with the time that it took."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock

from rich.status import Status

from frazil.cli.console import console
from frazil_cloud.patience import Waiting

_log = logging.getLogger(__name__)

_ENDS = {"ready": "green", "gone": "red", "works": "green", "does not work": "bold red"}
_SHOWN = 4


def tell_waiting(waiting: Waiting, *, as_json: bool) -> None:
    """Says on stderr what is waited for; for scripts, as one JSON object in a line."""
    console.print(json.dumps(waiting.document) if as_json else str(waiting), style="dim")


class Progress:
    """Hears of objects what becomes of them, from several threads."""

    def __init__(self, status: Status | None) -> None:
        self._status = status
        self._begun: dict[str, float] = {}
        self._shown: dict[str, str] = {}
        self._lock = RLock()

    def __call__(self, address: str, news: str) -> None:
        """Tells one news; the same one twice in a row is one."""
        with self._lock:
            begun = self._begun.setdefault(address, time.monotonic())
            if self._shown.get(address) == news:
                return
            self._shown[address] = news
            took = f"{time.monotonic() - begun:.1f} s"
            _log.debug("%s: %s, %s", address, news, took)
            if news in _ENDS or self._status is None:
                console.print(f"{address}: {news}, {took}", style=_ENDS.get(news, "dim"))
            if self._status:
                self._status.update(self._running())

    def _running(self) -> str:
        running = [f"{address} {news}" for address, news in self._shown.items() if news not in _ENDS]
        more = f" and {len(running) - _SHOWN} more" if len(running) > _SHOWN else ""
        return ", ".join(running[:_SHOWN]) + more


@contextmanager
def progress() -> Iterator[Progress]:
    """Shows the objects that are under way on a terminal, and every news elsewhere."""
    if not console.is_terminal:
        yield Progress(None)
        return
    with console.status("asking the clouds") as status:
        yield Progress(status)
