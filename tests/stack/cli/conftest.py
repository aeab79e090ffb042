"""A topic, and a pipeline that names it."""

from __future__ import annotations

from pathlib import Path

import pytest

from frazil.connections import Connections
from frazil.spec.topic import TableSpec
from kit.records.topics import Topic, create_topic
from kit.runs.shell import NAMESPACE, Shell


@pytest.fixture
def topic(shell: Shell, connections: Connections, fresh_name: str) -> Topic:
    """A topic of two partitions with ten records, and a pipeline that names it."""
    create_topic(connections.admin, fresh_name, 2, {})
    topic = Topic(fresh_name, connections, TableSpec(topic=fresh_name, namespace=NAMESPACE))
    topic.trades(10)
    shell.write({"topic": fresh_name, "freshness": "1h"})
    return topic


@pytest.fixture
def name(topic: Topic) -> str:
    return str(topic.things.table)


@pytest.fixture
def dagster_home(tmp_path: Path) -> Path:
    """The home of a Dagster instance."""
    home = tmp_path / "dagster-home"
    home.mkdir()
    (home / "dagster.yaml").touch()
    return home
