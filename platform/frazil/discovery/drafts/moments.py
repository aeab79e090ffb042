"""Which numbers and texts are moments, by their values and by what their field is called."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_WORDS = frozenset({"ts", "at", "on", "when", "epoch", "ms", "millis", "created", "updated", "expires"})
_ENDS = ("time", "date", "stamp", "_ts")
_SINCE, _UNTIL = 631_152_000, 4_102_444_800  # seconds: 1990 and 2100
_UNITS = {1: "seconds", 1_000_000: "microseconds", 1_000_000_000: "nanoseconds"}

_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d([.,]\d+)?)?(Z|[+-]\d\d:?\d\d)?", re.IGNORECASE)


def is_millis(path: str, numbers: Sequence[int]) -> bool:
    """Whether they are milliseconds since 1970, and the field is called like a moment."""
    return _is_named(path) and _are_in(numbers, 1000)


def other_moment(path: str, numbers: Sequence[int]) -> str:
    """What else they may count since 1970; empty where nothing says so."""
    if not _is_named(path):
        return "like milliseconds since 1970" if _are_in(numbers, 1000) else ""
    return next((f"{unit} since 1970" for per, unit in _UNITS.items() if _are_in(numbers, per)), "")


def date_format(texts: Iterable[str]) -> str:
    """The format, by JSON Schema's name, that all texts have; empty where they are no moments."""
    formats = {"date" if _DATE.fullmatch(t) else "date-time" if _TIME.fullmatch(t) else "" for t in texts}
    return formats.pop() if len(formats) == 1 else ""


def _is_named(path: str) -> bool:
    """Whether a field is called like a moment: `created_at`, `eventTime`, `ts`."""
    name = path.rpartition(".")[2]
    words = {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)}
    return bool(words & _WORDS) or any(word.endswith(_ENDS) for word in (*words, name.lower()))


def _are_in(numbers: Sequence[int], per_second: int) -> bool:
    return bool(numbers) and all(_SINCE * per_second <= n < _UNTIL * per_second for n in numbers)
