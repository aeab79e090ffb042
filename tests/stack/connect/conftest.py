"""Who gives tokens."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kit.logins.tokens import Tokens, token_server


@pytest.fixture(scope="module")
def tokens() -> Iterator[Tokens]:
    """An OAuth server that knows one client."""
    with token_server() as tokens:
        yield tokens
