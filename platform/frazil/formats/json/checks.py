"""SQL over what `from_json` parsed: the checks that it does not make, and the columns.

It keeps a map's repeated keys, knows nothing of required fields, and takes null where no null may stand
(reference/decode.md, section 4). What it does to scalars: `sql`.

Of `oneOf` and `anyOf` a struct is made, in which the field of a value's branch is set. Of several branches
that a value fits, the one that knows most of its keys is taken, of equals the first: no key is lost where a
branch has a place for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from frazil.formats.json.nodes import Branches, Entries, Items, Members, Node, Pairs, Scalar, logical
from frazil.formats.json.sql import (
    all_of,
    every,
    let,
    parsed_type,
    present,
    scalar_check,
    scalar_value,
    unique,
)
from frazil.formats.logical import Field, List, Map, Struct, Type
from frazil.formats.types import spark_type
from frazil.quoting import literal, quoted

_OPTIONS = "map('columnNameOfCorruptRecord', 'c', 'allowNonNumericNumbers', 'false')"


@dataclass(frozen=True, slots=True)
class JsonSql:
    """Writes the SQL for values of one record's `text`; `in_union`: they were parsed before, as variants."""

    text: str
    in_union: bool = False

    def check(self, node: Node, x: str, depth: int = 0) -> str:
        """Whether a parsed value is null, or of its type all through; `depth` counts lambdas around it."""
        found = self._check(node, x, depth)
        variant = f" OR is_variant_null({x})" if self._variant(node) else ""
        return "true" if found == "true" else f"({x} IS NULL{variant} OR coalesce({found}, false))"

    def value(self, node: Node, x: str, target: Type, depth: int = 0) -> str:
        """The column's value, null where the parsed one can't be it."""
        e = f"e{depth}"
        match node, target:
            case Scalar(), _:
                found = scalar_value(node, x, self.in_union)
                return found if target == node.type else f"CAST({found} AS {spark_type(target)})"
            case Items(), List():
                element = self.value(node.element, e, target.element, depth + 1)
                return x if element == e else f"transform({x}, {e} -> {element})"
            case Entries(), Map():
                inner = self.value(node.value, e, target.value, depth + 1)
                return x if inner == e else f"transform_values({x}, (k{depth}, {e}) -> {inner})"
            case Pairs(), Map():
                return self._map(node, x, target, depth)
            case Members(), Struct():
                return self._struct(node, x, target, depth)
            case Branches(), Struct():
                return self._union(node, x, target, depth)
        raise TypeError(f"{target} does not hold {node}")

    def _check(self, node: Node, x: str, depth: int) -> str:
        e = f"e{depth}"
        match node:
            case Scalar():
                return scalar_check(node, x, self.text, self.in_union)
            case Items():
                return every(x, e, self._held(node.element, e, node.optional, depth + 1))
            case Entries():
                held = self._held(node.value, e, node.optional, depth + 1)
                return all_of(unique(f"map_keys({x})"), every(f"map_values({x})", e, held))
            case Pairs():
                held = self._held(node.value, f"{e}.`value`", node.optional, depth + 1)
                return all_of(self._keyed(node, x, depth), every(x, e, held))
            case Members():
                return all_of(
                    *(self._held(m.node, f"{x}.{quoted(m.name)}", m.optional, depth) for m in node.members)
                )
            case Branches():
                return self._tried(node, x, {}, depth, f"{_best(node, f'u{depth}')} IS NOT NULL")

    def _held(self, node: Node, x: str, optional: bool, depth: int) -> str:
        if optional:
            return self.check(node, x, depth)
        if self._variant(node):
            return f"coalesce({self._check(node, x, depth)}, false)"  # null has no type that passes
        return all_of(present(node, x), self.check(node, x, depth))

    def _variant(self, node: Node) -> bool:
        return parsed_type(node, exact=self.in_union) == "variant"

    def _keyed(self, node: Pairs, x: str, depth: int) -> str:
        """Whether every entry has a key of its own."""
        e = f"e{depth}"
        key = self._held(node.key, f"{e}.`key`", False, depth + 1)
        keys = f"transform({x}, {e} -> {self.value(node.key, f'{e}.`key`', logical(node.key), depth + 1)})"
        return all_of(every(x, e, all_of(f"{e} IS NOT NULL", key)), unique(keys))

    def _map(self, node: Pairs, x: str, target: Map, depth: int) -> str:
        e = f"e{depth}"
        key = self.value(node.key, f"{e}.`key`", target.key, depth + 1)
        inner = self.value(node.value, f"{e}.`value`", target.value, depth + 1)
        entries = f"map_from_entries(transform({x}, {e} -> struct({key}, {inner})))"
        return f"CASE WHEN {self._keyed(node, x, depth)} THEN {entries} END"

    def _struct(self, node: Members, x: str, target: Struct, depth: int) -> str:
        parts = (f"{literal(f.name)}, {self._member(node, x, f, depth)}" for f in target)
        return f"CASE WHEN {x} IS NOT NULL THEN named_struct({', '.join(parts)}) END"

    def _member(self, node: Members, x: str, field: Field, depth: int) -> str:
        member = node.get(field.name)
        if member is None:
            return f"CAST(NULL AS {spark_type(field.type)})"
        return self.value(member.node, f"{x}.{quoted(field.name)}", field.type, depth)

    def _union(self, node: Branches, x: str, target: Struct, depth: int) -> str:
        """The struct with the best branch's field set; null where the variant is null or no branch fits."""
        u, place = f"u{depth}", {m.name: i for i, m in enumerate(node.members)}
        parts = []
        for field in target:
            i = place.get(field.name)
            chosen = "NULL" if i is None else f"CASE WHEN {_best(node, u)} = {-i} THEN {u}.b{i}.v END"
            parts.append(f"{literal(field.name)}, CAST({chosen} AS {spark_type(field.type)})")
        struct = f"CASE WHEN {_best(node, u)} IS NOT NULL THEN named_struct({', '.join(parts)}) END"
        made = self._tried(node, x, {f.name: f.type for f in target}, depth, struct)
        return f"CASE WHEN {x} IS NOT NULL AND NOT is_variant_null({x}) THEN {made} END"

    def _tried(self, node: Branches, x: str, targets: Mapping[str, Type], depth: int, result: str) -> str:
        """A result that uses `u`: for each branch, whether it fits, which keys it knows, and its value."""
        branches = (
            f"'b{i}', {self._branch(m.node, x, targets.get(m.name, logical(m.node)), depth)}"
            for i, m in enumerate(node.members)
        )
        return let(f"named_struct({', '.join(branches)})", f"u{depth}", result)

    def _branch(self, node: Node, x: str, target: Type, depth: int) -> str:
        """The value, parsed again as a value of this branch."""
        p, inner = f"p{depth}", JsonSql(self.text, in_union=True)
        text = f"""concat('{{"v":', to_json({x}), '}}')"""
        kind = literal(f"struct<v:{parsed_type(node, exact=True)},c:string>")
        parsed = f"from_json({text}, {kind}, {_OPTIONS})"
        there, good = present(node, f"{p}.v", exact=True), inner.check(node, f"{p}.v", depth + 1)
        fits = f"coalesce({p}.c IS NULL AND {there} AND {good}, false)"
        made = inner.value(node, f"{p}.v", target, depth + 1)
        result = f"named_struct('ok', {fits}, 'known', {_known(node, x)}, 'v', {made})"
        return let(parsed, p, result)


def _known(node: Node, x: str) -> str:
    if not isinstance(node, Members):
        return "0"
    keys = ", ".join(literal(m.name) for m in node.members)
    return f"coalesce(size(array_intersect(json_object_keys(to_json({x})), array({keys}))), 0)"


def _best(node: Branches, u: str) -> str:
    """The negated index of the branch to take; null where none fits."""
    fitting = (
        f"CASE WHEN {u}.b{i}.ok THEN named_struct('known', {u}.b{i}.known, 'place', {-i}) END"
        for i in range(len(node.members))
    )
    return f"array_max(array({', '.join(fitting)})).place"
