"""Metadata columns of records by columns: the same in rows, and as checks see them. Imports PyArrow only."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from frazil.formats.batches.entries import as_map

_NUMBERS, _TYPES = (
    pa.array([0, 1], pa.int32()),
    pa.array(["CREATE_TIME", "LOG_APPEND_TIME", "NO_TIMESTAMP_TYPE"]),
)

_NAMES = {"leader-epoch": "leader_epoch", "raw-key": "raw_key", "raw-value": "raw_value"}
"""What records call columns otherwise than tables do, by word."""


def record_metadata(batch: pa.RecordBatch, asked: Mapping[str, str], topic: str = "") -> dict[str, pa.Array]:
    """Columns of records that Kafka and the producer tell, by the names that the table has for them.

    Args:
        batch: Records of Kafka's source; headers are a map, or a list of pairs.
        asked: The table's names by word, such as `leader-epoch`.
        topic: Of all of them; where it is not given they have a column of it.
    """
    made: dict[str, Callable[[pa.RecordBatch], pa.Array]] = {"timestamp-type": _types, "headers": _headers}
    if topic:
        made["topic"] = lambda batch: pa.repeat(topic, len(batch))
    return {
        name: made[word](batch) if word in made else batch[_NAMES.get(word, word)]
        for word, name in asked.items()
    }


def _types(batch: pa.RecordBatch) -> pa.Array:
    return _TYPES.take(pc.index_in(batch["timestampType"], _NUMBERS).fill_null(2))


def _headers(batch: pa.RecordBatch) -> pa.Array:
    headers = batch["headers"]
    if pa.types.is_map(headers.type):
        return headers
    parts = (
        pa.ListArray.from_arrays(headers.offsets, headers.values.field(part)) for part in ("key", "value")
    )
    return as_map(*parts)
