"""A topic of one's own for each test."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from frazil.connections import Connections
from frazil.spec import TableSpec
from kit.topics import TRADE, MakeTopic, Topic, create_topic


@pytest.fixture
def make_topic(lake: Connections, fresh_name: str) -> MakeTopic:
    """Makes topics: `make_topic(partitions=2, on_bad_record="skip")`."""

    numbers = count()

    def make(partitions: int = 1, config: dict[str, str] | None = None, **spec: Any) -> Topic:
        name = f"{fresh_name}_{next(numbers)}"
        create_topic(lake.admin, name, partitions, config or {})
        topic = Topic(name, lake, TableSpec(topic=name, namespace="landing_tests", **spec))
        topic.register(TRADE)
        return topic

    return make


@pytest.fixture
def topic(make_topic: MakeTopic) -> Topic:
    """A topic of one partition, all defaults."""
    return make_topic()
