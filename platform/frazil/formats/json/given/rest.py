"""What a list of fields does not name of a record, as JSON text of its own."""

from __future__ import annotations

from typing import Any

from frazil.formats.columns.unmappable import json_text
from frazil.formats.json.nodes import Member, Members, is_text
from frazil.formats.json.texts import JsonObject, loaded, whole


def rest_of(record: bytes, named: Members) -> str | None:
    """The text of a record without the values that have columns; None where nothing is left.

    An object of which nothing is left goes, too.

    Raises:
        ValueError: No text can hold it: a key stands twice, or half of a surrogate pair stands there.
    """
    left = _left(loaded(record.decode()), {m.name: m for m in named.members})
    text = json_text(left)
    if not is_text(text):
        raise ValueError("half of a surrogate pair is no character")
    return text if left else None


def _left(record: JsonObject, named: dict[str, Member]) -> dict[str, Any]:
    left: dict[str, Any] = {}
    seen: set[str] = set()
    for name, value in record:
        member = named.get(name)
        if member and not isinstance(member.node, Members):
            continue  # it has a column, which takes the last one
        if name in seen:
            raise ValueError(f"the key {name!r} stands there twice")
        seen.add(name)
        left |= _part(name, value, member)
    return left


def _part(name: str, value: Any, member: Member | None) -> dict[str, Any]:
    if member is None:
        return {name: whole(value)}
    inner = member.node
    if not isinstance(inner, Members) or not isinstance(value, JsonObject):
        return {}
    left = _left(value, {m.name: m for m in inner.members})
    return {name: left} if left else {}
