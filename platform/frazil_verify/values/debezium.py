"""What Debezium writes in ways of its own, which count in changes of a database only: docs/cdc.md.

Names of types ("Types"), and marks for what it can't write: a value that PostgreSQL did not log ("Long values
of PostgreSQL"), and its infinities.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Collection, Mapping
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


Marked = Callable[[Any], bool]


def marks_of(columns: Collection[Column]) -> Marked:
    """Tells whether a value of a row of these columns is a mark of Debezium's, or holds one."""
    marks = [(at, mark) for at, column in enumerate(columns) if (mark := _mark(column.type)) is not None]
    return lambda row: any(row[at] is not None and mark(row[at]) for at, mark in marks)


def _mark(kind: Any, *, of_many: bool = False) -> Marked | None:
    """Tells whether a value that is there is a mark or holds one; None where that can't be.

    Args:
        of_many: Whether it is an item among others: then a text is none.
    """
    if isinstance(kind, Mapping):
        return {"struct": _in_struct, "list": _in_list, "map": _in_map}[kind["type"]](kind)
    if kind == "date":
        return lambda value: not _DAYS[0] <= value <= _DAYS[1]
    if kind in ("timestamp", "timestamptz"):
        return lambda value: not _MOMENTS[0] < value < _MOMENTS[1]
    if of_many or kind not in ("string", "binary"):
        return None
    return lambda value: value in (_TEXT, _BYTES)


def _in_struct(kind: Mapping[str, Any]) -> Marked:
    return marks_of(columns_of(kind))


def _in_list(kind: Mapping[str, Any]) -> Marked:
    element = kind["element"]
    word = element if isinstance(element, str) else ""
    spelt: list[Any] = [tuple(factor * byte for byte in _BYTES) for factor in _FACTORS.get(word, ())]
    spelt += [(each,) for each in _ALONE.get(word, ())]
    return _among(spelt, lambda value: value, _mark(element, of_many=True))


def _in_map(kind: Mapping[str, Any]) -> Marked:
    of_keys, of_items = (_mark(kind[word], of_many=True) for word in ("key", "value"))
    keys = _among([((_TEXT, _TEXT),)], lambda value: [key for key, _ in value], of_keys)
    items = _among([], lambda value: [item for _, item in value], of_items)
    return lambda value: keys(value) or items(value)


def _among(spelt: list[Any], parts: Callable[[Any], Collection[Any]], mark: Marked | None) -> Marked:
    """Whether a value is one of those that are marks as a whole, or a part of it is one."""
    if mark is None:
        return lambda value: value in spelt
    return lambda value: value in spelt or any(each is not None and mark(each) for each in parts(value))
