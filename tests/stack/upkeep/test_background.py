"""Upkeep's jobs let landings go first: Spark gives them what cores are left over."""

from __future__ import annotations

import threading
from contextlib import suppress

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from frazil.connections import Connections
from kit.waiting import wait_for

TASKS = 400
"""Of 0.1 s each: far more than the landings' jobs can take on a busy machine. What is left is cancelled."""
PARK = "java_method('java.util.concurrent.locks.LockSupport', 'parkNanos', id * 0 + {}000000L)"


def run(session: SparkSession, tasks: int, milliseconds: int) -> None:
    """A job of so many tasks, which each take so long."""
    rows = session.range(0, tasks, 1, tasks).selectExpr(PARK.format(milliseconds))
    rows.write.format("noop").mode("overwrite").save()


def test_a_landing_does_not_wait_for_the_tasks_of_a_compaction(connections: Connections) -> None:
    run(connections.spark, 1, 1)
    begun = threading.Event()

    def work() -> None:
        run(connections.background_spark, 1, 1)
        begun.set()
        with suppress(PySparkException):
            run(connections.background_spark, TASKS, 100)

    compaction = threading.Thread(target=work)
    compaction.start()
    wait_for(begun.is_set)
    for _ in range(3):
        run(connections.spark, 2, 100)
    still_at_it = compaction.is_alive()
    connections.background_spark.interruptAll()
    compaction.join()

    assert still_at_it
