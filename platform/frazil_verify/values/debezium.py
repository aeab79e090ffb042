"""Debezium's names of types, which count in changes of a database only: docs/cdc.md, "Types"."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from frazil_verify.log.registry import Schema
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
