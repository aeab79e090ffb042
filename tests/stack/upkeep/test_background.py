"""Upkeep has a Spark of its own; on one that they share, its jobs get what cores landings leave over."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from frazil.connections import Connections
from kit.runs.waiting import PATIENCE

FOR_EVER = 50_000
"""Tasks of 0.1 s each: an hour of work on any machine. It is cancelled when the test has seen enough."""
PARK = "java_method('java.util.concurrent.locks.LockSupport', 'parkNanos', id * 0 + {}000000L)"


def run(session: SparkSession, tasks: int, milliseconds: int) -> None:
    """A job of so many tasks, which each take so long."""
    rows = session.range(0, tasks, 1, tasks).selectExpr(PARK.format(milliseconds))
    rows.write.format("noop").mode("overwrite").save()


@contextmanager
def running_for_ever(session: SparkSession) -> Iterator[Future[None]]:
    """A job whose tasks take all cores from here on, until the context ends."""
    at_it = threading.Event()

    def progress(inflight_tasks: int, **_others: Any) -> None:
        if inflight_tasks:
            at_it.set()

    session.registerProgressHandler(progress)
    with ThreadPoolExecutor(1) as pool:
        job = pool.submit(run, session, FOR_EVER, 100)
        try:
            assert at_it.wait(PATIENCE), "its tasks do not begin"
            yield job
        finally:
            session.interruptAll()
            session.removeProgressHandler(progress)


def server_of(session: SparkSession) -> str:
    """The port where its server listens."""
    return str(session.conf.get("spark.connect.grpc.binding.port"))


def test_upkeep_has_a_spark_of_its_own(connections: Connections) -> None:
    assert connections.settings.spark.upkeep_remote
    assert connections.settings.spark.upkeep_remote.endswith(f":{server_of(connections.background_spark)}")
    assert server_of(connections.background_spark) != server_of(connections.spark)


def test_a_landing_does_not_wait_for_the_tasks_of_a_compaction(sharing: Connections) -> None:
    assert server_of(sharing.background_spark) == server_of(sharing.spark)
    with running_for_ever(sharing.background_spark) as compaction:
        for _ in range(3):
            run(sharing.spark, 2, 100)  # behind the compaction's tasks this would be the hour's end
        assert not compaction.done()

    with pytest.raises(PySparkException, match="OPERATION_CANCELED"):
        compaction.result()
