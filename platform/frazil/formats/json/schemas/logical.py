"""JSON Schema to logical schema. Rules: Confluent's `JsonToLogicalTypeConverter`, but where it loses data.

Time-of-day becomes a bigint of microseconds, as for Avro. An object of any keys whose values are alike is
a map even without Connect's mark (there: an empty struct). A union names its fields by the branches' titles
where those are names, else `connect_union_field_<n>`.
"""

from __future__ import annotations

import re
from contextlib import suppress
from functools import partial
from typing import Any

from frazil.errors import SchemaRefusedError, TooManyFieldsError
from frazil.formats.columns.unmappable import REFUSED, Unmappable, fitting, plain, too_many_digits
from frazil.formats.json.nodes import (
    TEXT,
    Branches,
    Entries,
    Items,
    Member,
    Members,
    Node,
    Pairs,
    scalar,
)
from frazil.formats.json.schemas.conditions import declared
from frazil.formats.json.schemas.references import CONDITIONS, Flat, References, Within, flat
from frazil.formats.json.schemas.words import (
    branch_names,
    implied,
    is_null,
    map_values,
    only_constrains,
    same_type,
)
from frazil.formats.paths import member_path
from frazil.formats.protocol import MAX_DEPTH, Mapping, Refuse, doc_text

_LAST = 2**31
_PARTS = frozenset({"properties", "patternProperties", "additionalProperties", "items"})
_EMPTY = (
    "Write its type; a column of any type (variant) needs format v3, which Spark and PyIceberg can't share."
)


def json_node(
    text: str, dependencies: tuple[tuple[str, str], ...], subject: str, unmappable: Unmappable = REFUSED
) -> Node:
    """What a record of this schema is, before it becomes columns."""
    with Mapping(subject).schema("JSON"):
        references = References(text, dependencies, cuts=bool(unmappable.texts))

    def walk(deepest: int) -> Node:
        references.followed = 0
        nodes = _Nodes(subject, references, unmappable, deepest)
        with nodes.schema("JSON"):
            return nodes.node(references.root, "", (), 0)[0]

    return fitting(unmappable, walk, MAX_DEPTH)


class _Nodes(Mapping):
    """One walk over one schema."""

    def __init__(self, subject: str, references: References, unmappable: Unmappable, deepest: int) -> None:
        super().__init__(subject, unmappable, deepest)
        self._references = references
        self._unions = 0  # around the node: within one nothing is text, or nobody knew which branch it is

    def node(self, schema: Any, path: str, within: Within, depth: int) -> tuple[Node, bool]:
        """A schema's node, and whether null may stand there."""
        if not path:
            return self._root(schema, within, depth)
        if self._unions:
            return self._node(schema, path, within, depth)
        return self.or_text(
            path,
            lambda: self._node(schema, path, within, depth),
            lambda: (TEXT, self._may_be_null(schema, {})),
        )

    def _root(self, schema: Any, within: Within, depth: int) -> tuple[Node, bool]:
        """The record: text where it has no column of its own at all, whatever it holds."""
        try:
            return self._node(schema, "", within, depth)
        except TooManyFieldsError:
            raise
        except SchemaRefusedError as e:
            if e.field or not self._unmappable.takes_all:
                raise
            return TEXT, False

    def _may_be_null(self, schema: Any, seen: dict[int, bool]) -> bool:
        """Whether null may stand where a schema becomes text; where that is hard to tell it may.

        `seen` has what was told of a part already: parts that name each other twice are looked at once.
        """
        if not isinstance(schema, dict):
            return True
        if id(schema) not in seen:
            seen[id(schema)] = True  # for a part within itself
            with suppress(LookupError, ValueError, TypeError, RecursionError):  # else null may stand there
                seen[id(schema)] = self._takes_null(schema, seen)
        return seen[id(schema)]

    def _takes_null(self, schema: dict[str, Any], seen: dict[int, bool]) -> bool:
        if reference := schema.get("$ref"):
            return self._may_be_null(self._references.find(reference), seen)
        if isinstance(kind := schema.get("type") or implied(schema), str | list):
            return "null" in ([kind] if isinstance(kind, str) else kind)
        if "enum" in schema:
            return None in schema["enum"]
        branches = schema.get("oneOf") or schema.get("anyOf") or [{}]
        return any(self._may_be_null(branch, seen) for branch in branches)

    def _node(self, schema: Any, path: str, within: Within, depth: int) -> tuple[Node, bool]:
        if depth > MAX_DEPTH:
            raise self.refusal(path, f"it is deeper than {MAX_DEPTH} levels", "Make it flatter.")
        self.count(path)
        flattened, within = self._flat(schema, path, within)
        alternatives = self._alternatives(flattened, path, within)
        if alternatives is None:
            return self._typed(flattened, path, within, depth), False
        real = [b for b in alternatives if not is_null(b[0])]
        optional = len(real) < len(alternatives)
        if len(real) == 1:
            node, inner = self.node(real[0][0], path, real[0][1], depth + 1)
            return node, optional or inner
        if not real:
            raise self.refusal(path, "null alone has no column type", "Take the field out.")
        return self._branches(real, path, depth), optional

    def _flat(self, schema: Any, path: str, within: Within) -> Flat:
        if schema is True or schema == {}:
            raise self.refusal(path, "an empty schema allows any value", _EMPTY)
        refuse = partial(self.refusal, path)
        flattened, inner = flat(schema, self._references, within, refuse)
        for condition in flattened.pop(CONDITIONS, ()):
            flatten = partial(self._flat_part, within=inner, refuse=refuse)
            if name := declared(condition, flattened, flatten):
                why = f"a then or an else declares {name}, which nothing beside it does"
                raise refuse(why, "Declare it beside the if.")
        return flattened, inner

    def _flat_part(self, schema: Any, within: Within, refuse: Refuse) -> dict[str, Any]:
        return flat(schema, self._references, within, refuse)[0]

    def _alternatives(self, schema: dict[str, Any], path: str, within: Within) -> list[Flat] | None:
        """The branches of a union; None where there is only one type."""
        kind = schema.get("type")
        if isinstance(kind, list):
            return [({**schema, "type": k}, within) for k in kind]
        if None in schema.get("enum", ()):
            rest = {**schema, "enum": [v for v in schema["enum"] if v is not None]}
            return [({"type": "null"}, within), (rest, within)]
        for key in ("oneOf", "anyOf"):
            if key not in schema:
                continue
            branches = [self._flat(b, f"{path}<{i}>", within) for i, b in enumerate(schema[key])]
            if "type" not in schema and "properties" not in schema:
                return branches
            if all(only_constrains(b, schema) for b, _ in branches):
                continue
            if schema.keys() & _PARTS or not all(same_type(b, schema) for b, _ in branches):
                raise self.refusal(path, f"{key} beside a type of its own has no column", "Move all into it.")
            return [({**b, "type": schema["type"]}, w) for b, w in branches]
        return None

    def _branches(self, branches: list[Flat], path: str, depth: int) -> Branches:
        names = branch_names(branches)
        if not path:
            return self._kinds(names, branches, depth)
        self.cut_at(path, depth)
        self._unions += 1
        self._whole_at = self._whole_at or path
        try:
            nodes = [
                self.node(b, member_path(path, n), w, depth + 1)[0]
                for n, (b, w) in zip(names, branches, strict=True)
            ]
        finally:
            self._unions -= 1
            self._whole_at = self._whole_at if self._unions else ""
        return Branches(tuple(Member(n, node, True) for n, node in zip(names, nodes, strict=True)))

    def _kinds(self, names: list[str], branches: list[Flat], depth: int) -> Branches:
        """The union that a record is: what is within its branches may be text, as in any record.

        A branch that is text itself would take any value, so then the record is text as a whole.
        """
        try:
            nodes = [self._node(b, n, w, depth)[0] for n, (b, w) in zip(names, branches, strict=True)]
        except TooManyFieldsError:
            raise
        except SchemaRefusedError as e:
            if self._unmappable.takes_all:
                raise self.refusal("", "a branch of it has no column type", e.todo) from None
            raise
        return Branches(tuple(Member(n, node, True) for n, node in zip(names, nodes, strict=True)))

    def _typed(self, schema: dict[str, Any], path: str, within: Within, depth: int) -> Node:
        match kind := schema.get("type") or implied(schema):
            case "object":
                self.cut_at(path, depth)
                return self._object(schema, path, within, depth)
            case "array":
                self.cut_at(path, depth)
                return self._array(schema, path, within, depth)
            case "null":
                raise self.refusal(path, "null alone has no column type", "Take the field out.")
            case None:
                raise self.refusal(path, "the schema has no type", _EMPTY)
            case _:
                return self._scalar(kind, schema, path)

    def _scalar(self, kind: str, schema: dict[str, Any], path: str) -> Node:
        node = scalar(kind, schema, partial(self.refusal, path), self._unmappable.digits)
        if node.wire in ("digits", "base64_digits"):
            why = too_many_digits(node.declared[0])
            if self._unions:
                raise self.refusal(path, f"{why}, in a union", "Write wide_decimals: narrow.")
            self._texts[plain(path)] = why
        return node

    def _object(self, schema: dict[str, Any], path: str, within: Within, depth: int) -> Node:
        if values := [self.node(v, f"{path}{{}}", within, depth + 1) for v in map_values(schema)]:
            return self._entries(values, path)
        if not schema.get("properties"):
            raise self.refusal(
                path, "an object without properties has no column type", "Add one, or a value type."
            )
        return self._members(schema, path, within, depth)

    def _entries(self, values: list[tuple[Node, bool]], path: str) -> Entries:
        (node, _), *others = values
        if any(other != node for other, _ in others):
            why = "it has values of several types, by the names of their keys"
            raise self.refusal(path, why, "Give patternProperties and additionalProperties one type.")
        return Entries(node, any(optional for _, optional in values))

    def _members(self, schema: dict[str, Any], path: str, within: Within, depth: int) -> Members:
        required, placed = self._required(schema, path), []
        for name, each in schema["properties"].items():
            where = member_path(path, name)
            node, optional = self.node(each, where, within, depth + 1)
            own = each if node == TEXT and isinstance(each, dict) else {}
            if node != TEXT:
                own, _ = self._flat(each, where, within)
            place = int(own.get("connect.index", _LAST))
            doc = self.commented(where, doc_text(own.get("description")))
            member = Member(name, node, optional or name not in required, doc)
            placed.append((place, name, member))
        members = tuple(m for _, _, m in sorted(placed, key=lambda f: f[:2]))
        for name in (m.name for m in members):
            if not name.isprintable() or re.search(r"[\s`]|^$", name):
                why = f"{name!r} has white space, a backtick or a sign that can't be shown, or is empty"
                raise self.refusal(member_path(path, name), why, "Rename it.")
        self.check_names([m.name for m in members], path, "an object")
        return Members(members)

    def _required(self, schema: dict[str, Any], path: str) -> list[str]:
        names: Any = schema.get("required", [])
        if not isinstance(names, list) or not all(isinstance(n, str) for n in names):
            raise self.refusal(path, "`required` is no list of names", "List the names of the properties.")
        return names

    def _array(self, schema: dict[str, Any], path: str, within: Within, depth: int) -> Node:
        items = schema.get("items")
        if isinstance(items, list) or "prefixItems" in schema:
            raise self.refusal(path, "a tuple has no column type", "Use an object.")
        if not isinstance(items, dict):
            raise self.refusal(path, "an array without items has no column type", "Write its items.")
        if schema.get("connect.type") == "map":
            return self._pairs(items, path, within, depth)
        element, optional = self.node(items, f"{path}[]", within, depth + 1)
        return Items(element, optional)

    def _pairs(self, items: Any, path: str, within: Within, depth: int) -> Node:
        entry, _ = self.node(items, f"{path}[]", within, depth + 1)
        key, value = (entry.get(n) if isinstance(entry, Members) else None for n in ("key", "value"))
        if key is None or value is None:
            raise self.refusal(path, "an array marked as a map needs items with key and value", "Add them.")
        return Pairs(key.node, value.node, value.optional)
