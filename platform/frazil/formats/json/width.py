"""Memory by byte: an empty object in an array is three bytes of text, and a place for each of its members.

`from_json` makes them all before any check is asked, so a text that would take far more places than it has
bytes is not given to it. Objects are counted by their opening braces, those within strings as well.
"""

from __future__ import annotations

from collections.abc import Iterator

from frazil.formats.json.nodes import Branches, Entries, Items, Members, Node, Pairs, Scalar
from frazil.formats.protocol import MOST_PLACES, Reason

_LEAST = 3
"""Bytes of an object within an array: its braces, and a comma."""

_MOST = 16 * MOST_PLACES
"""Objects are all counted as if they were the widest ones, so there is more room."""

LARGE = 16 * 2**20
"""Bytes of a text whose size is worth a word where nothing else is wrong with it."""


def widest(node: Node) -> int:
    """Places of the widest object that may be there many times."""
    return max(_repeated(node), default=0)


def narrow_sql(nodes_widest: int, payload: str) -> str:
    """Whether a text takes few enough places, as SQL over its bytes; most need no count."""
    if nodes_widest <= _LEAST:
        return "true"
    size, places = f"octet_length({payload})", f"{_MOST}L"
    text = f"CAST({payload} AS string)"
    braces = f"(length({text}) - length(replace({text}, '{{', '')))"
    few = f"{size} * {nodes_widest}L <= {_LEAST}L * {places}"
    return f"({few} OR {braces} * {nodes_widest}L <= {places} + {size})"


def fault(nodes_widest: int, payload: bytes) -> Reason | None:
    """Why a text is bad that takes too many places; None where it does not."""
    places = payload.count(b"{") * nodes_widest
    if nodes_widest <= _LEAST or places <= _MOST + len(payload):
        return None
    return "too_wide", (
        f"its {len(payload):,} bytes would take {places:,} values in memory; "
        f"{_MOST:,} more than bytes are allowed"
    )


def _repeated(node: Node) -> Iterator[int]:
    match node:
        case Items():
            yield _places(node.element)
            yield from _repeated(node.element)
        case Entries():
            yield _places(node.value)
            yield from _repeated(node.value)
        case Pairs():
            yield _places(node.key) + _places(node.value)
            yield from _repeated(node.value)
        case Members() | Branches():
            for member in node.members:
                yield from _repeated(member.node)


def _places(node: Node) -> int:
    match node:
        case Members() | Branches():
            return sum(_places(member.node) for member in node.members)
        case Scalar() | Items() | Entries() | Pairs():
            return 1
