"""Proof that what stands in a column of text was a string: `from_json` takes any value for one, as its JSON.

Hardly a text looks like a number, `true`, `false`, an object or an array; a record without such a text
is proven by that. Only the others are parsed again, with variants in the place of texts: these know what
they were, and cost as much as all the rest of a record.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from frazil.formats.json.nodes import Entries, Items, Member, Members, Node, Pairs, Scalar
from frazil.formats.json.sql import let, options_map
from frazil.formats.json.whole import Whole
from frazil.quoting import literal, quoted

__all__ = ["all_strings"]

_WIRES = ("string", "base64", "base64_number")
_NUMBER = "0123456789.eE-+"
_LIKE_ANOTHER = re.compile(r"[0-9.eE+-]+|true|false|[{\[\"].*", re.DOTALL)
"""Quotes are of "Infinity", which Spark makes of 1e400."""


def all_strings(node: Node, whole: Whole, text: str, parsed: str) -> str:
    """Whether there was a string wherever a column of text has a value, as SQL.

    Args:
        node: What the schema says of the record.
        whole: How it was parsed.
        text: The column that was parsed.
        parsed: The column of what came out.
    """
    texts = _texts(node)
    if texts is None:
        return "true"
    doubt = _any(texts, whole.value(parsed), _like_another)
    again = f"from_json({text}, {literal(whole.type(texts, exact=True))}, {options_map(whole.options)})"
    found = f"{whole.proof('p')} AND NOT coalesce({_any(texts, whole.value('p'), _other)}, false)"
    return f"CASE WHEN {doubt} THEN {let(again, 'p', found)} ELSE true END"


def _texts(node: Node) -> Node | None:
    """The part of the tree that is text, and may look like something else; None where nothing is."""
    match node:
        case Scalar():
            return node if node.wire in _WIRES and not _told_apart(node) else None
        case Items():
            return Items(element) if (element := _texts(node.element)) else None
        case Entries():
            return Entries(value) if (value := _texts(node.value)) else None
        case Pairs():
            return _texts(Items(Members((Member("key", node.key), Member("value", node.value)))))
        case Members():
            found = tuple(Member(m.name, inner) for m in node.members if (inner := _texts(m.node)))
            return Members(found) if found else None
    return None  # the branches of a union were variants anyway


def _told_apart(node: Scalar) -> bool:
    """Whether none of the values that may stand there looks like anything but a string."""
    return node.allowed is not None and not any(_LIKE_ANOTHER.fullmatch(str(v)) for v in node.allowed)


def _any(node: Node, x: str, leaf: Callable[[str], str], depth: int = 0) -> str:
    """Whether anything is true of any of the texts."""
    e = f"t{depth}"
    match node:
        case Items():
            return f"exists({x}, {e} -> {_any(node.element, e, leaf, depth + 1)})"
        case Entries():
            return f"exists(map_values({x}), {e} -> {_any(node.value, e, leaf, depth + 1)})"
        case Members():
            members = ((m.node, f"{x}.{quoted(m.name)}") for m in node.members)
            return " OR ".join(f"({_any(inner, place, leaf, depth)})" for inner, place in members)
    return leaf(x)


def _like_another(x: str) -> str:
    """Whether a text could have been another value: as a number it has no other characters.

    The comparisons leave most texts to two of them, whatever they begin with.
    """
    number = f"({x} <> '' AND trim(LEADING '{_NUMBER}' FROM {x}) = '')"
    low = f"{x} < ':' AND ({number} OR startswith({x}, '\"'))"
    high = f"{x} >= '[' AND ({x} IN ('true', 'false') OR startswith({x}, '[') OR startswith({x}, '{{'))"
    return f"({low}) OR ({high})"


def _other(x: str) -> str:
    """Whether a variant is anything but a string, or null."""
    return f"schema_of_variant({x}) NOT IN ('STRING', 'VOID')"
