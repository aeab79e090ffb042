"""What a feed registers for its topic: what is refused is fixed as the error says, and is registered."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from frazil.derive.feeds.feed import _encoders
from frazil.errors import ConfigureError, SpecError
from frazil.formats.registry.client import RegistryClient, registry_client
from frazil.settings.profile import Settings
from frazil.spec.derived import Feed
from frazil.spec.names import TableName
from kit.wires.answering import serving

NAME = TableName("shop", "large")
COLUMNS = Schema(NestedField(1, "id", LongType()), NestedField(2, "n", LongType()))
REGISTERED = {"subject": "s", "version": 1, "id": 7, "schema": '"int"', "schemaType": "AVRO"}
UNFIT = {"error_code": 409, "message": "Schema being registered is incompatible"}


@pytest.fixture
def registry() -> Iterator[RegistryClient]:
    """One whose subject `taken-value` holds columns that these don't fit."""
    with serving() as server:
        server.answers = {
            "/subjects/taken-value/versions": (409, {}, json.dumps(UNFIT).encode()),
            "/subjects/": (200, {}, json.dumps(REGISTERED).encode()),
        }
        yield registry_client(Settings(registry={"url": server.url}))


def test_columns_that_the_registry_does_not_take_are_those_of_another_topic(
    registry: RegistryClient,
) -> None:
    """It told to fix a file, and there is none."""
    with pytest.raises(ConfigureError, match="incompatible") as refused:
        _encoders(registry, Feed(topic="taken"), NAME, COLUMNS)

    _, encode = _encoders(registry, Feed(topic="another"), NAME, COLUMNS)

    assert "the columns of shop.large" in refused.value.where
    assert "name another topic in `feeds`" in refused.value.todo
    assert encode({"id": 1, "n": 2}).startswith(b"\0\0\0\0\7")


def test_a_key_that_is_mended_is_one_of_the_columns_that_are_named(registry: RegistryClient) -> None:
    with pytest.raises(SpecError, match="has no column idd") as refused:
        _encoders(registry, Feed(topic="another", key=("idd",)), NAME, COLUMNS)

    named = refused.value.where.removeprefix("its columns are ").split(", ")
    key, _ = _encoders(registry, Feed(topic="another", key=tuple(named[:1])), NAME, COLUMNS)

    assert refused.value.todo == "Fix feeds in defs.yaml."
    assert key
    assert key({"id": 1, "n": 2}) == b"\0\0\0\0\7\2\2"  # of a union: its branch, and 1
