"""What the words of a JSON schema say: null, a type that they imply, a map's values, a union's branches."""

from __future__ import annotations

import re
from typing import Any

from frazil.formats.json.schemas.references import Flat

_NAME = re.compile(r"\w+")
_SHAPES = frozenset({"items", "oneOf", "anyOf", "patternProperties"})


def is_null(schema: dict[str, Any]) -> bool:
    """Whether null is all that the schema takes."""
    null = schema.get("type") == "null"
    return null or ("const" in schema and schema["const"] is None) or schema.get("enum") == [None]


def implied(schema: dict[str, Any]) -> str | None:
    """The type that a schema must mean where it names none."""
    if "properties" in schema or "additionalProperties" in schema or "patternProperties" in schema:
        return "object"
    if "items" in schema or "prefixItems" in schema:
        return "array"
    values = schema.get("enum", [schema["const"]] if "const" in schema else [])
    names = {str: "string", bool: "boolean", int: "integer", float: "number"}
    kinds = {names.get(type(v)) for v in values}
    return kinds.pop() if len(kinds) == 1 else None


def map_values(schema: dict[str, Any]) -> list[Any]:
    """The schemas of a map's values, none where the object has keys of its own."""
    more, patterns = schema.get("additionalProperties"), schema.get("patternProperties", {})
    marked = schema.get("connect.type") == "map"
    if schema.get("properties") and not marked:
        return []
    others = [more] if isinstance(more, dict) and (more or marked) else []
    return [*others, *patterns.values()]


def only_constrains(branch: dict[str, Any], whole: dict[str, Any]) -> bool:
    """Whether a branch of a union only narrows what its surroundings say."""
    known = branch.get("properties", {}).keys() <= whole.get("properties", {}).keys()
    return known and same_type(branch, whole) and not branch.keys() & _SHAPES


def same_type(branch: dict[str, Any], whole: dict[str, Any]) -> bool:
    """Whether a branch has the type of its surroundings, or names none."""
    return bool(branch.get("type", whole.get("type")) == whole.get("type"))


def _branch_name(branch: dict[str, Any], index: int) -> str:
    title = branch.get("title", "")
    return title if _NAME.fullmatch(title) else _numbered(index)


def branch_names(branches: list[Flat]) -> list[str]:
    """What a union's branches are called: by their titles, if these are names and differ; else by numbers."""
    names = [_branch_name(b, i) for i, (b, _) in enumerate(branches)]
    twins = len({n.lower() for n in names}) < len(names)
    return [_numbered(i) for i in range(len(names))] if twins else names


def _numbered(index: int) -> str:
    return f"connect_union_field_{index}"
