"""Rules of a JSON Schema for single values: how large, how long, and by which pattern."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from frazil_verify.findings import UnverifiableError

Rule = Callable[[Any], bool]

_KNOWN = re.compile(
    r"(?:[\w \-,:;@#%&=<>!~/'\"`]|[.|*+?$^]|\((?:\?:|(?!\?))|\)|\\[dw.\-+*?()\[\]{}^$|/\\]"
    r"|\{\d+(?:,\d*)?\}|\[\^?(?:[\w \-.,:;@#%&=<>!~/'\"`+*?(){}$|]|\\[dw.\-\]\[^$\\/])+\])*",
    re.ASCII,
)
"""What means the same to Python and to ECMAScript, by whose rules schemas go."""


def matching(pattern: str) -> Callable[[str], bool]:
    """Tells whether a pattern stands anywhere in a text.

    Raises:
        UnverifiableError: The pattern has a part that may mean something else here.
    """
    if not _KNOWN.fullmatch(pattern):
        raise UnverifiableError(
            f"validate: strict asks for the pattern {pattern[:60]!r}, which may be read two ways"
        )
    search = re.compile(_to_the_end(pattern), re.ASCII).search
    return lambda text: search(text) is not None


def _to_the_end(pattern: str) -> str:
    """Python's `$` stands before a line's end, too."""
    return re.sub(r"(\\.|\[(?:\\.|[^\]\\])*\])|\$", lambda part: part[1] or r"\Z", pattern)


def is_of(kind: str, value: Any) -> bool:
    """Whether a value is of a type of JSON; a number without a fraction is an integer."""
    if isinstance(value, bool):
        return kind == "boolean"
    if isinstance(value, float):
        return kind == "number" or (kind == "integer" and value.is_integer())
    return isinstance(value, _TYPES[kind])


_TYPES: Mapping[str, Any] = {
    "object": dict, "array": list, "string": str, "number": int, "integer": int, "boolean": bool,
    "null": type(None),
}  # fmt: skip


def key_of(value: Any) -> Any:
    """What is the same of equal values, and of no others: true is not 1, and 1.0 is."""
    if isinstance(value, dict):
        return "object", frozenset((name, key_of(each)) for name, each in value.items())
    if isinstance(value, list):
        return "array", tuple(map(key_of, value))
    return ("boolean", value) if isinstance(value, bool) else ("single", value)


def _of_numbers(fits: Callable[[Any, Any], bool]) -> Callable[[Any], Rule]:
    def made(limit: Any) -> Rule:
        if isinstance(limit, bool):
            raise UnverifiableError(
                "validate: strict asks for a limit of draft 4, which the verifier does not know"
            )
        return lambda v: isinstance(v, bool) or not isinstance(v, int | float) or fits(v, limit)

    return made


def _of_sizes(kind: type[Any], fits: Callable[[int, Any], bool]) -> Callable[[Any], Rule]:
    return lambda limit: lambda v: not isinstance(v, kind) or fits(len(v), limit)


def _multiple(value: Any, of: Any) -> bool:
    return bool(value % of == 0)


def _whole(of: Any) -> Rule:
    if not isinstance(of, int):
        raise UnverifiableError(
            "validate: strict asks for multiples of a fraction, which the verifier does not know"
        )
    return _of_numbers(_multiple)(of)


def _pattern(pattern: str) -> Rule:
    fits = matching(pattern)
    return lambda v: not isinstance(v, str) or fits(v)


def _unique(wanted: bool) -> Rule:
    return lambda v: not wanted or not isinstance(v, list) or len({*map(key_of, v)}) == len(v)


SINGLE: Mapping[str, Callable[[Any], Rule]] = {
    "minimum": _of_numbers(lambda v, limit: v >= limit), "maximum": _of_numbers(lambda v, limit: v <= limit),
    "exclusiveMinimum": _of_numbers(lambda v, limit: v > limit),
    "exclusiveMaximum": _of_numbers(lambda v, limit: v < limit), "multipleOf": _whole,
    "minLength": _of_sizes(str, lambda size, limit: size >= limit),
    "maxLength": _of_sizes(str, lambda size, limit: size <= limit),
    "minItems": _of_sizes(list, lambda size, limit: size >= limit),
    "maxItems": _of_sizes(list, lambda size, limit: size <= limit),
    "minProperties": _of_sizes(dict, lambda size, limit: size >= limit),
    "maxProperties": _of_sizes(dict, lambda size, limit: size <= limit),
    "pattern": _pattern, "uniqueItems": _unique,
}  # fmt: skip
