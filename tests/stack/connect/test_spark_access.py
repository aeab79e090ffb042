"""The embedded Spark servers ask for a token; so does no other user of this machine get in."""

from __future__ import annotations

import pytest

from frazil.errors import ConfigureError
from frazil.settings.profile import Settings
from frazil.tables.spark import open_spark


@pytest.fixture(params=["landings", "upkeep"])
def server(stack: Settings, request: pytest.FixtureRequest) -> Settings:
    """The settings of each of the two."""
    return stack if request.param == "landings" else stack.of_upkeep


@pytest.mark.parametrize("token", [None, "another"])
def test_without_the_servers_token_nobody_gets_in(server: Settings, token: str | None) -> None:
    with pytest.raises(ConfigureError, match="refuses the token"):
        open_spark(server.with_changes(spark={"token": token}))


def test_with_it_a_session_opens(server: Settings) -> None:
    assert open_spark(server).conf.get("spark.app.name") == "frazil"
