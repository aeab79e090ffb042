"""`$ref` and `allOf` taken apart: one flat schema that says all that they say together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from frazil.formats.json.references import References

__all__ = ["Flat", "flat"]

Refuse = Callable[[str, str], Exception]
"""Makes the error, of why and what to do."""

Flat = tuple[dict[str, Any], frozenset[str]]
"""A schema without `$ref` and `allOf`, and the references that it lies within."""

_UNDECIDABLE = ("if", "then", "else", "not")
_OWN = ("$ref", "allOf")


def flat(schema: Any, references: References, within: frozenset[str], refuse: Refuse) -> Flat:
    """Follows references and merges `allOf`.

    Raises:
        Exception: Made by `refuse`: it is recursive, undecidable, refers to nothing, or contradicts itself.
    """
    if not isinstance(schema, dict):
        raise refuse(f"the schema is {schema!r}", "Write the type of the values.")
    if found := [k for k in _UNDECIDABLE if k in schema]:
        raise refuse(f"{found[0]!r} makes the type depend on the value", "Take it out, or use oneOf.")
    merged = {k: v for k, v in schema.items() if k not in _OWN}
    if "$ref" in schema:
        target, within = _target(schema["$ref"], references, within, refuse)
        merged = _merged(merged, target, refuse)
    for part in schema.get("allOf", ()):
        one, inner = flat(part, references, within, refuse)
        merged, within = _merged(merged, one, refuse), within | inner
    return merged, within


def _target(reference: str, references: References, within: frozenset[str], refuse: Refuse) -> Flat:
    if reference in within:
        raise refuse(f"{reference} contains itself", "Bound the depth in the schema.")
    try:
        target = references.find(reference)
    except (LookupError, ValueError, TypeError, StopIteration):
        raise refuse(f"$ref {reference} leads nowhere", "Register what it refers to.") from None
    return flat(target, references, within | {reference}, refuse)


def _merged(one: dict[str, Any], two: dict[str, Any], refuse: Refuse) -> dict[str, Any]:
    """Both together; of words for people those of the first."""
    result = {**two, **one}
    for key in one.keys() & two.keys():
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
