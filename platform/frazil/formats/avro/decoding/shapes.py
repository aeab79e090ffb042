"""Avro schemas in shapes that pyruhvro reads, which are the same on the wire.

It panics on bytes, fixed and most logical types, on maps within unions, and on names that are used twice;
and a union has each plain type only once. So bytes are read as text, a map as an array of entries, an enum
as its number, a fixed as numbers of 8 and 4 bytes, and each branch of a union as a record of its own.
"""

from __future__ import annotations

import json
from itertools import count
from typing import Any

from frazil.formats.avro.limits import MOST_ITEMS
from frazil.formats.avro.schemas.parser import children

_PLAIN = {
    "null": "null", "boolean": "boolean", "int": "int", "long": "long", "float": "float",
    "double": "double", "string": "string", "bytes": "string", "enum": "int",
}  # fmt: skip

MOST_LEAVES = 64
"""Most leaves of a part of an array's items that may be null. Arrow has room for each leaf, even where a
record has one byte for the null: an array of a million nulls takes 8 MB for each."""


class UnreadableShapeError(ValueError):
    """A type that pyruhvro does not read."""


def shape_text(tree: Any) -> str:
    """The schema of records that are written by `tree`; raises UnreadableShapeError where there is none."""
    if not fields_with_bytes(tree):
        return json.dumps({"type": "record", "name": "R", "fields": [{"name": "f0", "type": "null"}]})
    return json.dumps(_Shapes().shape(tree))


def fields_with_bytes(record: dict[str, Any]) -> list[dict[str, Any]]:
    """Its fields without those that take no bytes, which pyruhvro can't read in every place."""
    return [field for field in record["fields"] if _takes_bytes(field["type"])]


def is_optional(node: Any) -> bool:
    """Whether it is a union of one type and null, which pyruhvro reads as that type."""
    return isinstance(node, list) and len(node) == 2 and {"type": "null"} in node


def parts_of_fixed(size: int) -> list[str]:
    """The numbers that a fixed is read as."""
    if size % 4:
        raise UnreadableShapeError(f"a fixed of {size} bytes")
    return ["double"] * (size // 8) + ["float"] * (size // 4 % 2)


class _Shapes:
    """One walk over one tree; each record has a name of its own."""

    def __init__(self) -> None:
        self._numbers = count()

    def _named(self, shapes: list[Any]) -> dict[str, Any]:
        fields = [{"name": f"f{n}", "type": shape} for n, shape in enumerate(shapes)]
        return {"type": "record", "name": f"R{next(self._numbers)}", "fields": fields}

    def shape(self, node: Any) -> Any:
        if isinstance(node, list):
            return self._union(node)
        if node["type"] != "null" and not _takes_bytes(node):
            raise UnreadableShapeError(f"a {node['type']} that takes no bytes")
        match node["type"]:
            case "record":
                return self._named([self.shape(f["type"]) for f in fields_with_bytes(node)])
            case "array":
                return {"type": "array", "items": self._item(node["items"])}
            case "map":
                entry = self._named(["string", self._item(node["values"])])
                return {"type": "array", "items": entry}
            case "fixed":
                return self._named(parts_of_fixed(node["size"]))
            case plain:
                return _PLAIN[plain]

    def _union(self, branches: list[Any]) -> list[Any]:
        if is_optional(branches):
            return [self.shape(b) for b in branches]
        return ["null" if b["type"] == "null" else self._named([self.shape(b)]) for b in branches]

    def _item(self, node: Any) -> Any:
        if not _takes_bytes(node):
            # A count of 2^62 would be read to its end.
            raise UnreadableShapeError("an array of items that take no bytes")
        _check_nulls(node)
        return self.shape(node)


def _takes_bytes(node: Any) -> bool:
    if isinstance(node, list):
        return True
    match node["type"]:
        case "null":
            return False
        case "record":
            return any(map(_takes_bytes, children(node)))
        case "fixed":
            return bool(node["size"])
        case _:
            return True


def _check_nulls(items: Any) -> None:
    if isinstance(items, list) and leaves(items) > MOST_LEAVES:
        raise UnreadableShapeError(f"an array of what may be null and has {leaves(items)} parts")
    for part in children(items):
        _check_nulls(part)


def leaves_per_byte(tree: Any) -> float:
    """Most leaves that a byte may become: of each part those that it always has, for the fewest bytes of it.

    A null item is one byte and has room for each leaf beside the null; four bytes claim many items of none.
    """
    return max(
        1.0, _fixed(tree) / max(1, _least(tree)), _of_items(tree), *map(leaves_per_byte, children(tree))
    )


def _of_items(node: Any) -> float:
    for part in ("items", "values"):
        if isinstance(node, dict) and part in node:
            item, key = node[part], part == "values"
            least = _least(item) + key
            return (_fixed(item) + key) * (1 / least if least else MOST_ITEMS / 4)
    return 0.0


def _fixed(node: Any) -> int:
    """Leaves that a value has whatever is in it: of an array one, where it begins."""
    if isinstance(node, dict) and node["type"] in ("array", "map"):
        return 1
    return sum(_fixed(part) for part in children(node) if part != {"type": "null"}) or 1


def _least(node: Any) -> int:
    """Fewest bytes of a value."""
    if isinstance(node, list):
        return 1 + min(map(_least, node))
    match node["type"]:
        case "null":
            return 0
        case "record":
            return sum(map(_least, children(node)))
        case "fixed":
            return int(node["size"])
        case "float" | "double" as kind:
            return 4 if kind == "float" else 8
        case _:
            return 1


def leaves(node: Any) -> int:
    """How many leaves have room of their own, as nulls of a union have not."""
    return sum(leaves(part) for part in children(node) if part != {"type": "null"}) or 1
