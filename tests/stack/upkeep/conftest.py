"""A topic of one's own for each test, on the catalog over REST; ask for `lake` where both count."""

from __future__ import annotations

import pytest

from frazil.connections import Connections
from kit.topics import MakeTopic, Topic, topic_maker


@pytest.fixture
def make_topic(connections: Connections, fresh_name: str) -> MakeTopic:
    """Makes topics: `make_topic(partition_by=["side"])`."""
    return topic_maker(connections, fresh_name, "upkeep_tests")


@pytest.fixture
def topic(make_topic: MakeTopic) -> Topic:
    """A topic of one partition, all defaults."""
    return make_topic()
