"""The values of a JSON Schema by the properties that they stand in, and the tags of these.

It goes where Confluent's clients go to encrypt: into properties, items and branches, not into other values
of an object. A property's tags are those beside it, not those of what it refers to.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from frazil.errors import SchemaRefusedError
from frazil.formats.encryption.leaves import Leaf
from frazil.formats.json.schemas.references import Flat, References, Within, flat
from frazil.formats.json.schemas.words import branch_names, implied, is_null
from frazil.formats.protocol import MAX_DEPTH, Mapping, WriterSchema

_TAGS = "confluent:tags"


def json_leaves(writer: WriterSchema, subject: str, cuts: bool) -> Iterator[Leaf]:
    """The leaves of a schema."""
    with Mapping(subject).schema("JSON"):
        references = References(writer.text, writer.dependencies, cuts=cuts)
        yield from _Leaves(subject, references).of(references.root, Leaf("", "$"), ())


class _Leaves:
    """One walk over one schema."""

    def __init__(self, subject: str, references: References) -> None:
        self._refuse = Mapping(subject).refusal
        self._references = references

    def of(self, schema: Any, leaf: Leaf, within: Within, depth: int = 0) -> Iterator[Leaf]:
        """The leaves of what a schema says stands at a place."""
        if not isinstance(schema, dict) or depth > MAX_DEPTH:
            return
        try:
            flattened, within = self._flat(schema, leaf, within)
            unions = flattened.get("oneOf") or flattened.get("anyOf") or ()
            branches = [self._flat(each, leaf, within) for each in unions]
        except SchemaRefusedError:  # what has no column of its own, as a part within itself
            return
        real = [branch for branch in branches if not is_null(branch[0])]
        names = branch_names(real) if len(real) > 1 and "properties" not in flattened else [""] * len(real)
        for name, (branch, inner) in zip(names, real, strict=True):
            yield from self.of(branch, leaf.within(name) if name else leaf, inner, depth + 1)
        if not real:
            yield from self._typed(flattened, leaf, within, depth)

    def _flat(self, schema: Any, leaf: Leaf, within: Within) -> Flat:
        return flat(schema, self._references, within, partial(self._refuse, leaf.path))

    def _typed(self, schema: dict[str, Any], leaf: Leaf, within: Within, depth: int) -> Iterator[Leaf]:
        kinds = schema.get("type") or implied(schema)
        kinds = [kinds] if isinstance(kinds, str) else [kind for kind in kinds or () if kind != "null"]
        if "object" in kinds:
            yield from self._properties(schema, leaf, within, depth)
        elif "array" in kinds:
            name = "value" if schema.get("connect.type") == "map" else "element"
            yield from self.of(schema.get("items"), leaf.within(name), within, depth + 1)
        elif leaf.path:
            yield leaf

    def _properties(self, schema: dict[str, Any], leaf: Leaf, within: Within, depth: int) -> Iterator[Leaf]:
        for name, each in (schema.get("properties") or {}).items():
            tags = each.get(_TAGS) if isinstance(each, dict) else None
            own = (tag for tag in tags if isinstance(tag, str)) if isinstance(tags, list) else ()
            path = f"{leaf.path}.{name}" if leaf.path else name
            field = Leaf(path, f"{leaf.field}.{name}", frozenset(own))
            yield from self.of(each, field, within, depth + 1)
