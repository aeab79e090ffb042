"""The embedded Spark servers ask for a token; so does no other user of this machine get in."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

import pyarrow as pa
import pytest

from frazil.errors import ConfigureError
from frazil.settings.profile import Settings
from frazil.tables.spark.session import open_spark, shares_workers


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


def test_sessions_share_python_workers_and_leave_none_of_their_own(stack: Settings) -> None:
    def daemon(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            yield pa.RecordBatch.from_pydict({"pid": [os.getppid()]})

    first, second = open_spark(stack), open_spark(stack)
    pids = [session.range(1).mapInArrow(daemon, "pid long").collect() for session in (first, second)]

    assert shares_workers(first)
    assert pids[0] == pids[1]
