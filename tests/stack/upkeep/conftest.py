"""A topic of one's own for each test, on the catalog over REST; ask for `lake` where both count."""

from __future__ import annotations

import pytest

from frazil.clients import Clients
from frazil.connections import Connections
from kit.readers.compared import rows_are_their_records
from kit.records.topics import MakeTopic, Topic, topic_maker

__all__ = ["rows_are_their_records"]


@pytest.fixture
def make_topic(connections: Connections, fresh_name: str) -> MakeTopic:
    """Makes topics: `make_topic(partition_by=["side"])`."""
    return topic_maker(connections, fresh_name, "upkeep_tests")


@pytest.fixture
def topic(make_topic: MakeTopic) -> Topic:
    """A topic of one partition, all defaults."""
    return make_topic()


@pytest.fixture(scope="session")
def sharing(connections: Connections) -> Connections:
    """Clients of the stack as on a cluster: one Spark for landings and for upkeep.

    For races as well: upkeep's own Spark takes as long as the machine has other things to do.
    """
    return Clients(connections.settings.with_changes(spark={"upkeep_remote": None}))
