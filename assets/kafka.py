"""Kafka topics as assets: materializing one makes sure of topic and subjects, and says how they stand."""

# No `from __future__ import annotations`: Dagster compares the type of `context`, not its name.
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import dagster as dg

from assets.description import TopicTable, asset_spec
from assets.outcome import engine_errors, failure
from frazil.errors import RetryError
from frazil.kafka.provisioning import ensure_topic
from resources.connections import FrazilConnections
from resources.events import TOPIC_VERSION
from resources.metadata import topic_metadata

_ABOUT = """Kafka topic `{topic}`. Materializing it makes the topic and its subjects where they are \
missing, refuses to change silently what differs from the spec, and reports offsets and schema."""


def topic_assets(name: str, tables: Sequence[TopicTable]) -> dg.AssetsDefinition:
    """The topics of a pipeline, in one step. It starts nothing by itself: only people make topics.

    A topic becomes several tables where it carries several record types, each with a subject of its own.
    The first one describes the topic. One that can't be made does not keep the others, but fails the step.
    """
    by_key: dict[dg.AssetKey, list[TopicTable]] = {}
    for table in tables:
        by_key.setdefault(dg.AssetKey(table.things.kafka_path), []).append(table)

    @dg.multi_asset(name=name, specs=[_spec(own[0]) for own in by_key.values()], can_subset=True)
    def topics(
        context: dg.AssetExecutionContext, frazil: FrazilConnections
    ) -> Iterator[dg.MaterializeResult[Any]]:
        chosen = [key for key in by_key if key in context.selected_asset_keys]
        failed: dict[str, Exception] = {}
        for key in chosen:
            try:
                result = _ensured(context, key, by_key[key], frazil)
            except Exception as e:  # noqa: BLE001 - it is the result of this topic
                failed[by_key[key][0].spec.topic] = e
            else:
                yield result
        with engine_errors():
            _raise(context, failed, len(chosen))

    return topics


def _spec(table: TopicTable) -> dg.AssetSpec:
    return asset_spec(
        table,
        table.things.kafka_path,
        kinds={"kafka"},
        about=_ABOUT.format(topic=table.spec.topic),
        code=ensure_topic,
    )


def _ensured(
    context: dg.AssetExecutionContext,
    key: dg.AssetKey,
    tables: Sequence[TopicTable],
    frazil: FrazilConnections,
) -> dg.MaterializeResult[Any]:
    metadata = topic_metadata(*(ensure_topic(table.spec, frazil.of(table.spec)) for table in tables))
    return dg.MaterializeResult(
        asset_key=key,
        data_version=TOPIC_VERSION,
        metadata={**metadata, **_throughput(context, key, metadata["end_offsets"])},
    )


def _raise(context: dg.AssetExecutionContext, failed: Mapping[str, Exception], of: int) -> None:
    """Fails the step if a topic failed; what alone may succeed later is tried again."""
    again = [e for e in failed.values() if isinstance(e, RetryError)]
    if again and len(again) == len(failed):
        raise again[0]
    if failed:
        raise failure(context, "are not as the spec says", failed, of, things="topics")


def _throughput(context: dg.AssetExecutionContext, key: dg.AssetKey, end_offsets: int) -> dict[str, Any]:
    """Records per second since the last materialization; nothing where the topic was cut."""
    event = context.instance.get_latest_materialization_event(key)
    before = event.asset_materialization if event else None
    if event is None or before is None or "end_offsets" not in before.metadata:
        return {}
    new = end_offsets - int(str(before.metadata["end_offsets"].value))
    seconds = time.time() - event.timestamp
    return {"records_per_second": round(new / seconds, 3)} if seconds > 0 and new >= 0 else {}
