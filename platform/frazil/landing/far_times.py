"""Records whose own time Spark's Kafka source can't read: Frazil reads them by itself, a part at a time.

CreateTime is whatever a producer sends. Of more milliseconds than a long of microseconds holds, such as
nanoseconds by mistake, the source makes an ArithmeticException, which ends each reading. In the table such a
time is null: no column holds it, and a made-up one would close windows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, Message

from frazil.formats.batches.oversize import bounded
from frazil.kafka.probe import headers_of, open_probe
from frazil.landing.plan import Plan
from frazil.landing.source import Reading, record_schema
from frazil.settings.profile import Settings

if TYPE_CHECKING:
    import pyarrow as pa

MOST = 64 * 2**20
"""Bytes of records that are held in this process at once."""

_LONGEST = (2**63 - 1) // 1000


def with_records(reading: Reading, settings: Settings, plan: Plan, most: int = MOST) -> tuple[Reading, Plan]:
    """A reading that has its records in hand, and the plan up to where it came.

    Raises:
        OffsetsLostError: Planned records are gone.
        PartDownError: Kafka does not answer.
    """
    with open_probe(settings, plan.topic) as probe:
        messages, reached = probe.taken(plan.busy, most)
    shorter = plan.until(reached)
    return replace(
        reading, spans=shorter.busy, probed=_records(plan.topic, messages, settings.spark.max_record_bytes)
    ), shorter


def _records(topic: str, messages: Sequence[Message], most: int) -> pa.Table:
    """The records as Spark's source would give them."""
    import pyarrow as pa

    schema = record_schema()
    rows = [bounded(_row(topic, message), _sizes(message), most) for message in messages]
    return pa.Table.from_pylist(rows, schema=schema.remove(schema.get_field_index("leader_epoch")))


def _sizes(message: Message) -> dict[str, int]:
    """Bytes of a record's parts."""
    of_headers = sum(len(name.encode()) + len(value or b"") for name, value in headers_of(message))
    return {"key": len(message.key() or b""), "value": len(message.value() or b""), "headers": of_headers}


def _row(topic: str, message: Message) -> Mapping[str, Any]:
    kind, milliseconds = message.timestamp()
    if kind == TIMESTAMP_NOT_AVAILABLE:
        milliseconds = -1
    return {
        "raw_key": message.key(),
        "raw_value": message.value(),
        "topic": topic,
        "partition": message.partition(),
        "offset": message.offset(),
        "timestamp": milliseconds * 1000 if abs(milliseconds) <= _LONGEST else None,
        "timestampType": kind - 1,
        "headers": [{"key": k, "value": v} for k, v in headers_of(message)] or None,
    }
