"""One session for many tables, one after the other: a login takes longer than what is sent of a table."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from frazil.publishing.snowflake.connection import open_snowflake
from frazil.settings.profile import Settings

if TYPE_CHECKING:
    from snowflake.connector import SnowflakeConnection


class OneSession:
    """A session that is opened when the first table needs it. After an error the next table logs in again."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._opened = ExitStack()
        self._connection: SnowflakeConnection | None = None

    @contextmanager
    def lent(self) -> Iterator[SnowflakeConnection]:
        """The session, to one table at a time."""
        if self._connection is None:
            self._connection = self._opened.enter_context(open_snowflake(self._settings))
        try:
            yield self._connection
        except BaseException:  # whatever it was, Snowflake may have lost the session
            self.close()
            raise

    def close(self) -> None:
        """Logs out, if anybody logged in."""
        self._connection = None
        self._opened.close()
