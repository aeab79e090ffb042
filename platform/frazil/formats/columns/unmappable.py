"""Fields that no column can hold, and what a spec says of them: a refusal, or JSON text in their place."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any, TypeVar

from frazil.errors import TooManyFieldsError
from frazil.formats.logical import MAX_DIGITS

T = TypeVar("T")

EVERYWHERE = "*"
"""The path that means every field."""

_DEPTHS = (12, 8, 6, 5, 4, 3, 2, 1, 0)
"""Where schemas are cut that come to more fields than a table can be planned with; the deepest that fits."""

_MARKS = re.compile(r"\[\]|\{\}|<\d+>")


@dataclass(frozen=True, slots=True)
class Unmappable:
    """Where text may stand in for a column.

    Args:
        texts: Paths of fields, or `EVERYWHERE`.
        refused: Paths that are refused all the same.
        within: What may stand before a path, as of the row in a database's change.
        digits: Whether a decimal of more digits than columns have becomes a text of them.
    """

    texts: frozenset[str] = frozenset()
    refused: frozenset[str] = frozenset()
    within: tuple[str, ...] = ("",)
    digits: bool = False

    @classmethod
    def of(
        cls, words: str | Mapping[str, str], within: Iterable[str] = (), digits: bool = False
    ) -> Unmappable:
        """What a spec says."""
        paths = {EVERYWHERE: words} if isinstance(words, str) else dict(words)
        by_word = {word: {plain(path) for path, each in paths.items() if each == word} for word in _WORDS}
        return cls(frozenset(by_word["text"]), frozenset(by_word["refuse"]), ("", *within), digits)

    @property
    def is_everywhere(self) -> bool:
        """Whether no field is refused unless it is named."""
        return EVERYWHERE in self.texts

    @property
    def takes_all(self) -> bool:
        """Whether a record that has no columns at all becomes text."""
        return self.is_everywhere and not self.refused - {EVERYWHERE}

    def takes(self, path: str) -> bool:
        """Whether a field that no column can hold, or that contains one, becomes text.

        What holds a field that is to be refused does not.
        """
        own = {plain(path).removeprefix(before) for before in self.within}
        if not plain(path):  # of a list or a map that is the record
            return bool(path) and self.takes_all
        if any(each == o or each.startswith(f"{o}.") for each in self.refused for o in own):
            return False
        return self.is_everywhere or bool(own & self.texts)


_WORDS = ("text", "refuse")
_DIGITS = "a decimal of "
_MOST_DIGITS = 4096
"""Bytes, and digits behind the point, of a decimal that becomes text."""

REFUSED = Unmappable()
"""All such fields are refused."""


def plain(path: str) -> str:
    """A path without the marks of lists, maps and branches, as people write it."""
    return _MARKS.sub("", path)


def note(doc: str, why: str) -> str:
    """The comment of a column that holds text."""
    text = "Text" if why.startswith(_DIGITS) else "JSON text"
    return f"{doc.rstrip('. ')}{'. ' if doc else ''}{text}: {why}."


def too_many_digits(precision: int) -> str:
    """Why a decimal has no column of its own."""
    return f"{_DIGITS}{precision} digits, and columns have {MAX_DIGITS}"


def digits_text(unscaled: bytes, scale: int) -> Written:
    """A decimal's bytes as its digits, each of them; raises ValueError where they would be far too many."""
    if not unscaled or not 0 <= scale <= _MOST_DIGITS or len(unscaled) > _MOST_DIGITS:
        raise ValueError(f"{len(unscaled)} bytes of scale {scale} are no decimal")
    exact = Context(prec=max(len(unscaled) * 3, scale + 1))
    return Written(format(Decimal(int.from_bytes(unscaled, "big", signed=True)).scaleb(-scale, exact), "f"))


def number_text(number: str) -> str:
    """A number's digits, without an exponent; raises ValueError where they would be far too many."""
    exact = Decimal(number)
    if abs(exact.adjusted()) > _MOST_DIGITS:
        raise ValueError(f"{number:.100} is no decimal")
    return format(exact, "f")


def fitting(unmappable: Unmappable, walk: Callable[[int], T], deepest: int) -> T:
    """What a walk finds that goes `deepest`, or less deep where it comes to too many fields."""
    try:
        return walk(deepest)
    except TooManyFieldsError as e:
        if not unmappable.is_everywhere:
            raise
        refused = e
    for depth in _DEPTHS:
        try:
            return walk(depth)
        except TooManyFieldsError as e:
            refused = e
    raise refused


def json_text(value: Any) -> str:
    """The canonical text: keys in order, no white space, numbers as they are.

    Numbers that no Python type holds as they are written come as `Written`.
    """
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case Written():
            return str(value)
        case str():
            return _quoted(value)
        case int():
            return str(value)
        case float():
            return repr(value)
        case dict():
            pairs = (f"{_quoted(name)}:{json_text(value[name])}" for name in sorted(value))
            return f"{{{','.join(pairs)}}}"
        case _:
            return f"[{','.join(map(json_text, value))}]"


class Written(str):
    """A number as its writer wrote it."""

    __slots__ = ()


def _quoted(text: str) -> str:
    from json.encoder import encode_basestring  # as `json.dumps` does it, but for signs beyond ASCII

    return encode_basestring(text)
