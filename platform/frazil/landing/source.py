"""Kafka records as a Spark frame: exactly the planned offsets, one task per slice."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING

from frazil.kafka.access import java_access
from frazil.landing.plan import Slice
from frazil.settings.profile import Settings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EpochSteps = Mapping[int, Sequence[tuple[int, int]]]
"""Per partition: (first offset, leader epoch), ascending."""

_OPTIONS = {
    "includeHeaders": "true",
    "failOnDataLoss": "true",  # a range that is gone is an error, never a shorter landing
    "kafka.isolation.level": "read_committed",
    # Small records: 3.3-4.7 s of wall time become 2.6 s (reference/decode.md, section 6).
    "kafka.max.partition.fetch.bytes": str(10 * 2**20),
    "kafka.max.poll.records": "20000",
    # A closing consumer waits for its last, empty fetch: 500 ms a partition by default.
    "kafka.fetch.max.wait.ms": "10",
    "kafka.default.api.timeout.ms": "20000",
    "kafka.request.timeout.ms": "15000",
    "kafkaConsumer.pollTimeoutMs": "30000",
}


def read_slices(
    spark: SparkSession, settings: Settings, topic: str, slices: Sequence[Slice], epochs: EpochSteps
) -> DataFrame:
    """The records of all slices.

    Args:
        slices: What each task reads; partitions of one slice are read one after the other.
        epochs: Leader epochs, which Spark's source does not tell.

    Returns:
        raw_key, raw_value, topic, partition, offset, timestamp, timestampType, headers, leader_epoch.
    """
    frames = [_read(spark, settings, topic, part).coalesce(1) for part in slices]
    return reduce(lambda a, b: a.unionAll(b), frames).selectExpr(
        "key AS raw_key",
        "value AS raw_value",
        "topic",
        "partition",
        "offset",
        "timestamp",
        "timestampType",
        "headers",
        f"{_epoch(epochs)} AS leader_epoch",
    )


def _read(spark: SparkSession, settings: Settings, topic: str, part: Slice) -> DataFrame:
    told = java_access(settings.kafka, settings.aws) | settings.kafka.client
    options = {
        **_OPTIONS,
        "kafka.bootstrap.servers": settings.kafka.bootstrap_servers,
        **{f"kafka.{name}": value for name, value in told.items()},
        "assign": json.dumps({topic: sorted(part)}),
        "startingOffsets": json.dumps({topic: {str(p): s for p, (s, _) in part.items()}}),
        "endingOffsets": json.dumps({topic: {str(p): e for p, (_, e) in part.items()}}),
    }
    return spark.read.format("kafka").options(**options).load()


def _epoch(epochs: EpochSteps) -> str:
    """The leader epoch as SQL; a constant where, as nearly always, there is one for all."""
    values = {epoch for steps in epochs.values() for _, epoch in steps}
    if len(values) <= 1:
        return f"CAST({next(iter(values), 'NULL')} AS int)"
    cases = " ".join(
        f"WHEN partition = {p} AND offset >= {first} THEN {epoch}"
        for p, steps in epochs.items()
        for first, epoch in sorted(steps, reverse=True)
    )
    return f"CAST(CASE {cases} END AS int)"
