"""Kafka topics as assets: materializing one makes sure of topic and subjects, and says how they stand."""

# No `from __future__ import annotations`: Dagster compares the type of `context`, not its name.
import time
from collections.abc import Sequence
from typing import Any

import dagster as dg

from assets.description import TopicTable, asset_spec, op_name
from assets.outcome import engine_errors
from frazil.kafka.provisioning import ensure_topic
from resources.connections import FrazilConnections
from resources.events import TOPIC_VERSION
from resources.metadata import topic_metadata

_ABOUT = """Kafka topic `{topic}`. Materializing it makes the topic and its subjects where they are \
missing, refuses to change silently what differs from the spec, and reports offsets and schema."""


def topic_asset(tables: Sequence[TopicTable]) -> dg.AssetsDefinition:
    """One topic. It starts nothing by itself: only people make topics.

    It becomes several tables where it carries several record types, each with a subject of its own.
    The first one describes the topic.
    """
    first, *others = tables
    path = first.things.kafka_path
    spec = asset_spec(
        first,
        path,
        kinds={"kafka"},
        about=_ABOUT.format(topic=first.spec.topic),
        code=ensure_topic,
    )

    @dg.multi_asset(name=op_name(path), specs=[spec])
    def topic(context: dg.AssetExecutionContext, frazil: FrazilConnections) -> dg.MaterializeResult[Any]:
        with engine_errors():
            state = ensure_topic(first.spec, frazil.of(first.spec))
            more = [ensure_topic(table.spec, frazil.of(table.spec)) for table in others]
        metadata = topic_metadata(state, *more)
        return dg.MaterializeResult(
            data_version=TOPIC_VERSION,
            metadata={**metadata, **_throughput(context, spec.key, metadata["end_offsets"])},
        )

    return topic


def _throughput(context: dg.AssetExecutionContext, key: dg.AssetKey, end_offsets: int) -> dict[str, Any]:
    """Records per second since the last materialization; nothing where the topic was cut."""
    event = context.instance.get_latest_materialization_event(key)
    before = event.asset_materialization if event else None
    if event is None or before is None or "end_offsets" not in before.metadata:
        return {}
    new = end_offsets - int(str(before.metadata["end_offsets"].value))
    seconds = time.time() - event.timestamp
    return {"records_per_second": round(new / seconds, 3)} if seconds > 0 and new >= 0 else {}
