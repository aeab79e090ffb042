"""Debezium's changes as JSON, with or without Connect's schemas: schemas of what a table needs of them.

Of an envelope that is the row in `after`, `op`, and the time and place in `source`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from frazil.discovery.drafts.connect_schema import is_embedded, payload_schema
from frazil.discovery.drafts.draft import Draft, draft_of

Schema = dict[str, Any]
Object = Mapping[str, Any]

_LONG = {"type": "integer", "connect.type": "int64"}
_OPERATIONS = frozenset("crudtm")


@dataclass(frozen=True, slots=True)
class Changes:
    """Schemas of the keys and values of changes; a draft of the row where no record says its types."""

    key: Schema
    value: Schema
    draft: Draft | None = None


def changes_of(keys: Sequence[Object | None], values: Sequence[Object | None]) -> Changes | None:
    """The schemas of some changes; None where they are none, or their rows have no columns.

    Args:
        keys: The objects that the keys are; None where one is none.
        values: The same of the values; None where one is a tombstone.
    """
    there = [value for value in values if value is not None]
    if not there or not all(_is_change(_payload(value)) for value in there):
        return None
    known = [key for key in keys if key is not None]
    return _by_schema(known, there) if all(map(is_embedded, there)) else _drafted(known, there)


def _payload(value: Object) -> Any:
    return value["payload"] if is_embedded(value) else value


def _is_change(value: Any) -> bool:
    return isinstance(value, dict) and value.get("op") in _OPERATIONS and {"after", "source"} <= value.keys()


def _by_schema(keys: Sequence[Object], values: Sequence[Object]) -> Changes | None:
    """By the schema beside the newest record."""
    value = payload_schema(values[-1])
    key = payload_schema(keys[-1]) if keys and is_embedded(keys[-1]) else None
    row = (value or {}).get("properties", {}).get("after")
    if key is None or row is None:
        return None
    return Changes(_beneath(key), _beneath(_envelope(row, [_payload(v) for v in values])))


def _drafted(keys: Sequence[Object], values: Sequence[Object]) -> Changes | None:
    rows = [row for v in values for row in (v.get("before"), v["after"]) if isinstance(row, dict)]
    row, key = draft_of(rows), draft_of(keys)
    if row is None or key is None or key.texts:
        return None
    return Changes(key.schema, _envelope({"oneOf": [{"type": "null"}, row.schema]}, values), row)


def _envelope(row: Schema, values: Sequence[Object]) -> Schema:
    sources = [v["source"] for v in values if isinstance(v["source"], dict)]
    numbers = [n for n in ("ts_ms", "lsn") if any(isinstance(s.get(n), int) for s in sources)]
    properties = {"op": {"type": "string"}, "after": row}
    if numbers:
        properties["source"] = {"type": "object", "properties": {n: dict(_LONG) for n in numbers}}
    return {"type": "object", "properties": properties, "required": ["op"]}


def _beneath(schema: Schema) -> Schema:
    return {"type": "object", "properties": {"payload": schema}, "required": ["payload"]}
