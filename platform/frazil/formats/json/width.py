"""Memory by byte: an empty object in an array is three bytes of text, and a place for each of its members.

`from_json` makes them all before any check is asked, so a text that would take far more places than it has
bytes is not given to it. Most texts are small, or have few opening braces; of others what is there many times
is counted, in a variant, which takes no more memory than the text.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from typing import Any

from frazil.formats.json.nodes import Branches, Entries, Items, Member, Members, Node, Pairs, Scalar
from frazil.formats.json.sql import let
from frazil.formats.protocol import MOST_PLACES, Reason
from frazil.quoting import literal, quoted

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


def narrow_sql(node: Node, payload: str) -> str:
    """Whether a text takes few enough places, as SQL over its bytes; most need no count."""
    most_wide = _widest(node)
    if most_wide <= _LEAST:
        return "true"
    size, text = f"octet_length({payload})", f"CAST({payload} AS string)"
    braces = f"(length({text}) - length(replace({text}, '{{', '')))"
    few = f"{size} * {most_wide}L <= {_LEAST}L * {MOST_PLACES}L"
    most = f"{MOST_PLACES}L + {size}"
    counted = let(f"try_parse_json({text})", "whole", _counted_sql(node, "whole") or "0L")
    return f"({few} OR {braces} * {most_wide}L <= {most} OR coalesce({counted} <= {most}, false))"


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


def _counted_sql(node: Node, x: str, depth: int = 0) -> str | None:
    """The places of what is there many times, as SQL over a variant; None where nothing is."""
    own, inner = f"v{depth}", depth + 1
    match node:
        case Items() | Entries() | Pairs():
            kind = "map<string,variant>" if isinstance(node, Entries) else "array<variant>"
            found = f"try_variant_get({x}, '$', '{kind}')"
            items = f"map_values({found})" if isinstance(node, Entries) else found
            within = _counted_sql(_item(node), own, inner)
            each = f"{_places(_item(node))}L" + (f" + {within}" if within else "")
            return f"coalesce(aggregate({items}, 0L, (n{depth}, {own}) -> n{depth} + {each}), 0L)"
        case Members():
            many = [m for m in node.members if any(_repeated(m.node))]
            kind = f"struct<{','.join(f'{quoted(m.name)}:variant' for m in many)}>"
            parts = (_counted_sql(m.node, f"{own}.{quoted(m.name)}", inner) for m in many)
            total = " + ".join(part for part in parts if part)
            return let(f"try_variant_get({x}, '$', {literal(kind)})", own, total) if many else None
        case Branches():
            parts = (_counted_sql(m.node, x, depth) for m in node.members)
            return " + ".join(part for part in parts if part) or None
        case Scalar():
            return None


def _counted(node: Node, value: Any) -> int:
    """The same of a text that was read."""
    match node, value:
        case (Items() | Pairs(), list()):
            return _counted_items(_item(node), value)
        case (Entries(), dict()):
            return _counted_items(_item(node), value.values())
        case (Members(), dict()):
            return sum(_counted(m.node, value.get(m.name)) for m in node.members)
        case (Branches(), _):
            return sum(_counted(m.node, value) for m in node.members)
    return 0


def _counted_items(item: Node, values: Collection[Any]) -> int:
    own = _places(item) * len(values)
    within = any(True for _ in _repeated(item))
    return own + (sum(_counted(item, each) for each in values) if within else 0)
