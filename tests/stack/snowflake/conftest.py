"""A Snowflake of the tests' own, and an Iceberg table for each test."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from frazil.clients import Clients
from frazil.connections import Connections
from frazil.publishing.snowflake import login
from frazil.settings.profile import Settings
from kit.readers.trades import Trades, make_trades
from kit.stack.standin import StandIn, access_sql, over_stack
from kit.wires.wire import Wire, wired


@pytest.fixture(scope="session")
def standin(stack: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandIn]:
    """A stand-in with a schema `frz.s`, a volume `v` and an integration `g`.

    It looks into catalogs before each statement, where it does so by itself. What tests make there has
    fresh names.
    """
    environment = {**over_stack(stack), "FRAZIL_SNOWFLAKE_PACE": "0"}
    with StandIn(tmp_path_factory.mktemp("snowflake"), environment) as started:
        started.rows("create database frz", "create schema frz.s", *access_sql(stack))
        yield started


@pytest.fixture
def trades(connections: Connections, fresh_name: str) -> Trades:
    """An Iceberg table with one row, shown in Glue."""
    return make_trades(connections, fresh_name)


@pytest.fixture
def wire_and_clients(connections: Connections) -> Iterator[tuple[Wire, Connections]]:
    """A calm wire before the stack's Snowflake, and clients that know it by that."""
    access = connections.settings.snowflake
    with wired({"snowflake": f"http://{access.host}:{access.port}"}) as (wire, urls):
        port = urlsplit(urls["snowflake"]).port
        yield wire, Clients(connections.settings.with_changes(snowflake={"port": port}))


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """A Snowflake that is silent is given up after four seconds, not 120, and a request after two, not 60."""
    real = login.connection_arguments
    with monkeypatch.context() as patch:
        patch.setattr(login, "_NETWORK_SECONDS", 4)
        patch.setattr(login, "_LOGIN_SECONDS", 4)
        patch.setattr(login, "connection_arguments", lambda of: {**real(of), "socket_timeout": 2})
        yield patch
