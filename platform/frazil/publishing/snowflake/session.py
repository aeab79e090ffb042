"""Sessions for many tables: a login takes longer than what is sent of a table."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from frazil.publishing.snowflake.connection import open_snowflake
from frazil.settings.profile import Settings

if TYPE_CHECKING:
    from snowflake.connector import SnowflakeConnection

_KEPT_IDLE = 300.0
"""Seconds after which one that nobody used is closed: Snowflake itself ends it after four hours."""


@dataclass(frozen=True, slots=True)
class _Idle:
    connection: SnowflakeConnection
    closing: ExitStack
    since: float


class SharedSessions:
    """Sessions that are opened when no other one is free. After an error the next table logs in again."""

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        self._settings, self._clock = settings, clock
        self._free: list[_Idle] = []
        self._guard = threading.Lock()

    @contextmanager
    def lent(self) -> Iterator[SnowflakeConnection]:
        """A session, to one table at a time; any thread may ask."""
        used = self._taken() or self._opened()
        try:
            yield used.connection
        except BaseException:  # whatever it was, Snowflake may have lost the others, too
            used.closing.close()
            self.close()
            raise
        with self._guard:
            self._free.append(_Idle(used.connection, used.closing, self._clock()))

    def close(self) -> None:
        """Logs out of all that are free."""
        with self._guard:
            free, self._free = self._free, []
        for each in free:
            each.closing.close()

    def _taken(self) -> _Idle | None:
        """The one that was used last; those that nobody used for long are closed."""
        oldest = self._clock() - _KEPT_IDLE
        with self._guard:
            stale = [each for each in self._free if each.since < oldest]
            self._free = [each for each in self._free if each.since >= oldest]
            taken = self._free.pop() if self._free else None
        for each in stale:
            each.closing.close()
        return taken

    def _opened(self) -> _Idle:
        closing = ExitStack()
        return _Idle(closing.enter_context(open_snowflake(self._settings)), closing, self._clock())
