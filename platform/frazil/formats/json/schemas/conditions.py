"""What only constrains: `not`, and `if` with `then` and `else`. They are checked where validation is strict.

A record must be as the schema says without them, too, so they take nothing from its columns. But a field that
they declare, and nothing beside them does, would have no column: such a schema is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from frazil.errors import SchemaRefusedError


def declared(condition: Any, whole: Any, flatten: Callable[[Any], dict[str, Any]]) -> str | None:
    """The first field that a `then` or an `else` declares, and the schema that it stands in does not.

    Args:
        condition: The `then` or the `else`.
        whole: The schema that it stands in, or the part of it that it speaks of.
        flatten: Resolves `$ref` and `allOf` of parts.
    """
    if not isinstance(condition, dict):
        return None
    if "$ref" in condition:
        return str(condition["$ref"])
    flattened = _flat(whole, flatten)
    if flattened is None:
        return None
    if alternatives := _alternatives(flattened):
        types = [declared(condition, each, flatten) for each in alternatives]
        return None if None in types else types[0]
    return next((name for name in _declared(condition, flattened, flatten) if name), None)


def _flat(whole: Any, flatten: Callable[[Any], dict[str, Any]]) -> dict[str, Any] | None:
    """The schema; None where it is refused anyway, or text holds all of it."""
    if not isinstance(whole, dict):
        return None
    try:
        return flatten(whole)
    except SchemaRefusedError:
        return None


def _alternatives(whole: dict[str, Any]) -> list[Any]:
    return [] if "properties" in whole else whole.get("oneOf") or whole.get("anyOf") or []


def _declared(
    condition: dict[str, Any], whole: dict[str, Any], flatten: Callable[[Any], dict[str, Any]]
) -> list[str | None]:
    parts = [*(each for key in ("allOf", "oneOf", "anyOf") for each in condition.get(key, ()))]
    parts += [condition[key] for key in ("then", "else") if key in condition]
    names = [declared(part, whole, flatten) for part in parts]
    if isinstance(items := whole.get("items"), dict):
        names.append(declared(condition.get("items"), items, flatten))
    known = whole.get("properties", {})
    for name, each in condition.get("properties", {}).items():
        if name in known:
            names.append(declared(each, known[name], flatten))
        elif known and each and each is not True:
            names.append(name)
    return names
