"""What a list of fields does not name of a record, as JSON text: each value as it was written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from json.encoder import encode_basestring

import msgspec

from frazil.formats.json.nodes import Members, Node

_decode = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def rest_of(record: bytes, named: Members) -> str | None:
    """The text of a record without the values that have columns; None where nothing is left.

    An object of which nothing is left goes, too.

    Raises:
        ValueError: A key stands twice, in the record or in an object that holds fields: one would be lost.
    """
    nodes = {m.name: m.node for m in named.members}
    members = {name: bytes(raw) for name, raw in _decode(record).items()}
    if not _are_all(record, members) and _count(record) != len(members):
        raise ValueError("a key stands there twice")
    parts = (
        f"{encode_basestring(name)}:{left}"
        for name, text in members.items()
        if (left := _left(text, nodes.get(name))) is not None
    )
    return f"{{{whole}}}" if (whole := ",".join(parts)) else None


def _left(text: bytes, node: Node | None) -> str | None:
    """What is left of a value that has this node among the fields, or none."""
    if node is None:
        return text.decode()
    return rest_of(text, node) if isinstance(node, Members) and text.startswith(b"{") else None


def _are_all(record: bytes, members: Mapping[str, bytes]) -> bool:
    """Whether an object has no members but these, by its colons: each member has one of its own."""
    outside = record.count(b":") - sum(text.count(b":") for text in members.values())
    return outside == len(members) and not any(":" in name for name in members)


def _count(record: bytes) -> int:
    """How many members an object has, each of those with one key counted."""
    return len(json.loads(record, object_pairs_hook=list, parse_int=str))
