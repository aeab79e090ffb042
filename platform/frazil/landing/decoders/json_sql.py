"""Words of SQL for what `from_json` parsed: its type, and the forms that checks and columns share."""

from __future__ import annotations

from frazil.schemas.json_nodes import Branches, Entries, Items, Members, Node, Pairs, Scalar

__all__ = ["all_of", "every", "let", "literal", "parsed_type", "present", "unique"]

_PARSED = {
    "boolean": "boolean", "integer": "bigint", "float": "float", "double": "double",
    "number": "variant", "string": "variant", "base64": "variant", "base64_number": "variant",
    "days": "bigint", "time_millis": "bigint", "millis": "bigint", "local_millis": "bigint",
}  # fmt: skip


def parsed_type(node: Node) -> str:
    """The type that `from_json` parses into, in DDL."""
    match node:
        case Scalar():
            return _PARSED[node.wire]
        case Items():
            return f"array<{parsed_type(node.element)}>"
        case Entries():
            return f"map<string,{parsed_type(node.value)}>"
        case Pairs():
            return f"array<struct<`key`:{parsed_type(node.key)},`value`:{parsed_type(node.value)}>>"
        case Members():
            return f"struct<{','.join(f'`{m.name}`:{parsed_type(m.node)}' for m in node.members)}>"
        case Branches():
            return "variant"


def present(node: Node, x: str) -> str:
    """Whether there is a value, other than null."""
    variant = parsed_type(node) == "variant"
    return f"{x} IS NOT NULL AND NOT is_variant_null({x})" if variant else f"{x} IS NOT NULL"


def unique(keys: str) -> str:
    """Whether no item of an array stands there twice."""
    return f"size({keys}) = size(array_distinct({keys}))"


def every(items: str, e: str, condition: str) -> str:
    """Whether a condition on `e` holds for all items of an array."""
    return "true" if condition == "true" else f"forall({items}, {e} -> {condition})"


def all_of(*conditions: str) -> str:
    """Whether all hold, one after the other."""
    return " AND ".join(f"({c})" for c in conditions if c != "true") or "true"


def let(given: str, name: str, result: str) -> str:
    """A result that uses a value more than once; SQL has no other way to name one within an expression."""
    return f"transform(array({given}), {name} -> {result})[0]"


def literal(given: str | int | float | bool) -> str:
    """A constant, as SQL."""
    if isinstance(given, str):
        escaped = given.replace("\\", "\\\\").replace("'", "\\'")
        return f"'{escaped}'"
    return (
        str(given).lower()
        if isinstance(given, bool)
        else f"{given!r}"
        if isinstance(given, int)
        else f"double('{given!r}')"
    )
