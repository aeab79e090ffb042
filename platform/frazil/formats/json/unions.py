"""SQL for `oneOf` and `anyOf`: which branch a value is of, and the struct in which that field is set.

Of several branches that a value fits, the one that knows most of its keys is taken, of equals the first:
no key is lost where a branch has a place for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from frazil.formats.json.nodes import Branches, Members, Node, logical
from frazil.formats.json.sql import let, parsed_type, present
from frazil.formats.logical import Struct, Type
from frazil.formats.spark import spark_type
from frazil.quoting import literal

__all__ = ["union_check", "union_value"]

_OPTIONS = "map('columnNameOfCorruptRecord', 'c', 'allowNonNumericNumbers', 'false')"


class Parsed(Protocol):
    """Writes the SQL of what stands within a branch."""

    def check(self, node: Node, x: str, depth: int) -> str:
        """Whether a value is null, or of its type all through."""

    def value(self, node: Node, x: str, target: Type, depth: int) -> str:
        """The column's value."""


def union_check(sql: Parsed, node: Branches, x: str, depth: int) -> str:
    """Whether a variant fits a branch."""
    return _tried(sql, node, x, {}, depth, f"{_best(node, f'u{depth}')} IS NOT NULL")


def union_value(sql: Parsed, node: Branches, x: str, target: Struct, depth: int) -> str:
    """The struct with the best branch's field set; null where a variant is null, or none fits."""
    u, place = f"u{depth}", {m.name: i for i, m in enumerate(node.members)}
    parts = []
    for field in target:
        i = place.get(field.name)
        chosen = "NULL" if i is None else f"CASE WHEN {_best(node, u)} = {-i} THEN {u}.b{i}.v END"
        parts.append(f"{literal(field.name)}, CAST({chosen} AS {spark_type(field.type)})")
    struct = f"CASE WHEN {_best(node, u)} IS NOT NULL THEN named_struct({', '.join(parts)}) END"
    made = _tried(sql, node, x, {f.name: f.type for f in target}, depth, struct)
    return f"CASE WHEN {x} IS NOT NULL AND NOT is_variant_null({x}) THEN {made} END"


def _tried(sql: Parsed, node: Branches, x: str, targets: Mapping[str, Type], depth: int, result: str) -> str:
    """A result of `u`, which says of each branch whether it fits, how many keys it knows, and its value."""
    branches = (
        f"'b{i}', {_branch(sql, m.node, x, targets.get(m.name, logical(m.node)), depth)}"
        for i, m in enumerate(node.members)
    )
    return let(f"named_struct({', '.join(branches)})", f"u{depth}", result)


def _branch(sql: Parsed, node: Node, x: str, target: Type, depth: int) -> str:
    """The value parsed again, as this branch would have it."""
    p = f"p{depth}"
    text = f"""concat('{{"v":', to_json({x}), '}}')"""
    kind = literal(f"struct<v:{parsed_type(node, exact=True)},c:string>")
    parsed = f"from_json({text}, {kind}, {_OPTIONS})"
    fits = (
        f"{p}.c IS NULL AND {present(node, f'{p}.v', exact=True)} AND {sql.check(node, f'{p}.v', depth + 1)}"
    )
    made = sql.value(node, f"{p}.v", target, depth + 1)
    result = f"named_struct('ok', coalesce({fits}, false), 'known', {_known(node, x)}, 'v', {made})"
    return let(parsed, p, result)


def _known(node: Node, x: str) -> str:
    if not isinstance(node, Members):
        return "0"
    keys = ", ".join(literal(m.name) for m in node.members)
    return f"coalesce(size(array_intersect(json_object_keys(to_json({x})), array({keys}))), 0)"


def _best(node: Branches, u: str) -> str:
    """The place of the branch to take, counted downwards; null where none fits."""
    fitting = (
        f"CASE WHEN {u}.b{i}.ok THEN named_struct('known', {u}.b{i}.known, 'place', {-i}) END"
        for i in range(len(node.members))
    )
    return f"array_max(array({', '.join(fitting)})).place"
