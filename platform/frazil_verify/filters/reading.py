"""Expressions of SQL as trees. Source: docs/checks.md, "What a check may say".

A part of a tree is a tuple: `("column", names)`, `("constant", kind, value)`, or a call's name and its parts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from frazil_verify.findings import UnverifiableError

Tree = tuple[Any, ...]

_TOKENS = re.compile(
    r"\s*(?:(?P<number>(?:[0-9]+(?:[.][0-9]*)?|[.][0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<text>'(?:[^']|'')*')|(?P<quoted>\"(?:[^\"]|\"\")*\")|(?P<word>[A-Za-z_]\w*)"
    r"|(?P<sign><>|!=|<=|>=|[-+*/=<>(),.]))"
)
_COMPARED = {"=": "=", "<>": "<>", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_SECOND = 1_000_000
_MICROS = {
    "microsecond": 1, "millisecond": 1000, "second": _SECOND, "minute": 60 * _SECOND, "hour": 3600 * _SECOND,
    "day": 86_400 * _SECOND, "week": 7 * 86_400 * _SECOND,
}  # fmt: skip
_FUNCTIONS = {
    "abs": "abs", "isnan": "isnan", "is_nan": "isnan", "length": "length", "char_length": "length",
    "lower": "lower", "upper": "upper", "trim": "trim", "size": "size", "cardinality": "size",
}  # fmt: skip
_ENDS = {"and", "or", "then", "when", "else", "end", "is", "in", "not", "like", "ilike", "rlike", "between"}
_CONSTANTS: dict[str, Tree] = {
    "true": ("constant", "boolean", True),
    "false": ("constant", "boolean", False),
    "null": ("constant", "null", None),
}


def tree_of(text: str) -> Tree:
    """What an expression is made of.

    Raises:
        UnverifiableError: It has a part that is not known here.
    """
    reading = _Reading([*_tokens(text)])
    tree = reading.either()
    if reading.left:
        raise _unknown(reading.left[0][1])
    return tree


def columns_in(tree: Tree) -> Iterator[tuple[str, ...]]:
    """The columns that a tree names, each by the names on the way to it."""
    if tree[0] == "column":
        yield tree[1]
    elif tree[0] != "constant":
        for part in tree[1:]:
            yield from columns_in(part)


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    at, text = 0, text.rstrip()
    while at < len(text):
        match = _TOKENS.match(text, at)
        if match is None:
            raise _unknown(text[at:].strip())
        at = match.end()
        yield str(match.lastgroup), match[str(match.lastgroup)]


def _unknown(what: str) -> UnverifiableError:
    return UnverifiableError(f"its where has {what[:40]!r}, which the verifier does not know")


@dataclass
class _Reading:
    """Tokens that are left, each with its kind."""

    left: list[tuple[str, str]]

    def either(self) -> Tree:
        return self._chain(self._both, {"or": "or"})

    def _both(self) -> Tree:
        return self._chain(self._negated, {"and": "and"})

    def _negated(self) -> Tree:
        return ("not", self._negated()) if self._takes("not") else self._compared()

    def _chain(self, part: Callable[[], Tree], names: dict[str, str]) -> Tree:
        tree = part()
        while (name := self._next()) in names:
            self._take()
            tree = (names[name], tree, part())
        return tree

    def _compared(self) -> Tree:
        tree = self._sum()
        while True:
            name = self._next()
            if name in _COMPARED:
                self._take()
                tree = (_COMPARED[name], tree, self._sum())
            elif name == "is":
                self._take()
                tree = self._is(tree)
            elif name in ("not", "in", "between", "like", "ilike", "rlike"):
                tree = self._among(tree)
            else:
                return tree

    def _is(self, tree: Tree) -> Tree:
        is_not, word = self._takes("not"), self._take()[1].lower()
        if word not in _CONSTANTS:
            raise _unknown(f"is {word}")
        wanted: Tree = tree if word == "true" else ("not", tree)
        judged: Tree = ("null?", tree) if word == "null" else ("coalesce", wanted, _CONSTANTS["false"])
        return ("not", judged) if is_not else judged

    def _among(self, tree: Tree) -> Tree:
        is_not, word = self._takes("not"), self._take()[1].lower()
        if word == "in":
            parts: list[Tree] = [("=", tree, each) for each in self._listed()]
            made = parts[0]
            for part in parts[1:]:
                made = ("or", made, part)
        elif word == "between":
            low = self._sum()
            self._expect("and")
            made = ("and", (">=", tree, low), ("<=", tree, self._sum()))
        elif word in ("like", "ilike", "rlike"):
            made = (word, tree, self._sum())
        else:
            raise _unknown(f"not {word}")
        return ("not", made) if is_not else made

    def _sum(self) -> Tree:
        return self._chain(self._product, {"+": "+", "-": "-"})

    def _product(self) -> Tree:
        return self._chain(self._signed, {"*": "*", "/": "/"})

    def _signed(self) -> Tree:
        if self._takes("-"):
            return ("negative", self._signed())
        return self._signed() if self._takes("+") else self._single()

    def _single(self) -> Tree:
        kind, written = self._take()
        if kind == "number":
            return _number(written)
        if kind == "text":
            return ("constant", "text", _bare(written))
        if written == "(":
            tree = self.either()
            self._expect(")")
            return tree
        if kind in ("word", "quoted"):
            return self._column(written) if kind == "quoted" else self._word(written)
        raise _unknown(written)

    def _word(self, written: str) -> Tree:
        word, (kind, following) = written.lower(), self._peek()
        if word in _CONSTANTS:
            return _CONSTANTS[word]
        if word == "case":
            return self._case()
        if word in ("date", "timestamp", "timestamptz") and kind == "text":
            return ("constant", word.removesuffix("tz"), _bare(self._take()[1]))
        if word == "interval" and kind in ("number", "text"):
            return self._interval()
        if following == "(":
            return self._call(word)
        if word in _ENDS:
            raise _unknown(written)
        return self._column(written)

    def _interval(self) -> Tree:
        number, unit = self._take()[1].strip("'"), self._take()[1].lower().removesuffix("s")
        if unit not in _MICROS or not number.isdecimal():
            raise _unknown(f"interval {number} {unit}")
        return ("constant", "interval", int(number) * _MICROS[unit])

    def _call(self, word: str) -> Tree:
        if word != "coalesce" and word not in _FUNCTIONS:
            raise _unknown(f"{word}(")
        parts = self._listed()
        if word != "coalesce" and len(parts) != 1:
            raise _unknown(f"{word}(")
        return ("coalesce", *parts) if word == "coalesce" else (_FUNCTIONS[word], *parts)

    def _case(self) -> Tree:
        subject = None if self._next() == "when" else self.either()
        branches = []
        while self._takes("when"):
            condition = self.either()
            self._expect("then")
            branches.append((("=", subject, condition) if subject else condition, self.either()))
        tree = self.either() if self._takes("else") else _CONSTANTS["null"]
        self._expect("end")
        for condition, value in reversed(branches):
            tree = ("if", condition, value, tree)
        return tree

    def _listed(self) -> Sequence[Tree]:
        self._expect("(")
        parts = [self.either()]
        while self._takes(","):
            parts.append(self.either())
        self._expect(")")
        return parts

    def _column(self, written: str) -> Tree:
        names = [_bare(written)]
        while self._takes("."):
            names.append(_bare(self._take()[1]))
        return ("column", tuple(names))

    def _peek(self) -> tuple[str, str]:
        return self.left[0] if self.left else ("end", "its end")

    def _next(self) -> str:
        kind, written = self._peek()
        return written.lower() if kind in ("word", "sign") else ""

    def _take(self) -> tuple[str, str]:
        first = self._peek()
        self.left = self.left[1:]
        return first

    def _takes(self, word: str) -> bool:
        if self._next() != word:
            return False
        self._take()
        return True

    def _expect(self, word: str) -> None:
        if not self._takes(word):
            raise _unknown(self._peek()[1])


def _number(written: str) -> Tree:
    is_double = "e" in written.lower()
    return ("constant", "double", float(written)) if is_double else ("constant", "exact", Fraction(written))


def _bare(written: str) -> str:
    """A text or a name without its quotes."""
    quote = written[:1]
    return written[1:-1].replace(quote * 2, quote) if quote in ("'", '"') else written
