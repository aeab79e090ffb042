"""What msgspec reads each value of a JSON record as: strictly, and to the last byte of the text.

Its types say all that a type can say: what is required, what may be null, the range of a number. It refuses
1.0 for an integer, a number for a text, and half of a surrogate pair; of a key that stands twice it takes the
last value, as Spark does. What no type of it can tell is kept as `Raw`, its text: `arrays` reads that anew.
"""

from __future__ import annotations

import json
from typing import Annotated, Any

import msgspec

from frazil.formats.json.nodes import Branches, Entries, Items, Member, Members, Node, Pairs, Scalar
from frazil.formats.json.reasons import Repeated, repeated

BAD = (msgspec.MsgspecError, RecursionError, UnicodeDecodeError)
"""What msgspec raises where a text is none of the type."""

_LONG = (-(2**63), 2**63 - 1)
_PLAIN: dict[str, Any] = {
    "boolean": bool, "float": float, "double": float, "string": str, "base64": str, "base64_number": str,
    "zoned": str, "number": msgspec.Raw, "json": msgspec.Raw, "digits": msgspec.Raw, "base64_digits": str,
    "day": str, "local": str,
}  # fmt: skip


def is_raw(node: Node) -> bool:
    """Whether msgspec keeps the value's text: numbers that must stay exact, maps and unions."""
    match node:
        case Scalar():
            return _PLAIN.get(node.wire) is msgspec.Raw
        case Entries() | Branches():
            return True
        case Items() | Pairs() | Members():
            return False


def kind_of(node: Node, optional: bool = False) -> Any:
    """The type of a value; a `Raw` may be null in any case, which its reader has to see."""
    kind = _kind(node)
    return kind | None if optional and not is_raw(node) else kind


def attribute(place: int) -> str:
    """The name of the attribute that holds an object's member."""
    return f"f{place}"


def has_plain_names(node: Members) -> bool:
    """Whether msgspec can find all members by name: it takes none that JSON has to escape."""
    return not any(sign in '"\\' or ord(sign) < 32 for m in node.members for sign in m.key)


def _kind(node: Node) -> Any:
    match node:
        case Scalar():
            return _PLAIN.get(node.wire) or _integer(*(node.bounds or _LONG))
        case Items():
            return list[kind_of(node.element, node.optional)]  # type: ignore[misc]  # made at run time
        case Pairs():
            return list[_object((Member("key", node.key), Member("value", node.value, node.optional)))]  # type: ignore[misc]
        case Members() if has_plain_names(node):
            return _object(node.members)
        case Members():
            return dict[str, msgspec.Raw]
        case Entries() | Branches():
            return msgspec.Raw


def _integer(low: int, high: int) -> Any:
    return Annotated[int, msgspec.Meta(ge=low, le=high)]


def _object(members: tuple[Member, ...]) -> type[msgspec.Struct]:
    """A class with an attribute for each member; required ones come first, as they must."""
    fields: list[Any] = [(attribute(i), kind_of(m.node)) for i, m in enumerate(members) if not m.optional]
    fields += [(attribute(i), kind_of(m.node, True), None) for i, m in enumerate(members) if m.optional]
    names = {attribute(i): m.key for i, m in enumerate(members)}
    return msgspec.defstruct("Object", fields, rename=names, gc=False)


def count_members(text: bytes) -> int:
    """How many members the outermost object of a text has, each of those with one key counted."""
    return len(json.loads(text, object_pairs_hook=list, parse_int=str))


def keys_in(text: bytes | None) -> frozenset[str]:
    """The keys of the outermost object of a text."""
    if text is None or not text.startswith(b"{"):
        return frozenset()
    return frozenset(msgspec.json.decode(text, type=dict[str, msgspec.Raw]))


def repeats(text: bytes | None) -> bool:
    """Whether a key stands twice in an object, at any depth."""
    if text is None or not text.startswith((b"{", b"[")):
        return False
    return repeated(json.loads(text, object_pairs_hook=Repeated, parse_int=str)) is not None
