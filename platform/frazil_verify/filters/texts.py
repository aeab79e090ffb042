"""Texts that stand in an expression, patterns, and functions of single values: docs/checks.md."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from frazil_verify.findings import UnverifiableError
from frazil_verify.values.bad import BadRecordError, NotComparedError
from frazil_verify.values.plain.iso import day, local_moment, zoned_moment

Made = Callable[[Any], Any]
_ZONE = re.compile(r"(Z|[+-]\d\d:\d\d)$")


def constant_of(kind: str, text: str) -> Any:
    """A text as a value of the kind that it stands beside; a moment without a zone is UTC's."""
    try:
        return _READ[kind](text)
    except (KeyError, ValueError, BadRecordError):
        raise UnverifiableError(f"its where takes {text[:40]!r} for a {kind}") from None


def _moment(text: str) -> int:
    text = text.replace(" ", "T")
    if re.fullmatch(r"\d{4}-\d\d-\d\d", text):
        text = f"{text}T00:00:00"
    elif re.fullmatch(r".*T\d\d:\d\d", text):
        text = f"{text}:00"
    return zoned_moment(text) if _ZONE.search(text) else local_moment(text)


def _number(text: str) -> Fraction:
    if not re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", text):
        raise ValueError(text)
    return Fraction(text)


_READ: Mapping[str, Callable[[str], Any]] = {
    "date": day, "timestamp": _moment, "exact": _number, "double": lambda text: float(_number(text)),
    "text": lambda text: text,
}  # fmt: skip


def _like(flags: int) -> Callable[[str], Made]:
    def of(pattern: str) -> Made:
        if "\\" in pattern:
            raise UnverifiableError("its where has a pattern with a backslash")
        parts = (_WILD.get(sign, re.escape(sign)) for sign in pattern)
        matches = re.compile("".join(parts), flags | re.DOTALL).fullmatch
        return lambda text: matches(text) is not None

    return of


_WILD = {"%": ".*", "_": "."}


def _rlike(pattern: str) -> Made:
    """By RE2, whose patterns mean other things than Python's."""
    return lambda text: bool(pc.match_substring_regex(pa.scalar(text), pattern).as_py())


PATTERNS: Mapping[str, Callable[[str], Made]] = {
    "like": _like(0), "ilike": _like(re.IGNORECASE), "rlike": _rlike,
}  # fmt: skip


def _cased(change: Callable[[str], str]) -> Made:
    """By letters: some become two in Python, which engines do not agree on."""

    def of(text: str) -> str:
        made = change(text)
        if not text.isascii() and any(len(change(letter)) != 1 for letter in text):
            raise NotComparedError("a letter that has no other case of its own")
        return made

    return of


_EACH = ("exact", "single", "double")
FUNCTIONS: Mapping[str, tuple[tuple[str, ...], str, Made]] = {
    "abs": (_EACH, "", abs), "negative": ((*_EACH, "interval"), "", operator.neg),
    "isnan": (("single", "double"), "boolean", math.isnan),
    "length": (("text", "bytes"), "exact", len), "size": (("many",), "exact", len),
    "lower": (("text",), "text", _cased(str.lower)), "upper": (("text",), "text", _cased(str.upper)),
    "trim": (("text",), "text", str.strip),
}  # fmt: skip
"""Kinds of values that each takes, the kind of what comes of it if it is another one, and how."""
