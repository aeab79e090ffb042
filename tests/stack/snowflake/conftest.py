"""A Snowflake of the tests' own, and an Iceberg table for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from frazil.connections import Connections
from frazil.settings.profile import Settings
from kit.readers.trades import Trades, make_trades
from kit.stack.standin import StandIn, access_sql, over_stack


@pytest.fixture(scope="module")
def standin(stack: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandIn]:
    """A stand-in with a schema `frz.s`, a volume `v` and an integration `g`."""
    with StandIn(tmp_path_factory.mktemp("snowflake"), over_stack(stack)) as started:
        started.rows("create database frz", "create schema frz.s", *access_sql(stack))
        yield started


@pytest.fixture
def trades(connections: Connections, fresh_name: str) -> Trades:
    """An Iceberg table with one row, shown in Glue."""
    return make_trades(connections, fresh_name)
