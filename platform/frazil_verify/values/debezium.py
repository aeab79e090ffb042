"""What Debezium writes in ways of its own, which count in changes of a database only: docs/cdc.md.

Names of types ("Types"), and marks for what it can't write: a value that PostgreSQL did not log ("Long values
of PostgreSQL"), and its infinities.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Collection, Mapping
from dataclasses import replace
from hashlib import md5
from typing import Any

from frazil_verify.log.registry import Schema
from frazil_verify.table.metadata import Column, columns_of
from frazil_verify.values.plain.avro import ZONED

_TIME = "io.debezium.time."
_LOGICAL = {
    ("int", "Date"): "date",
    ("int", "Time"): "time-millis",
    ("long", "Timestamp"): "local-timestamp-millis",
    ("long", "MicroTimestamp"): "local-timestamp-micros",
    ("string", "ZonedTimestamp"): ZONED,
}
"""The logical types of Avro that say what the names say. A MicroTime may be any number, and stays one."""


def with_logical_types(tree: Any) -> Any:
    """A tree of Avro in which logical types say what Debezium's names do."""
    if isinstance(tree, list):
        return [with_logical_types(each) for each in tree]
    if not isinstance(tree, dict):
        return tree
    inner = {name: with_logical_types(each) for name, each in tree.items() if not name.startswith("__")}
    name = str(tree.get("connect.name", ""))
    kind = (str(tree.get("type")), name.removeprefix(_TIME))
    if name.startswith(_TIME) and kind in _LOGICAL:
        inner.setdefault("logicalType", _LOGICAL[kind])
    return inner


def without_names(schema: Schema) -> Schema:
    """A JSON Schema in which no title is Debezium's."""
    return replace(schema, text=json.dumps(json.loads(schema.text, object_hook=_untitled)))


def _untitled(node: dict[str, Any]) -> dict[str, Any]:
    title = node.get("title")
    is_named = isinstance(title, str) and title.startswith(_TIME)
    return {name: each for name, each in node.items() if name != "title"} if is_named else node


_TEXT = "__debezium_unavailable_value"
_BYTES = _TEXT.encode()
_UUID = str(uuid.UUID(bytes=md5(_BYTES, usedforsecurity=False).digest(), version=3))
_ALONE = {"string": (_TEXT, _UUID), "binary": (_BYTES,)}
_FACTORS = {"int": (1,), "long": (1, 1000), "date": (1,), "timestamp": (1, 1000)}
"""A list of numbers that is a mark has its bytes; the column may count thousandths."""

_MOMENTS = -9_223_372_036_832_400_000, 9_223_372_036_825_200_000
"""What stands for PostgreSQL's infinities in a moment, in microseconds."""

_DAYS = -2_440_588, 2_145_042_905
"""PostgreSQL's own dates, 4714-11-24 BC to 5874897-12-31: https://www.postgresql.org/docs/current/datatype-datetime.html"""


def is_marked(row: Collection[Any], columns: Collection[Column]) -> bool:
    """Whether a value of a row is a mark of Debezium's, or holds one."""
    return any(_is_mark(value, column.type) for value, column in zip(row, columns, strict=True))


def _is_mark(value: Any, kind: Any, *, of_many: bool = False) -> bool:
    """Whether a value is or holds a mark; a text among others is none."""
    if value is None:
        return False
    if isinstance(kind, Mapping):
        return _holds_mark(value, kind)
    if kind == "date":
        return not _DAYS[0] <= value <= _DAYS[1]
    if kind in ("timestamp", "timestamptz"):
        return not _MOMENTS[0] < value < _MOMENTS[1]
    return not of_many and value in (_TEXT, _BYTES)


def _holds_mark(value: Any, kind: Mapping[str, Any]) -> bool:
    if kind["type"] == "struct":
        return is_marked(value, columns_of(kind))
    if kind["type"] == "map":
        items = [
            (each, kind[word]) for pair in value for each, word in zip(pair, ("key", "value"), strict=True)
        ]
        return value == ((_TEXT, _TEXT),) or any(_is_mark(each, of, of_many=True) for each, of in items)
    element = kind["element"]
    if isinstance(element, str):
        spelt: list[tuple[Any, ...]] = [
            tuple(factor * byte for byte in _BYTES) for factor in _FACTORS.get(element, ())
        ]
        spelt += [(each,) for each in _ALONE.get(element, ())]
        if value in spelt:
            return True
    return any(_is_mark(each, element, of_many=True) for each in value)
