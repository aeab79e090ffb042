"""Debezium's types: what it says of a number in a schema's notes, said in the words that the format knows.

A database's time without a zone comes as a number under a name such as `io.debezium.time.MicroTimestamp`, in
Avro's `connect.name` and in JSON Schema's `title`. A schema that says it in its own words is read as any
other is. Source: Debezium's documentation, "Temporal types". What no column holds exactly stays as it comes,
and so does MicroTime: its column counts microseconds, too, and MySQL's TIME goes from -838 to 838 hours.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from frazil.formats.batches.zoned import ZONED
from frazil.formats.json.nodes import MICROS
from frazil.formats.protocol import WriterSchema

_TIME = "io.debezium.time."
_AVRO = {
    ("int", "Date"): "date",
    ("int", "Time"): "time-millis",
    ("long", "Timestamp"): "local-timestamp-millis",
    ("long", "MicroTimestamp"): "local-timestamp-micros",
    ("string", "ZonedTimestamp"): ZONED,
}
_CONNECT = "org.apache.kafka.connect.data."
_JSON: dict[tuple[str, str], dict[str, Any]] = {
    ("int32", "Date"): {"title": f"{_CONNECT}Date"},
    ("int32", "Time"): {"title": f"{_CONNECT}Time"},
    ("int64", "Timestamp"): {"title": f"{_CONNECT}Timestamp", "flink.type": "timestamp"},
    ("int64", "MicroTimestamp"): {"title": MICROS},
    ("string", "ZonedTimestamp"): {"title": ZONED},
}


def with_types(writer: WriterSchema) -> WriterSchema:
    """The schema with its types in its own format's words; as it is where that knows none of them."""
    translate = _TRANSLATED.get(writer.kind)
    if translate is None:
        return writer
    named = tuple((name, _text(text, translate)) for name, text in writer.dependencies)
    return replace(writer, text=_text(writer.text, translate), dependencies=named)


def _text(text: str, translate: Callable[[dict[str, Any]], dict[str, Any]]) -> str:
    try:
        return json.dumps(json.loads(text, object_hook=translate))
    except (ValueError, RecursionError):
        return text  # the next reader says what is wrong with it


def _avro(node: dict[str, Any]) -> dict[str, Any]:
    kind = (node.get("type"), _name(node.get("connect.name")))
    logical = _AVRO.get(kind) if isinstance(kind[0], str) else None  # type: ignore[arg-type]
    return {**node, "logicalType": logical} if logical and "logicalType" not in node else node


def _json(node: dict[str, Any]) -> dict[str, Any]:
    kind = node.get("connect.type", node.get("type"))  # of a text Connect says no more than its title
    extra = _JSON.get((kind, _name(node.get("title")))) if isinstance(kind, str) else None
    return {**node, **extra} if extra else node


def _name(name: Any) -> str:
    return name.removeprefix(_TIME) if isinstance(name, str) and name.startswith(_TIME) else ""


_TRANSLATED = {"AVRO": _avro, "JSON": _json}
