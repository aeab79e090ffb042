"""A login to Snowflake ends in time, whatever the connector's own tries add up to."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event

import pytest
import snowflake.connector

from frazil.errors import PartDownError
from frazil.publishing.snowflake import login
from frazil.publishing.snowflake.connection import open_snowflake
from frazil.settings.profile import Settings
from kit.waiting import PATIENCE

SETTINGS = Settings.load(snowflake={"account": "us-one", "user": "frazil", "token": "said"})


class Slow:
    """A connector whose login lasts until it may end."""

    def __init__(self) -> None:
        self.may_end, self.closed = Event(), Event()

    def connect(self, **_: object) -> Slow:
        """As the connector's."""
        assert self.may_end.wait(PATIENCE)
        return self

    def close(self) -> None:
        """As a connection's."""
        self.closed.set()


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[Slow]:
    found = Slow()
    monkeypatch.setattr(snowflake.connector, "connect", found.connect)
    yield found
    found.may_end.set()


def test_a_login_that_lasts_longer_than_its_limit_is_given_up_and_closed_when_it_comes(
    slow: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(login, "_LOGIN_SECONDS", 0)

    with pytest.raises(PartDownError, match="Snowflake does not answer"), open_snowflake(SETTINGS):
        pass
    slow.may_end.set()

    assert slow.closed.wait(PATIENCE)


def test_a_login_within_the_limit_is_kept_until_the_work_is_done(slow: Slow) -> None:
    slow.may_end.set()

    with open_snowflake(SETTINGS):
        assert not slow.closed.is_set()

    assert slow.closed.is_set()
