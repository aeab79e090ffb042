"""Which values of a schema its rules encrypt: by the tags of the field that a value stands in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from frazil.formats.columns.renames import Names, todays_path
from frazil.formats.encryption.contract import Contract, Rule


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value without parts.

    Args:
        path: Where it is in the columns, by Iceberg's names.
        field: The full name of the innermost field that it stands in, as rules name it.
        tags: That the schema's text gives to the field.
    """

    path: str
    field: str
    tags: frozenset[str] = frozenset()

    def within(self, name: str) -> Leaf:
        """A part of it that is no field by itself: of a list, of a map, or of a union."""
        return replace(self, path=f"{self.path}.{name}")

    def today(self, names: Names) -> Leaf:
        """The same at the path that its column has today."""
        return replace(self, path=todays_path(self.path, names))


def encrypted(leaves: Iterable[Leaf], contract: Contract) -> Mapping[str, tuple[Rule, ...]]:
    """The rules by which values are encrypted, in a writer's order, by their paths in the columns.

    Of two rules with the same tags only the first one is followed, as Confluent's clients do.
    """
    rules = _differing(contract.encrypting)
    by_path: dict[str, tuple[Rule, ...]] = {}
    for leaf in leaves:
        tags = leaf.tags | contract.tags_of(leaf.field)
        own = tuple(rule for rule in rules if not rule.tags or tags & set(rule.tags))
        if own:
            by_path[leaf.path] = own
    return by_path


def _differing(rules: Iterable[Rule]) -> tuple[Rule, ...]:
    kept: dict[tuple[str, tuple[str, ...]], Rule] = {}
    for number, rule in enumerate(rules):
        kept.setdefault((rule.mode, rule.tags or (str(number),)), rule)
    return tuple(kept.values())
