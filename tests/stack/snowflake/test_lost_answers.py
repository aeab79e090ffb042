"""A Snowflake whose answers are lost, cut or refused: the table is shown, and what is told of it is true."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import urlsplit

import pytest

from frazil.clients import Clients
from frazil.connections import Connections
from frazil.errors import PartDownError
from kit.targets import read_snowflake, sync_snowflake
from kit.trades import Trades
from kit.wire import Asked, Fate, Wire, wired

FATES: tuple[Fate, ...] = ("dropped", "cut", "failed", "halved", "refused")


@pytest.fixture
def wire_and_clients(connections: Connections) -> Iterator[tuple[Wire, Connections]]:
    """A calm wire before the stack's Snowflake, and clients that know it by that."""
    told = connections.settings.snowflake
    with wired({"snowflake": f"http://{told.host}:{told.port}"}) as (wire, urls):
        port = urlsplit(urls["snowflake"]).port
        yield wire, Clients(connections.settings.with_changes(snowflake={"port": port}))


@pytest.mark.parametrize("fate", FATES)
def test_what_befalls_a_statement_is_made_good_or_told_as_unknown(
    wire_and_clients: tuple[Wire, Connections], trades: Trades, fate: Fate
) -> None:
    wire, clients = wire_and_clients
    for count, statement in enumerate(("CREATE ICEBERG TABLE", "REFRESH"), 1):
        wire.once(fate, lambda asked, said=statement: said in sql(asked))  # type: ignore[misc]
        with suppress(PartDownError):
            sync_snowflake(clients, trades.names)
        sync_snowflake(clients, trades.names)
        shown = read_snowflake(clients, trades.names)
        assert shown
        assert shown.rows == count
        assert wire.met["snowflake", fate] == count
        trades.append("MORE")
        trades.show()


def sql(asked: Asked) -> str:
    """The statement of a request, if it is one."""
    if "/query-request" not in asked.path:
        return ""
    return str(json.loads(gzip.decompress(asked.body)).get("sqlText", ""))
