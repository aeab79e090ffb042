"""SQL for `oneOf` and `anyOf`: which branch a value is of, and the struct in which that field is set.

Of several branches that a value fits, the one that knows most of its keys is taken, of equals the first:
no key is lost where a branch has a place for it.
"""

from __future__ import annotations

from frazil.schemas.iceberg import spark_type
from frazil.schemas.json_nodes import Branches, Members, Node
from frazil.schemas.logical import Struct

__all__ = ["union_check", "union_value"]

_OPTIONS = (
    "map('columnNameOfCorruptRecord', 'c', 'allowNonNumericNumbers', 'false', 'allowSingleQuotes', 'false')"
)


def union_check(node: Branches, x: str, depth: int) -> str:
    """Whether a variant is null or fits a branch."""
    u = f"u{depth}"
    return f"is_variant_null({x}) OR {_with(node, x, depth, f'{_best(node, u)} IS NOT NULL')}"


def union_value(node: Branches, x: str, target: Struct | None, depth: int) -> str:
    """The struct with the best branch's field set; null where a variant is null, or none fits."""
    u, parts = f"u{depth}", []
    place = {m.name: i for i, m in enumerate(node.members)}
    names = [f.name for f in target] if target else list(place)
    for name in names:
        if name in place:
            i = place[name]
            parts.append(f"'{name}', CASE WHEN {_best(node, u)} = {-i} THEN {u}.b{i}.v END")
        elif target and (wanted := target.get(name)):
            parts.append(f"'{name}', CAST(NULL AS {spark_type(wanted.type)})")
    struct = f"CASE WHEN {_best(node, u)} IS NOT NULL THEN named_struct({', '.join(parts)}) END"
    made = _with(node, x, depth, struct, target)
    return f"CASE WHEN {x} IS NOT NULL AND NOT is_variant_null({x}) THEN {made} END"


def _with(node: Branches, x: str, depth: int, result: str, target: Struct | None = None) -> str:
    """A result of `u`, which holds for each branch whether it fits, how many keys it knows, and its value."""
    tried = ", ".join(
        f"'b{i}', {_tried(m.node, x, depth, t.type if target and (t := target.get(m.name)) else None)}"
        for i, m in enumerate(node.members)
    )
    return _let(f"named_struct({tried})", f"u{depth}", result)


def _tried(node: Node, x: str, depth: int, target: object) -> str:
    from frazil.landing.decoders.json_checks import check, parsed_type, present, value

    p = f"p{depth}"
    text = f"""concat('{{"v":', to_json({x}), '}}')"""
    parsed = f"from_json({text}, 'struct<v:{parsed_type(node)},c:string>', {_OPTIONS})"
    inner = f"{p}.v"
    fits = f"coalesce({p}.c IS NULL AND {present(node, inner)} AND {check(node, inner, depth + 1)}, false)"
    made = value(node, inner, target, depth + 1)  # type: ignore[arg-type]
    return _let(parsed, p, f"named_struct('ok', {fits}, 'known', {_known(node, x)}, 'v', {made})")


def _known(node: Node, x: str) -> str:
    if not isinstance(node, Members):
        return "0"
    keys = ", ".join("'" + m.name.replace("'", "\\'") + "'" for m in node.members)
    return f"coalesce(size(array_intersect(json_object_keys(to_json({x})), array({keys}))), 0)"


def _best(node: Branches, u: str) -> str:
    fitting = (
        f"CASE WHEN {u}.b{i}.ok THEN named_struct('known', {u}.b{i}.known, 'place', {-i}) END"
        for i in range(len(node.members))
    )
    return f"array_max(array({', '.join(fitting)})).place"


def _let(given: str, name: str, result: str) -> str:
    """SQL has no other way to name a value within an expression."""
    return f"transform(array({given}), {name} -> {result})[0]"
