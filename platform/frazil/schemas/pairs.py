"""Avro's (writer, reader) pairs: may one read the other, and with which reader exactly."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["can_read", "reader_for"]

_LOGICAL = ("logicalType", "precision", "scale")


def can_read(writer: Any, reader: Any) -> bool:
    """Whether Avro's resolution rules let `reader` read what `writer` wrote.

    An illegal pair does not raise in Spark: every record of that writer would become a bad row.
    """
    from avro.compatibility import ReaderWriterCompatibilityChecker, SchemaCompatibilityType
    from avro.schema import parse

    checker = ReaderWriterCompatibilityChecker()  # type: ignore[no-untyped-call]
    verdict = checker.get_compatibility(parse(json.dumps(reader)), parse(json.dumps(writer)))
    return bool(verdict.compatibility == SchemaCompatibilityType.compatible)


def reader_for(writer: Any, reader: Any) -> Any:
    """The reader, with the writer's logical types wherever the two differ.

    Spark lays the reader's logical type over the writer's number: milliseconds would be read as
    microseconds. Read as they were written, the values are then cast to the table's types.
    """
    if isinstance(reader, list):
        return _union(writer, reader)
    if isinstance(writer, list):
        branch = next((b for b in writer if _kind(b) == _kind(reader)), None)
        return reader if branch is None else reader_for(branch, reader)
    if not (isinstance(reader, dict) or isinstance(writer, dict)) or _kind(writer) != _kind(reader):
        return reader
    return _complex(_node(writer), _node(reader))


def _complex(writer: dict[str, Any], reader: dict[str, Any]) -> Any:
    match reader["type"]:
        case "record":
            theirs = {f["name"]: f["type"] for f in writer["fields"]}
            fields = [_field(f, theirs) for f in reader["fields"]]
            return {**reader, "fields": fields}
        case "array":
            return {**reader, "items": reader_for(writer["items"], reader["items"])}
        case "map":
            return {**reader, "values": reader_for(writer["values"], reader["values"])}
        case _:
            kept = {k: v for k, v in reader.items() if k not in _LOGICAL}
            return {**kept, **{k: writer[k] for k in _LOGICAL if k in writer}}


def _field(field: dict[str, Any], theirs: dict[str, Any]) -> dict[str, Any]:
    names = [field["name"], *field.get("aliases", [])]
    written = next((theirs[n] for n in names if n in theirs), None)
    return field if written is None else {**field, "type": reader_for(written, field["type"])}


def _union(writer: Any, reader: list[Any]) -> list[Any]:
    written = {_kind(b): b for b in (writer if isinstance(writer, list) else [writer])}
    return [reader_for(written.get(_kind(b), b), b) for b in reader]


def _kind(schema: Any) -> str:
    while isinstance(schema, dict):
        schema = schema["type"]
    return str(schema)


def _node(schema: Any) -> dict[str, Any]:
    return schema if isinstance(schema, dict) else {"type": schema}
