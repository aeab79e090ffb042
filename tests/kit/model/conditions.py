"""What the engine's SQL says of a row, as far as the model needs it: offsets, ages, and whom a row is of."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from kit.model.parts.spark import is_within
from kit.model.parts.topic import Record, Topic

__all__ = ["MARKED", "is_of", "names"]

MARKED = 1
"""The key, or the quantity, of the records that are forgotten."""

_BEFORE = re.compile(r"< timestamp_millis\((\d+)\)")
_VALUE = re.compile(r"`(?:key|quantity)` IN \((\d+)\)")


def is_of(record: Record | None) -> bool:
    """Whether a record is to be forgotten."""
    return record is not None and record.key == MARKED


def names(topic: Topic, sql: str, row: Sequence[Any]) -> bool:
    """Whether SQL is true of a row: spans of offsets, a moment before which records are past, or a value."""
    log, partition, offset = row
    record = topic.ever.get((log, partition, offset))
    if before := _BEFORE.search(sql):
        return record is not None and record.time < int(before[1]) / 1000
    if value := _VALUE.search(sql):
        return record is not None and record.key == int(value[1])
    return is_within(row, sql)
