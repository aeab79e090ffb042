"""What is no answer of Glue, of a REST catalog or of Snowflake is told as such; it is no fault of Frazil."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from frazil.clients import Clients
from frazil.errors import ConfigureError, RepairError
from frazil.publishing.glue import Glue
from frazil.publishing.snowflake.tables import Snowflake
from frazil.settings.profile import Settings
from frazil.spec.names import TableName
from frazil.spec.topic import TableSpec
from frazil.tables.catalog import catalog_errors, load_table, open_catalog
from kit.answering import Rows, Server, serving

SPEC = TableSpec(topic="t", namespace="n")


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.mark.parametrize(
    "table", [None, {}, {"Table": {}}, {"Table": {"Parameters": ["a"]}}, {"Table": 7}, ["a"]]
)
def test_an_entry_of_another_shape_is_none_of_glues(server: Server, table: Any) -> None:
    aws = {"access_key": "key", "secret_key": "secret"}
    lake = Clients(Settings(glue={"endpoint": server.url}, aws=aws))
    server.answers = {"GetTable": (200, {}, json.dumps(table).encode())}

    with pytest.raises(RepairError, match="does not answer as Glue does"):
        Glue(SPEC, lake.settings).read(lake)


@pytest.mark.parametrize("status", [400, 409, 422])
def test_a_refusal_without_words_is_glues(server: Server, status: int) -> None:
    aws = {"access_key": "key", "secret_key": "secret"}
    lake = Clients(Settings(glue={"endpoint": server.url}, aws=aws))
    server.answers = {"GetTable": (status, {}, b"{}")}

    with pytest.raises(ConfigureError, match="Glue refuses the request"):
        Glue(SPEC, lake.settings).read(lake)


@pytest.mark.parametrize("status", [400, 409])
def test_a_refusal_without_words_is_the_catalogs(server: Server, status: int) -> None:
    settings = Settings(rest={"uri": server.url, "token": "token"})
    server.answers = {
        "v1/config": (200, {}, b'{"defaults": {}, "overrides": {}}'),
        "tables": (status, {}, b"[]"),
    }

    with (
        pytest.raises(ConfigureError, match="The Iceberg catalog refuses the request"),
        catalog_errors(settings),
    ):
        load_table(open_catalog(settings), TableName("n", "t"))


@pytest.mark.parametrize("information", ["{", "[]", '{"other": 1}', "7"])
def test_rows_of_another_form_are_none_of_snowflakes(information: str) -> None:
    lake = Clients(Settings(snowflake={"account": "a"}))

    @contextmanager
    def opened() -> Iterator[Any]:
        yield Rows({"GET_ICEBERG": [[information]]})

    lake.snowflake = opened  # type: ignore[method-assign]
    with pytest.raises(RepairError, match="another form"):
        Snowflake(SPEC, lake.settings).read(lake)
