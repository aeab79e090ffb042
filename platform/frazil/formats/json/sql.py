"""Words of SQL for what `from_json` parsed: its type, and the forms that checks and columns share."""

from __future__ import annotations

from collections.abc import Mapping

from frazil.formats.json.nodes import Branches, Entries, Items, Members, Node, Pairs, Scalar
from frazil.formats.spark import spark_type
from frazil.quoting import literal, quoted

__all__ = [
    "all_of", "every", "let", "members_types", "options_map", "parsed_type", "present", "unique",
]  # fmt: skip

_PARSED = {
    "boolean": "boolean", "integer": "bigint", "float": "float", "double": "double",
    "number": "variant", "string": "string", "base64": "string", "base64_number": "string",
    "days": "bigint", "time_millis": "bigint", "millis": "bigint", "local_millis": "bigint",
}  # fmt: skip


def parsed_type(node: Node, exact: bool = False) -> str:
    """The type that `from_json` parses into, in DDL.

    Args:
        node: What the schema says of the value.
        exact: Whether texts are parsed as variants, which know whether they were strings.
    """
    match node:
        case Scalar():
            return _scalar_type(node, exact)
        case Items():
            return f"array<{parsed_type(node.element, exact)}>"
        case Entries():
            return f"map<string,{parsed_type(node.value, exact)}>"
        case Pairs():
            key, value = parsed_type(node.key, exact), parsed_type(node.value, exact)
            return f"array<struct<`key`:{key},`value`:{value}>>"
        case Members():
            return f"struct<{members_types(node, exact)}>"
        case Branches():
            return "variant"


def members_types(node: Members, exact: bool = False) -> str:
    """The members of such a struct."""
    return ",".join(f"{quoted(m.name)}:{parsed_type(m.node, exact)}" for m in node.members)


def _scalar_type(node: Scalar, exact: bool) -> str:
    if node.wire == "integer" and spark_type(node.type) == "int":
        return "int"
    found = _PARSED[node.wire]
    return "variant" if exact and found == "string" else found


def present(node: Node, x: str, exact: bool = False) -> str:
    """Whether there is a value, other than null."""
    variant = parsed_type(node, exact) == "variant"
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


def options_map(options: Mapping[str, str]) -> str:
    """Options of a function, as SQL."""
    return f"map({', '.join(f'{literal(k)}, {literal(v)}' for k, v in options.items())})"
