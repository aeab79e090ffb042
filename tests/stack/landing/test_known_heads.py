"""A head that a process has seen is not sent to it again; what others commit is seen all the same."""

from __future__ import annotations

from typing import Any

import pytest
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.types import LongType, NestedField

from frazil.clients import Clients
from frazil.landing.land import land
from frazil.spec.names import TableName
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.commits.commit import set_properties
from kit.records.topics import Topic, topic_maker

pytestmark = [
    pytest.mark.also("glue", why="its heads are files that the process itself reads and writes"),
]


@pytest.fixture
def topic(lake: Clients, fresh_name: str) -> Topic:
    """Landed once, by a process of its own."""
    topic = topic_maker(Clients(lake.settings), fresh_name, "known_heads")()
    land_more(topic)
    return topic


def land_more(topic: Topic) -> None:
    topic.trades(5, plain="only heads are looked at")
    land(topic.spec, topic.connections)


def handle(topic: Topic, by: Any = None) -> TableHandle:
    """The table's, asked for by the topic's own process or by another one."""
    return TableHandle((by or topic.connections).catalog, topic.things.table)


def seen_by_a_new_process(topic: Topic) -> TableMetadata:
    return handle(topic, Clients(topic.connections.settings)).load().metadata


def test_what_another_process_commits_is_seen(topic: Topic) -> None:
    other = handle(topic, Clients(topic.connections.settings))
    before = handle(topic).load()
    set_properties(other, {"noted": "by another"})
    noted = handle(topic).load()
    land_more(topic)

    assert "noted" not in before.properties
    assert noted.properties["noted"] == "by another"
    assert other.load().metadata == handle(topic).load().metadata == seen_by_a_new_process(topic)


def test_a_table_that_is_made_anew_is_another_one(lake: Clients, fresh_name: str) -> None:
    name, columns = TableName("known_heads", fresh_name), Schema(NestedField(1, "n", LongType()))
    lake.catalog.create_namespace_if_not_exists(name.namespace)
    first = lake.catalog.create_table(name.identifier, columns)
    known = TableHandle(lake.catalog, name).load()
    other = Clients(lake.settings).catalog
    other.drop_table(name.identifier)
    second = other.create_table(name.identifier, columns)

    assert known.metadata.table_uuid == first.metadata.table_uuid
    assert TableHandle(lake.catalog, name).load().metadata.table_uuid == second.metadata.table_uuid


@pytest.mark.parametrize("lake", ["rest"], indirect=True)
def test_a_head_that_is_known_comes_without_the_snapshots_before_it(topic: Topic) -> None:
    sent: list[dict[str, Any]] = []
    catalog: Any = topic.connections.catalog
    catalog._session.hooks["response"].append(lambda answer, **_: sent.append(answer.json()))
    table: Table = handle(topic).load()

    assert len(table.metadata.snapshots) > 1
    assert [len(answer["metadata"]["snapshots"]) for answer in sent] == [1]
