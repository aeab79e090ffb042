"""`$ref` in JSON Schema: within a document, to its named parts, and to other subjects."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import unquote, urljoin

__all__ = ["References"]

_DATA = frozenset({"enum", "const", "default", "examples"})
"""Keywords that hold values: what looks like a schema in them is none."""


class References:
    """All documents of one schema, with references made absolute: `<document>#<pointer>`.

    Args:
        text: The schema as the registry gives it.
        dependencies: Other subjects' schemas, by the name that it refers to them with.

    Raises:
        ValueError: One of them is no JSON.
    """

    def __init__(self, text: str, dependencies: Iterable[tuple[str, str]]) -> None:
        self._documents: dict[str, Any] = {}
        self._anchors: dict[str, Any] = {}
        named = [("", text), *dependencies]
        for name, each in named:
            self._documents[name] = self._absolute(json.loads(each), name)
        self.root: Any = self._documents[""]

    def find(self, reference: str) -> Any:
        """The schema that an absolute reference means.

        Raises:
            LookupError, StopIteration: There is none.
        """
        if reference in self._anchors:
            return self._anchors[reference]
        name, _, pointer = reference.partition("#")
        found = self._document(name)
        if pointer and not pointer.startswith("/"):
            raise KeyError(reference)
        for step in pointer.split("/")[1:]:
            key = unquote(step).replace("~1", "/").replace("~0", "~")
            found = found[int(key)] if isinstance(found, list) else found[key]
        return found

    def _document(self, name: str) -> Any:
        """By its name or id; a name that was joined to the referring schema's id ends with it."""
        if name in self._documents:
            return self._documents[name]
        return next(d for n, d in self._documents.items() if n and name.endswith(f"/{n}"))

    def _absolute(self, schema: Any, base: str) -> Any:
        if isinstance(schema, list):
            return [self._absolute(s, base) for s in schema]
        if not isinstance(schema, dict):
            return schema
        own = schema.get("$id", schema.get("id"))
        if isinstance(own, str) and not own.startswith("#"):
            base = urljoin(base, own).rstrip("#")
        found = {k: v if k in _DATA else self._absolute(v, base) for k, v in schema.items()}
        if isinstance(reference := schema.get("$ref"), str):
            found["$ref"] = _joined(base, reference)
        for name in _names(schema):
            self._anchors[f"{base}#{name}"] = found
        if isinstance(own, str):
            self._documents[base] = found
        return found


def _joined(base: str, reference: str) -> str:
    if reference.startswith("#"):
        return base + reference
    name, _, pointer = reference.partition("#")
    return f"{name}#{pointer}" if not base else f"{urljoin(base, name)}#{pointer}"


def _names(schema: dict[str, Any]) -> Iterator[str]:
    if isinstance(anchor := schema.get("$anchor"), str):
        yield anchor
    if isinstance(own := schema.get("$id"), str) and own.startswith("#"):
        yield own[1:]
