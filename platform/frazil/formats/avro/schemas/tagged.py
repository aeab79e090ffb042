"""The values of an Avro schema by the fields that they stand in, and the tags of these."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from frazil.formats.avro.schemas.logical import branch_names, is_entries
from frazil.formats.avro.schemas.pairs import real
from frazil.formats.avro.schemas.parser import TAGS
from frazil.formats.encryption.leaves import Leaf


def avro_leaves(tree: dict[str, Any]) -> Iterator[Leaf]:
    """The leaves of a tree that `parse_avro` gives."""
    return _record(tree, "")


def _record(node: dict[str, Any], at: str) -> Iterator[Leaf]:
    for field in node["fields"]:
        tags = field.get(TAGS)
        leaf = Leaf(
            f"{at}{field['name']}",
            f"{node['name']}.{field['name']}",
            frozenset(filter(_is_text, tags)) if isinstance(tags, list) else frozenset(),
        )
        yield from _type(field["type"], leaf, field.get("confluent:union") or ())


def _is_text(tag: object) -> bool:
    return isinstance(tag, str)


def _type(node: Any, leaf: Leaf, hints: Any = ()) -> Iterator[Leaf]:
    """The values of a type that stands in a field."""
    if isinstance(node, list):
        branches = real(node)
        if len(branches) == 1:
            yield from _type(branches[0], leaf, hints)
            return
        for name, branch in zip(branch_names(branches, hints), branches, strict=True):
            yield from _type(branch, leaf.within(name))
        return
    match node["type"]:
        case "record":
            yield from _record(node, f"{leaf.path}.")
        case "array" if is_entries(node):
            parts = {field["name"]: field for field in node["items"]["fields"]}
            yield from _type(parts["value"]["type"], leaf.within("value"))
        case "array":
            yield from _type(node["items"], leaf.within("element"), hints)
        case "map":
            yield from _type(node["values"], leaf.within("value"), hints)
        case "null":
            return
        case _:
            yield leaf
