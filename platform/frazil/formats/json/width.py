"""Memory by byte: an empty object in an array is three bytes of text, and a place for each of its members.

A text that would take far more places than it has bytes is not read. Most texts are small, or have few
opening braces; of others what is there many times is counted.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from typing import Any

from frazil.formats.json.nodes import Branches, Entries, Items, Member, Members, Node, Pairs, Scalar
from frazil.formats.protocol import MOST_PLACES, Reason

_LEAST = 3
"""Bytes of an object within an array: its braces, and a comma."""

LARGE = 16 * 2**20
"""Bytes of a text whose size is worth a word where nothing else is wrong with it."""


def _widest(node: Node) -> int:
    """Places of the widest object that may be there many times."""
    return max(_repeated(node), default=0)


def places_per_byte(node: Node) -> float:
    """Values in columns that a byte of text may become."""
    return max(1.0, _widest(node) / _LEAST)


def fault(node: Node, payload: bytes) -> Reason | None:
    """Why a text is bad that takes too many places; None where it does not."""
    most = MOST_PLACES + len(payload)
    if payload.count(b"{") * _widest(node) <= most:
        return None
    try:
        places = _counted(node, json.loads(payload))
    except (ValueError, RecursionError):
        return None
    if places <= most:
        return None
    return "too_wide", (
        f"its {len(payload):,} bytes would take {places:,} values in memory; "
        f"{MOST_PLACES:,} more than bytes are allowed"
    )


def _repeated(node: Node) -> Iterator[int]:
    match node:
        case Items() | Entries() | Pairs():
            yield _places(_item(node))
            yield from _repeated(_item(node))
        case Members() | Branches():
            for member in node.members:
                yield from _repeated(member.node)


def _item(node: Items | Entries | Pairs) -> Node:
    """What may be there many times."""
    match node:
        case Items():
            return node.element
        case Entries():
            return node.value
        case Pairs():
            return Members((Member("key", node.key), Member("value", node.value)))


def _places(node: Node) -> int:
    match node:
        case Members() | Branches():
            return sum(_places(member.node) for member in node.members)
        case Scalar() | Items() | Entries() | Pairs():
            return 1


def _counted(node: Node, value: Any) -> int:
    """The same of a text that was read."""
    match node, value:
        case (Items() | Pairs(), list()):
            return _counted_items(_item(node), value)
        case (Entries(), dict()):
            return _counted_items(_item(node), value.values())
        case (Members(), dict()):
            return sum(_counted(m.node, value.get(m.key)) for m in node.members)
        case (Branches(), _):
            return sum(_counted(m.node, value) for m in node.members)
    return 0


def _counted_items(item: Node, values: Collection[Any]) -> int:
    own = _places(item) * len(values)
    within = any(True for _ in _repeated(item))
    return own + (sum(_counted(item, each) for each in values) if within else 0)
