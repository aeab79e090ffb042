"""Spark's types as it writes them, the one that two of them widen to, and those of sums and products."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

__all__ = ["UNKNOWN", "VOID", "arithmetic", "decimal", "element", "fields", "summed", "wider", "widest"]

UNKNOWN = "unknown"
"""A type that only Spark can tell."""

VOID = "void"
"""The type of NULL."""

_WHOLE = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}
"""Whole numbers by width, and the digits that Spark counts for each."""

_INEXACT = ("float", "double")
_MOST = 38


def decimal(kind: str) -> tuple[int, int] | None:
    """Digits and scale of a decimal, or of the one that holds a whole number."""
    if kind in _WHOLE:
        return _WHOLE[kind], 0
    match = re.fullmatch(r"decimal\((\d+),(\d+)\)", kind)
    return (int(match[1]), int(match[2])) if match else None


def element(kind: str) -> str:
    """What `[...]` picks: an array's element, or a map's value."""
    if kind.startswith("array<"):
        return kind[6:-1]
    return list(_parts(kind[4:-1]))[-1] if kind.startswith("map<") else UNKNOWN


def fields(kind: str) -> dict[str, str]:
    """The fields of a struct; of an array of structs each is an array."""
    if kind.startswith("array<struct<"):
        return {name: f"array<{inner}>" for name, inner in fields(kind[6:-1]).items()}
    return dict(map(_field, _parts(kind[7:-1]))) if kind.startswith("struct<") else {}


def _field(text: str) -> tuple[str, str]:
    match = re.fullmatch(r"\s*(?:`((?:[^`]|``)+)`|([^:]+?))\s*:\s*(.+)", text)
    if match is None:
        return text, UNKNOWN
    return (match[1] or match[2]).replace("``", "`"), match[3]


def _parts(text: str) -> Iterator[str]:
    """Split at commas that are in no brackets and no quotes."""
    depth = start = 0
    quoted = False
    for i, sign in enumerate(text):
        quoted ^= sign == "`"
        depth += 0 if quoted else (sign in "<(") - (sign in ">)")
        if sign == "," and not depth and not quoted:
            yield text[start:i]
            start = i + 1
    yield text[start:]


def widest(kinds: Iterable[str]) -> str:
    """The type that holds the values of all."""
    found = VOID
    for kind in kinds:
        found = wider(found, kind)
    return found


def wider(a: str, b: str) -> str:
    """The type that holds the values of both, where Spark's rules are plain; else unknown."""
    if a == b or VOID in (a, b):
        return a if b == VOID else b
    if a in _WHOLE and b in _WHOLE:
        return max(a, b, key=lambda kind: _WHOLE[kind])
    if "double" in (a, b) and all(kind in _INEXACT or decimal(kind) for kind in (a, b)):
        return "double"
    if (one := decimal(a)) and (two := decimal(b)):
        scale = max(one[1], two[1])
        digits = max(one[0] - one[1], two[0] - two[1]) + scale
        return f"decimal({digits},{scale})" if digits <= _MOST else UNKNOWN
    return "timestamp" if {a, b} == {"date", "timestamp"} else UNKNOWN


def summed(kind: str) -> str:
    """The type of a sum."""
    if kind in _WHOLE:
        return "bigint"
    if parts := decimal(kind):
        return f"decimal({min(_MOST, parts[0] + 10)},{parts[1]})"
    return "double" if kind in _INEXACT else UNKNOWN


def arithmetic(sign: str, a: str, b: str) -> str:
    """The type of `a sign b`, of numbers."""
    one, two = decimal(a), decimal(b)
    if a in _WHOLE and b in _WHOLE:
        return "double" if sign == "/" else wider(a, b)
    if one and two:
        return _of_decimals(sign, *one, *two)
    if a == b == "float":
        return "double" if sign == "/" else "float"
    return wider(a, b) if "double" in (a, b) else UNKNOWN


def _of_decimals(sign: str, p1: int, s1: int, p2: int, s2: int) -> str:
    """https://spark.apache.org/docs/latest/sql-ref-ansi-compliance.html#arithmetic-operations."""
    match sign:
        case "+" | "-":
            scale = max(s1, s2)
            return _adjusted(max(p1 - s1, p2 - s2) + scale + 1, scale)
        case "*":
            return _adjusted(p1 + p2 + 1, s1 + s2)
        case "/":
            scale = max(6, s1 + p2 + 1)
            return _adjusted(p1 - s1 + s2 + scale, scale)
        case "%":
            scale = max(s1, s2)
            return _adjusted(min(p1 - s1, p2 - s2) + scale, scale)
        case _:
            return UNKNOWN


def _adjusted(precision: int, scale: int) -> str:
    """Digits before the point are kept; those behind it are given up, but for six."""
    if precision > _MOST:
        scale = max(_MOST - (precision - scale), min(scale, 6))
    return f"decimal({min(precision, _MOST)},{scale})"
