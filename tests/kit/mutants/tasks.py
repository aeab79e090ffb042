"""A Spark that runs tasks in this process, and so takes the engine that this process has, with its bug.

It reads records of Kafka, and numbers bins; of SQL it knows the names of columns. Nothing is shuffled.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition
from pyspark.errors import PySparkException
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from frazil.kafka.clients import client_config
from frazil.settings.profile import Settings
from kit.runs.waiting import PATIENCE

__all__ = ["spark_of"]

_NAME = re.compile(r"`?(\w+)`?$")

_RECORDS = pa.schema(
    [
        ("raw_key", pa.binary()), ("raw_value", pa.binary()), ("topic", pa.string()),
        ("partition", pa.int32()), ("offset", pa.int64()), ("timestamp", pa.timestamp("us", "UTC")),
        ("timestampType", pa.int32()), ("too_large", pa.string()), ("header_keys", pa.list_(pa.string())),
        ("header_values", pa.list_(pa.binary())), ("landing", pa.int32()),
    ]
)  # fmt: skip
"""Whatever a landing selects of Kafka's records, by the names that it gives."""


@dataclass(frozen=True)
class Frame:
    """Rows, by a batch for each task."""

    read: Callable[[], Iterable[pa.RecordBatch]]
    names: Sequence[str] = ()
    run: Callable[..., Iterable[pa.RecordBatch]] | None = None
    returned: StructType | None = None

    def selectExpr(self, *columns: str) -> Frame:
        """The columns of these names."""
        return replace(self, names=[match[1] for each in columns if (match := _NAME.search(each))])

    def coalesce(self, _: int) -> Frame:
        return self

    def unionAll(self, other: Frame) -> Frame:
        return Frame(lambda: [*self.read(), *other.read()])

    def mapInArrow(self, run: Any, returned: StructType) -> Frame:
        return replace(self, run=run, returned=returned)

    def toArrow(self) -> pa.Table:
        """What the tasks return."""
        assert self.run
        assert self.returned
        try:
            batches = [b for each in self.read() for b in self.run(iter([each.select(list(self.names))]))]
        except (ValueError, pa.ArrowException) as e:
            raise PySparkException(f"{type(e).__name__}: {e}") from e
        return pa.Table.from_batches(batches, None if batches else to_arrow_schema(self.returned))


@dataclass
class _Reader:
    """Of Kafka, by the options that Spark's source has."""

    settings: Settings
    asked: dict[str, str] = field(default_factory=dict)

    def format(self, name: str) -> _Reader:
        assert name == "kafka"
        return self

    def options(self, **options: str) -> _Reader:
        return replace(self, asked=options)

    def load(self) -> Frame:
        return Frame(lambda: [pa.RecordBatch.from_pylist([*map(_row, self._messages())], _RECORDS)])

    def _messages(self) -> Iterator[Message]:
        starts, ends = (json.loads(self.asked[f"{side}Offsets"]) for side in ("starting", "ending"))
        places = [(topic, p) for topic, of in starts.items() for p in of]
        for topic, partition in places:
            yield from self._of(topic, partition, starts[topic][partition], ends[topic][partition])

    def _of(self, topic: str, partition: str, start: int, end: int) -> Iterator[Message]:
        consumer = Consumer(
            client_config(self.settings)
            | {
                "group.id": "frazil-mutants",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "isolation.level": self.asked["kafka.isolation.level"],
            }
        )
        consumer.assign([TopicPartition(topic, int(partition), start)])
        try:
            while (message := consumer.poll(PATIENCE)) is not None:
                if error := message.error():
                    if error.code() == KafkaError._PARTITION_EOF:
                        return
                    raise KafkaException(error)
                if (message.offset() or 0) >= end:
                    return
                yield message
        finally:
            consumer.close()


def _row(message: Message) -> dict[str, Any]:
    kind, at = message.timestamp()
    headers = message.headers() or []
    return {
        "raw_key": message.key(), "raw_value": message.value(), "topic": message.topic(),
        "partition": message.partition(), "offset": message.offset(), "timestamp": at * 1000,
        "timestampType": kind - 1, "header_keys": [each[0] for each in headers],
        "header_values": [each[1] for each in headers], "landing": 0,
    }  # fmt: skip


def _bins(start: int, end: int, _: int, __: int) -> Frame:
    return Frame(lambda: [pa.RecordBatch.from_pydict({"id": pa.array(range(start, end), pa.int64())})])


def spark_of(settings: Settings) -> Any:
    """The session."""
    return SimpleNamespace(
        read=_Reader(settings), range=_bins, conf=SimpleNamespace(set=lambda *_: None, get=lambda *_: "")
    )
