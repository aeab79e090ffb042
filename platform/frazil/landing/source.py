"""Kafka records as a Spark frame: exactly the planned offsets, one task per slice."""

from __future__ import annotations

import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from secrets import token_hex
from typing import TYPE_CHECKING

from frazil.connections import Connections
from frazil.formats.batches.oversize import TOO_LARGE, parts_sql
from frazil.kafka.access import java_access
from frazil.kafka.epochs import leader_epochs
from frazil.kafka.facts import NO_ID
from frazil.landing.plan import Plan, Slice, cut
from frazil.landing.position.ledger import Span
from frazil.settings.profile import Settings
from frazil.settings.secret import revealed

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

Place = tuple[str, int]
"""Topic and partition."""

Log = tuple[str, int]
"""A topic's id, and a leader epoch: while both stand, no offset of a partition has another record."""

Logs = Mapping[Place, Log]

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

_OWN_KEY = token_hex(16)


@dataclass(frozen=True, slots=True)
class Reading:
    """What a landing reads of its topic."""

    spark: SparkSession
    settings: Settings
    topic: str
    spans: Slice
    epochs: EpochSteps  # which Spark's source does not tell
    logs: Logs = field(default_factory=dict)  # of these; empty where Kafka does not tell
    probed: pa.Table | None = field(default=None, repr=False)  # the records, where Spark can't read them

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
        return self.records.selectExpr("*", f"{_epoch(self.epochs)} AS leader_epoch")

    @property
    def records(self) -> DataFrame:
        """The records, as `read_slices` gives them."""
        if self.probed is not None:
            return self.spark.createDataFrame(self.probed).coalesce(1)
        return read_slices(self.spark, self.settings, self.slices, self.logs)


def record_schema() -> pa.Schema:
    """Records in Arrow, as `Reading.frame` has them."""
    import pyarrow as pa

    header = pa.struct([("key", pa.string()), ("value", pa.binary())])
    return pa.schema(
        [
            ("raw_key", pa.binary()), ("raw_value", pa.binary()), ("topic", pa.string()),
            ("partition", pa.int32()), ("offset", pa.int64()), ("timestamp", pa.timestamp("us", "UTC")),
            ("timestampType", pa.int32()), ("headers", pa.list_(header)), ("leader_epoch", pa.int32()),
            (TOO_LARGE, pa.string()),
        ]
    )  # fmt: skip


def planned_reading(connections: Connections, plan: Plan) -> Reading:
    """The reading of what was planned."""
    settings = connections.settings
    epochs = leader_epochs(settings, plan.busy, plan.topic, plan.leader_epochs)
    return Reading(connections.spark, settings, plan.topic, plan.busy, epochs, _logs(plan))


def _logs(plan: Plan) -> Logs:
    """Those of all partitions: a landing that finds some of them idle finds the same consumers."""
    known = {p: epoch for p, epoch in plan.leader_epochs.items() if epoch >= 0}
    if plan.topic_id == NO_ID or not known.keys() >= plan.busy.keys():
        return {}
    return {(plan.topic, p): (plan.topic_id, epoch) for p, epoch in known.items()}


def read_slices(
    spark: SparkSession, settings: Settings, slices: Sequence[Mapping[Place, Span]], logs: Logs
) -> DataFrame:
    """The records of some spans, of one topic or of many.

    Args:
        slices: What each task reads, one partition after the other.
        logs: Those that are read; other ones may be among them. Without, no consumer is used again.

    Returns:
        raw_key, raw_value, headers, topic, partition, offset, timestamp, timestampType; and `TOO_LARGE`.
    """
    client = _client(settings, logs)
    frames = [_read(spark, client, part).coalesce(1) for part in slices]
    parts = parts_sql(settings.spark.max_record_bytes)
    return reduce(lambda a, b: a.unionAll(b), frames).selectExpr(
        *(f"{sql} AS {name}" for name, sql in parts.items()),
        "topic",
        "partition",
        "offset",
        "timestamp",
        "timestampType",
    )


def _client(settings: Settings, logs: Logs) -> dict[str, str]:
    """What consumers are told, by the names that Spark's source has for it."""
    spark_options = java_access(settings.kafka, settings.aws) | settings.kafka.client
    options = {
        **_OPTIONS,
        "kafka.bootstrap.servers": settings.kafka.bootstrap_servers,
        **{f"kafka.{name}": value for name, value in spark_options.items()},
    }
    return {**options, "kafka.group.id": _group(settings, options, logs)} if logs else options


def _group(settings: Settings, options: Mapping[str, str], logs: Logs) -> str:
    """The group of consumers that are told the same, and read the same logs.

    By group and partition Spark's executors keep consumers, and what these fetched ahead, for minutes. By
    default each reading has a group of its own: it connects to each partition anew (10 ms), and the executor
    never forgets the group (Spark 4.1: `InternalKafkaConsumerPool`, `FetchedDataPool`). What was fetched
    ahead of a log that was cut since, or of a topic that was recreated, must not be met again. And Spark
    wants one set of options for a group; nobody can guess the secrets among them without the key.
    """
    parts = [sorted(options.items()), sorted([*place, *log] for place, log in logs.items())]
    key = revealed(settings.spark.token) or _OWN_KEY
    return f"frazil-{hmac.digest(key.encode(), json.dumps(parts).encode(), 'sha256').hex()}"


def _read(spark: SparkSession, client: Mapping[str, str], part: Mapping[Place, Span]) -> DataFrame:
    by_topic: dict[str, Slice] = {}
    for (topic, partition), span in part.items():
        by_topic.setdefault(topic, {})[partition] = span
    options = {
        **client,
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
