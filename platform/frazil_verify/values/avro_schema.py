"""Schemas of Avro as trees, and what stands in them.

Source: https://avro.apache.org/docs/1.12.0/specification/
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import fastavro

from frazil_verify.log.registry import Schema

_NAME = re.compile(r"[A-Za-z_][\w.-]*")


def parsed(schema: Schema) -> Any:
    """A schema as a tree in which each name stands for its whole type."""
    named: dict[str, Any] = {}
    _take_in(schema, named)
    return fastavro.parse_schema(json.loads(schema.text), named_schemas=dict(named), expand=True)


def _take_in(schema: Schema, named: dict[str, Any]) -> None:
    for reference in schema.references.values():
        _take_in(reference, named)
        fastavro.parse_schema(json.loads(reference.text), named_schemas=named, expand=True)


def fields_of(tree: Any) -> Mapping[str, Any]:
    """The fields of a record by name; none of what is no record."""
    return {f["name"]: f for f in tree["fields"]} if kind_of(tree) == "record" else {}


def as_record(tree: Any, word: str) -> Any:
    """The same; what is no record as the only field of one, which has the same bytes."""
    if kind_of(tree) == "record":
        return tree
    return {"type": "record", "name": "(root)", "fields": [{"name": word, "type": tree}]}


def without_null(tree: Any) -> Any:
    """The one type that a union allows beside null; any other type as it is."""
    branches = [each for each in tree if kind_of(each) != "null"] if isinstance(tree, list) else ()
    return branches[0] if len(branches) == 1 else tree


def has_defaults(schema: Schema) -> bool:
    """Whether a field of a schema has a default other than null."""
    return _has_defaults(parsed(schema))


def _has_defaults(tree: Any) -> bool:
    if isinstance(tree, list):
        return any(map(_has_defaults, tree))
    if not isinstance(tree, dict):
        return False
    return tree.get("default") is not None or any(map(_has_defaults, tree.values()))


def branch_names(branches: Sequence[Any], hints: Sequence[Any] = ()) -> list[str]:
    """What the table calls the branches of a union that are not null: docs/formats.md, "Names".

    Args:
        hints: What `confluent:union` says of the field that has the union.
    """
    whole = [each.get("name") or kind_of(each) if isinstance(each, dict) else str(each) for each in branches]
    short = [name.rpartition(".")[2] for name in whole]
    own = [one if short.count(one) == 1 else full for one, full in zip(short, whole, strict=True)]
    given = [*map(_given, hints), *[""] * len(own)]
    return [re.sub(r"[^A-Za-z0-9]", "_", hint or name) for hint, name in zip(given, own, strict=False)]


def _given(hint: Any) -> str:
    name = hint.get("name") if isinstance(hint, Mapping) else None
    return name if isinstance(name, str) and _NAME.fullmatch(name) else ""


def kind_of(node: Any) -> str:
    """The word of a type: `record`, `union`, `long`; the name of a record that it stands in."""
    if isinstance(node, list):
        return "union"
    return str(node["type"]) if isinstance(node, dict) else str(node)


def parts(node: Any) -> Mapping[str, Any]:
    """The fields of a record, the element of an array, the value of a map, or the branches of a union."""
    node = without_null(node)
    match kind_of(node):
        case "union":
            branches = [each for each in node if kind_of(each) != "null"]
            return dict(zip(branch_names(branches), branches, strict=True))
        case "array":
            items = node["items"]
            return {"element": items, "value": fields_of(items).get("value", {"type": "null"})["type"]}
        case "map":
            return {"value": node["values"]}
    return {name: each["type"] for name, each in fields_of(node).items()}


def read_from(own: Collection[str], today: Mapping[str, str], newest: Mapping[str, Any]) -> dict[str, str]:
    """Which of a writer's own fields each field of the newest schema is read from.

    Args:
        today: What these are called now, by their names in those days; a name here counts before an alias.
        newest: The fields of the newest schema.

    Source: https://avro.apache.org/docs/1.12.0/specification/#aliases: as though the writer's field had the
    name of the one that lists it. Docs/types.md: where the writer has both names, each stays what it is.
    """
    by_name = {name: name for name in own if name not in today}
    by_name |= {today[name]: name for name in own if name in today}
    claims: dict[str, str] = {}
    for name, field in newest.items():
        if former := [a for a in field.get("aliases", ()) if a in by_name and a not in claims]:
            claims[former[0]] = name

    def is_left(name: str, asked: tuple[str, ...] = ()) -> bool:
        new = claims.get(name, name)
        return new != name and (new not in by_name or new in asked or is_left(new, (*asked, name)))

    return {claims[name] if is_left(name) else name: writer for name, writer in by_name.items()}
