"""The clients of a process: one set per connection, opened once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from frazil.connections import apart
from frazil.errors import ConfigureError
from frazil.spec.topic import TableSpec
from kit.stack.clusters import EU, Lake, lake_in

HERE, THERE, THERE_TOO = (
    TableSpec(topic="a"), TableSpec(topic="b", connection=EU), TableSpec(topic="c", connection=EU)
)  # fmt: skip


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lake]:
    monkeypatch.setenv("FRAZIL_CONNECTIONS", json.dumps({EU: {"kafka": {"bootstrap_servers": "eu:1"}}}))
    with lake_in(tmp_path / "lake") as lake:
        yield lake


def test_each_connection_has_clients_of_its_own_that_all_its_tables_share(lake: Lake) -> None:
    assert lake.of(HERE) is lake
    assert lake.of(THERE) is lake.of(THERE_TOO)
    assert lake.of(THERE).of(THERE) is lake.of(THERE)
    assert lake.of(THERE).settings.kafka.bootstrap_servers == "eu:1"
    assert lake.of(THERE).catalog is not lake.catalog


def test_tables_are_put_apart_in_their_order(lake: Lake) -> None:
    assert list(apart([THERE, HERE, THERE_TOO], lake)) == [
        ([THERE, THERE_TOO], lake.of(THERE)), ([HERE], lake),
    ]  # fmt: skip


def test_a_connection_that_nobody_told_is_named(lake: Lake) -> None:
    with pytest.raises(ConfigureError, match="no connection us"):
        lake.of(TableSpec(topic="a", connection="us"))
