"""Sessions of Snowflake are lent from table to table."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from frazil.publishing.snowflake import session
from frazil.publishing.snowflake.session import SharedSessions
from frazil.settings.profile import Settings
from kit.runs.continuous import Clock


class Account:
    """Opens sessions, which are numbers, and knows which ones are open."""

    def __init__(self) -> None:
        self.opened, self.open = 0, set[int]()

    @contextmanager
    def login(self, _: Settings) -> Iterator[int]:
        self.opened += 1
        own = self.opened
        self.open.add(own)
        yield own
        self.open.remove(own)


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> Account:
    made = Account()
    monkeypatch.setattr(session, "open_snowflake", made.login)
    return made


def test_tables_at_the_same_time_have_sessions_of_their_own_and_the_next_ones_take_these(
    account: Account,
) -> None:
    sessions = SharedSessions(Settings())

    with sessions.lent() as one, sessions.lent() as other:
        pass
    with sessions.lent() as third, sessions.lent() as fourth:
        assert {third, fourth} == {one, other}
    sessions.close()

    assert (account.opened, account.open) == (2, set())


def test_after_an_error_and_after_a_long_rest_somebody_logs_in_again(account: Account) -> None:
    clock = Clock()
    sessions = SharedSessions(Settings(), clock)
    with sessions.lent(), sessions.lent():
        pass

    with pytest.raises(RuntimeError), sessions.lent():
        raise RuntimeError
    after_an_error = set(account.open)
    with sessions.lent() as third:
        pass
    clock.now += 301
    with sessions.lent() as fourth:
        left = set(account.open)

    assert after_an_error == set()
    assert (third, fourth, left) == (3, 4, {4})
