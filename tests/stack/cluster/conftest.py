"""A cluster of two workers, up while the tests of this folder run."""

from __future__ import annotations

from collections.abc import Iterator

import psutil
import pytest

from frazil.clients import Clients
from frazil.connections import Connections
from frazil.settings.profile import Settings
from frazil_local.home import Home
from kit.records.topics import MakeTopic, topic_maker
from kit.stack.spark_cluster import SparkCluster


@pytest.fixture(scope="package")
def cluster(
    stack_home: Home, stack: Settings, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SparkCluster]:
    """Not started yet, and ended with all that it started."""
    own_cluster = SparkCluster(stack_home, tmp_path_factory.mktemp("cluster"))
    try:
        yield own_cluster
    finally:
        own_cluster.stop()


@pytest.fixture(scope="package")
def workers(cluster: SparkCluster) -> list[psutil.Process]:
    """Starts the cluster: two workers, each with an executor of the one application."""
    return cluster.start(workers=2)


@pytest.fixture(scope="package")
def connections(cluster: SparkCluster, stack: Settings, workers: list[psutil.Process]) -> Connections:
    """Clients of the stack, with the cluster as the one Spark of landings and upkeep."""
    return Clients(stack.with_changes(spark={"remote": cluster.remote, "upkeep_remote": None}))


@pytest.fixture
def make_topic(connections: Connections, fresh_name: str) -> MakeTopic:
    return topic_maker(connections, fresh_name, "landing_tests")
