"""`$ref` and `allOf` resolved into one flat schema that says the same."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import unquote, urljoin

from frazil.formats.protocol import MAX_FIELDS, Refuse

_DATA = frozenset({"enum", "const", "default", "examples"})
"""Keywords that hold values: what looks like a schema in them is none."""

NAMED = frozenset(
    {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"}
)
"""Keywords below which stand the author's own names, whatever they look like, and a schema for each."""

Within = tuple[str, ...]
"""The references that a schema lies within."""

Flat = tuple[dict[str, Any], Within]
"""A schema without `$ref` and `allOf`, and what it lies within."""

_MOST_WITHIN = 16
"""A base may stand again in a field beside it, at every level: only what goes on and on contains itself."""

_MOST_FOLLOWED = 3 * MAX_FIELDS
"""A field's reference is followed up to three times: as a field, for its text, as a union's branch."""

CONDITIONS = "$conditions"
"""Where a flat schema has the `then` and `else` of its parts: they tell no type, see `conditions`."""

_OWN = frozenset({"$ref", "allOf", "not", "if", "then", "else"})


class References:
    """All documents of one schema, with references made absolute: `<document>#<pointer>`.

    They lead to a place within a document, to one of its named parts, or to another subject, by the
    name in `dependencies`. Raises ValueError where one of them is no JSON.
    """

    def __init__(self, text: str, dependencies: Iterable[tuple[str, str]], *, cuts: bool = False) -> None:
        self._documents: dict[str, Any] = {}
        self._anchors: dict[str, Any] = {}
        named = [("", text), *dependencies]
        for name, each in named:
            self._documents[name] = self._absolute(json.loads(each), name)
        self.root: Any = self._documents[""]
        self.followed = 0
        self._cuts = cuts
        self._nested: dict[str, frozenset[str]] = {}
        self._recursive: dict[str, bool] = {}

    def most_within(self, reference: str) -> int:
        """How often a reference may lie within itself; where schemas are cut, a recursive one may not."""
        return 1 if self._cuts and self._is_recursive(reference) else _MOST_WITHIN

    def _is_recursive(self, reference: str) -> bool:
        if reference not in self._recursive:
            self._recursive[reference] = self._leads_to_itself(reference)
        return self._recursive[reference]

    def _leads_to_itself(self, reference: str) -> bool:
        seen: set[str] = set()
        waiting = [*self._within(reference)]
        while waiting:
            if (each := waiting.pop()) not in seen:
                seen.add(each)
                waiting += self._within(each)
        return reference in seen

    def _within(self, reference: str) -> frozenset[str]:
        """The references that stand in what one leads to."""
        if reference not in self._nested:
            try:
                inner = frozenset(_references(self.find(reference)))
            except (LookupError, ValueError, TypeError):
                inner = frozenset()
            self._nested[reference] = inner
        return self._nested[reference]

    def find(self, reference: str) -> Any:
        """The schema that an absolute reference means; raises LookupError or ValueError."""
        if reference in self._anchors:
            return self._anchors[reference]
        name, _, pointer = reference.partition("#")
        node = self._document(name)
        if pointer and not pointer.startswith("/"):
            raise KeyError(reference)
        for step in pointer.split("/")[1:]:
            key = unquote(step).replace("~1", "/").replace("~0", "~")
            node = node[int(key)] if isinstance(node, list) else node[key]
        return node

    def _document(self, name: str) -> Any:
        """The document of that name or id. A name that was joined to a schema's id ends with the name."""
        if name in self._documents:
            return self._documents[name]
        return self._documents[max((n for n in self._documents if n and name.endswith(f"/{n}")), key=len)]

    def _absolute(self, schema: Any, base: str) -> Any:
        if isinstance(schema, list):
            return [self._absolute(s, base) for s in schema]
        if not isinstance(schema, dict):
            return schema
        own, outer = schema.get("$id", schema.get("id")), base
        address, _, name = own.partition("#") if isinstance(own, str) else ("", "", "")
        if address:
            base = urljoin(base, address)
        absolute = {word: self._part(word, each, base) for word, each in schema.items()}
        if isinstance(reference := schema.get("$ref"), str):
            absolute["$ref"] = _joined(base, reference)
        for each in (name, schema.get("$anchor")):
            if each and isinstance(each, str):
                self._anchors[f"{base}#{each}"] = absolute
        if base != outer:  # "#name" names a part of its document, and is none of its own
            self._documents.setdefault(base, absolute)  # a subject's name goes before an id
        return absolute

    def _part(self, word: str, value: Any, base: str) -> Any:
        """What stands below a keyword."""
        if word in _DATA:
            return value
        if word in NAMED and isinstance(value, dict):
            return {name: self._absolute(each, base) for name, each in value.items()}
        return self._absolute(value, base)


class _Absolute(str):
    """A reference that names its document. One that is found in a value does not, and leads nowhere."""

    __slots__ = ()


def _references(schema: Any) -> Iterator[str]:
    waiting = [schema]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            if isinstance(reference := each.get("$ref"), _Absolute):
                yield reference
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each


def _joined(base: str, reference: str) -> _Absolute:
    if reference.startswith("#"):
        return _Absolute(base + reference)
    name, _, pointer = reference.partition("#")
    return _Absolute(f"{urljoin(base, name) if base else name}#{pointer}")


def flat(schema: Any, references: References, within: Within, refuse: Refuse) -> Flat:
    """Follows references and merges `allOf`; refuses what is recursive, undecidable or contradicts itself."""
    if not isinstance(schema, dict):
        raise refuse(f"the schema is {schema!r}", "Write the type of the values.")
    merged = {k: v for k, v in schema.items() if k not in _OWN}
    if "if" in schema and (conditions := [schema[k] for k in ("then", "else") if k in schema]):
        merged[CONDITIONS] = conditions
    parts = [flat(part, references, within, refuse) for part in schema.get("allOf", ())]
    if "$ref" in schema:
        parts.insert(0, _target(schema["$ref"], references, within, refuse))
    followed: dict[str, None] = {}
    for one, inner in parts:
        merged = _merged(merged, one, refuse)
        followed |= dict.fromkeys(inner[len(within) :])
    return merged, (*within, *followed)


def _target(reference: str, references: References, within: Within, refuse: Refuse) -> Flat:
    if within.count(reference) >= references.most_within(reference):
        raise refuse(f"{reference} contains itself", "Bound the depth in the schema.")
    references.followed += 1
    if references.followed > _MOST_FOLLOWED:
        raise refuse(f"it leads to more than {_MOST_FOLLOWED} references", "Write what they mean.")
    try:
        target = references.find(reference) if isinstance(reference, _Absolute) else None
    except (LookupError, ValueError, TypeError):
        raise refuse(f"$ref {reference} leads nowhere", "Register what it refers to.") from None
    if target is None:
        raise refuse(f"$ref {reference} stands in a value", "Move the schema to $defs.")
    return flat(target, references, (*within, reference), refuse)


def _merged(one: dict[str, Any], two: dict[str, Any], refuse: Refuse) -> dict[str, Any]:
    """Both schemas merged; titles and descriptions are those of the first."""
    result = {**two, **one}
    for key in (k for k in one if k in two):
        result[key] = _both(key, one[key], two[key], refuse)
    return result


def _both(key: str, one: Any, two: Any, refuse: Refuse) -> Any:
    if one == two:
        return one
    match key:
        case "properties" | "$defs" | "definitions":
            shared = {k: {"allOf": [one[k], two[k]]} for k in one if k in two and one[k] != two[k]}
            return {**two, **one, **shared}
        case "required":
            return sorted({*one, *two})
        case "$conditions":
            return [*one, *two]
        case "type":
            return _types(one, two, refuse)
        case "enum":
            return [v for v in one if v in two]
        case "items" if isinstance(one, dict) and isinstance(two, dict):
            return {"allOf": [one, two]}
        case "oneOf" | "anyOf" | "const" | "connect.type" | "items":
            raise refuse(f"allOf has two of {key}, which differ", "Keep one of them.")
        case _:
            return one


def _types(one: Any, two: Any, refuse: Refuse) -> Any:
    first, second = ([t] if isinstance(t, str) else t for t in (one, two))
    both = [t for t in first if t in second or (t == "integer" and "number" in second)]
    both += [t for t in second if t == "integer" and "number" in first and t not in both]
    if not both:
        raise refuse(f"allOf wants {one} and {two} at once", "Keep one of them.")
    return both[0] if len(both) == 1 else both
