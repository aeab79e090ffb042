"""SQL over what `from_json` parsed: the checks that it does not make, and the columns, all through a record.

It keeps a map's repeated keys, knows nothing of required fields, and takes null where no null may stand
(reference/decode.md, section 4). What it does to scalars: `json_scalars`.
"""

from __future__ import annotations

from dataclasses import dataclass

from frazil.formats.json.nodes import Branches, Entries, Items, Members, Node, Pairs, Scalar, logical
from frazil.formats.json.scalar_checks import scalar_check, scalar_value
from frazil.formats.json.sql import all_of, every, parsed_type, present, unique
from frazil.formats.json.unions import union_check, union_value
from frazil.formats.logical import Field, List, Map, Struct, Type
from frazil.formats.spark import spark_type
from frazil.quoting import literal, quoted

__all__ = ["JsonSql"]


@dataclass(frozen=True, slots=True)
class JsonSql:
    """Writes the SQL for values of one record.

    Args:
        text: The column of the record's text.
        in_union: Whether the values were parsed once already, as variants.
    """

    text: str
    in_union: bool = False

    def check(self, node: Node, x: str, depth: int = 0) -> str:
        """Whether a value is null, or of its type all through.

        Args:
            node: What the schema says of it.
            x: The parsed value, as SQL.
            depth: Lambdas around it; their names must differ.
        """
        found = self._check(node, x, depth)
        variant = f" OR is_variant_null({x})" if self._variant(node) else ""
        return "true" if found == "true" else f"({x} IS NULL{variant} OR coalesce({found}, false))"

    def value(self, node: Node, x: str, target: Type, depth: int = 0) -> str:
        """The column's value, null where the parsed one can't be it.

        Args:
            node: What the writer's schema says of it.
            x: The parsed value, as SQL.
            target: The reader's type, which holds all that the writer's does.
            depth: Lambdas around it.
        """
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
                return union_value(JsonSql(self.text, in_union=True), node, x, target, depth)
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
                return union_check(JsonSql(self.text, in_union=True), node, x, depth)

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
