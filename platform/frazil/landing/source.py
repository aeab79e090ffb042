"""Kafka records as a Spark frame: exactly the planned offsets, one task per slice."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

from frazil.connections import Connections
from frazil.kafka.access import java_access
from frazil.kafka.epochs import leader_epochs
from frazil.landing.ledger import Span
from frazil.landing.plan import Plan, Slice, cut
from frazil.settings.profile import Settings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Place = tuple[str, int]
"""Topic and partition."""

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


@dataclass(frozen=True, slots=True)
class Reading:
    """What a landing reads of its topic."""

    spark: SparkSession
    settings: Settings
    topic: str
    spans: Slice
    epochs: EpochSteps  # which Spark's source does not tell

    @property
    def places(self) -> dict[Place, Span]:
        """The spans by topic and partition."""
        return {(self.topic, partition): span for partition, span in self.spans.items()}

    @property
    def slices(self) -> list[dict[Place, Span]]:
        """The same, cut for the cores."""
        return cut(self.places, self.settings.spark.parallelism)

    @property
    def frame(self) -> DataFrame:
        """The records, with the column leader_epoch beside those of `read_slices`."""
        found = read_slices(self.spark, self.settings, self.slices)
        return found.selectExpr("*", f"{_epoch(self.epochs)} AS leader_epoch")


def planned_reading(connections: Connections, plan: Plan) -> Reading:
    """The reading of what was planned."""
    settings = connections.settings
    epochs = leader_epochs(settings, plan.busy, plan.topic, plan.leader_epochs)
    return Reading(connections.spark, settings, plan.topic, plan.busy, epochs)


def read_slices(spark: SparkSession, settings: Settings, slices: Sequence[Mapping[Place, Span]]) -> DataFrame:
    """The records of some spans, of one topic or of many.

    Args:
        slices: What each task reads, one partition after the other.

    Returns:
        raw_key, raw_value, topic, partition, offset, timestamp, timestampType, headers.
    """
    frames = [_read(spark, settings, part).coalesce(1) for part in slices]
    return reduce(lambda a, b: a.unionAll(b), frames).selectExpr(
        "key AS raw_key",
        "value AS raw_value",
        "topic",
        "partition",
        "offset",
        "timestamp",
        "timestampType",
        "headers",
    )


def _read(spark: SparkSession, settings: Settings, part: Mapping[Place, Span]) -> DataFrame:
    told = java_access(settings.kafka, settings.aws) | settings.kafka.client
    by_topic: dict[str, Slice] = {}
    for (topic, partition), span in part.items():
        by_topic.setdefault(topic, {})[partition] = span
    options = {
        **_OPTIONS,
        "kafka.bootstrap.servers": settings.kafka.bootstrap_servers,
        **{f"kafka.{name}": value for name, value in told.items()},
        "assign": json.dumps({topic: sorted(spans) for topic, spans in by_topic.items()}),
        "startingOffsets": _offsets(by_topic, 0),
        "endingOffsets": _offsets(by_topic, 1),
    }
    return spark.read.format("kafka").options(**options).load()


def _offsets(by_topic: Mapping[str, Slice], side: int) -> str:
    """One side of all spans, as Spark's source takes it."""
    return json.dumps({t: {str(p): span[side] for p, span in of.items()} for t, of in by_topic.items()})


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
