"""Reads the Common Expression Language (CEL), as far as conditions of contracts are asked here.

Source: the grammar of CEL's language definition.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NoReturn

from frazil.expressions.tree import Constant

KNOWN = (
    "fields of message, constants, ==, !=, <, <=, >, >=, &&, ||, !, ? :, in [...], +, -, *, size(), "
    "startsWith(), endsWith(), contains() and matches()"
)
"""What conditions are made of, for people."""

_LONGEST, _DEEPEST = 10_000, 50
_TOKEN = re.compile(
    r"""\s*(?:
      (?P<double>\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)
    | (?P<whole>\d+)
    | (?P<raw>[rR](?:"[^"\n]*"|'[^'\n]*'))
    | (?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    | (?P<name>[A-Za-z_]\w*)
    | (?P<sign>&&|\|\||[=!<>]=|[<>!?:()\[\],.+*-])
    )""",
    re.X,
)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3})|[xX]([0-9a-fA-F]{2})|(.))")
_ESCAPED = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", "'": "'", '"': '"', "`": "`", "?": "?",
}  # fmt: skip
_WORDS = {"true": ("boolean", "true"), "false": ("boolean", "false"), "null": ("null", "")}


@dataclass(frozen=True, slots=True)
class Name:
    """A field, by the names on the way to it."""

    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Listed:
    """A list that stands there."""

    of: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Applied:
    """A sign or a function, and what it is applied to."""

    name: str
    of: tuple[Term, ...]


Term = Name | Constant | Listed | Applied


def read_cel(text: str) -> Term:
    """An expression; raises ValueError where it is none, or has a part that is not known here."""
    if len(text) > _LONGEST:
        raise ValueError(f"it has more than {_LONGEST:,} signs")
    reading = _Reading([*_tokens(text), ("end", "")])
    term = reading.choice()
    if reading.kind != "end":
        reading.refuse()
    return term


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    at, end = 0, len(text.rstrip())
    while at < end:
        token = _TOKEN.match(text, at)
        if not token:
            raise ValueError(f"not understood at {text[at:].strip()[:20]!r}")
        kind = str(token.lastgroup)
        yield kind, token[kind]
        at = token.end()


class _Reading:
    """One walk along the tokens of an expression."""

    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self._tokens, self._depth = tokens, 0

    @property
    def kind(self) -> str:
        """Of the next token."""
        return self._tokens[0][0]

    def refuse(self) -> NoReturn:
        """Says where it is not understood."""
        near = " ".join(word for _, word in self._tokens[:3]).strip()
        raise ValueError(f"not understood at {near!r}" if near else "it ends too early")

    def choice(self) -> Term:
        """`a ? b : c`, or what binds closer."""
        self._depth += 1
        if self._depth > _DEEPEST:
            raise ValueError("it is too deep")
        term = self._either()
        if self._takes("?"):
            one = self.choice()
            self._expect(":")
            term = Applied("?:", (term, one, self.choice()))
        self._depth -= 1
        return term

    def _either(self) -> Term:
        return self._chain(self._both, "||")

    def _both(self) -> Term:
        return self._chain(self._relation, "&&")

    def _chain(self, part: Callable[[], Term], sign: str) -> Term:
        parts = [part()]
        while self._takes(sign):
            parts.append(part())
        return parts[0] if len(parts) == 1 else Applied(sign, tuple(parts))

    def _relation(self) -> Term:
        return self._pairs(self._sum, "==", "!=", "<", "<=", ">", ">=", "in")

    def _sum(self) -> Term:
        return self._pairs(self._product, "+", "-")

    def _product(self) -> Term:
        return self._pairs(self._signed, "*")

    def _pairs(self, part: Callable[[], Term], *signs: str) -> Term:
        term = part()
        while sign := self._takes(*signs):
            term = Applied(sign, (term, part()))
        return term

    def _signed(self) -> Term:
        if sign := self._takes("!", "-"):
            self._depth += 1
            if self._depth > _DEEPEST:
                raise ValueError("it is too deep")
            inner = self._signed()
            self._depth -= 1
            return Applied(sign, (inner,))
        return self._member()

    def _member(self) -> Term:
        term = self._primary()
        while sign := self._takes(".", "["):
            if sign == "[":
                term = self._inner(term, self._taken("text", "raw"))
                self._expect("]")
                continue
            name = self._taken("name")
            term = Applied(name, (term, *self._listed(")"))) if self._takes("(") else self._inner(term, name)
        return term

    def _inner(self, term: Term, name: str) -> Name:
        if not isinstance(term, Name):
            self.refuse()
        return Name((*term.path, name))

    def _primary(self) -> Term:
        if self._takes("("):
            term = self.choice()
            self._expect(")")
            return term
        if self._takes("["):
            return Listed(self._listed("]"))
        kind = self.kind
        word = self._taken("name", "text", "raw", "whole", "double")
        if kind != "name":
            return Constant("text" if kind == "raw" else kind, word)
        if self._takes("("):
            return Applied(word, self._listed(")"))
        return Constant(*_WORDS[word]) if word in _WORDS else Name((word,))

    def _listed(self, end: str) -> tuple[Term, ...]:
        if self._takes(end):
            return ()
        terms = [self.choice()]
        while self._takes(","):
            terms.append(self.choice())
        self._expect(end)
        return tuple(terms)

    def _takes(self, *words: str) -> str:
        kind, word = self._tokens[0]
        if kind not in ("sign", "name") or word not in words:
            return ""
        self._tokens.pop(0)
        return word

    def _expect(self, word: str) -> None:
        if not self._takes(word):
            self.refuse()

    def _taken(self, *kinds: str) -> str:
        """The next token's word; of a text what it says."""
        if self.kind not in kinds:
            self.refuse()
        kind, word = self._tokens.pop(0)
        if kind == "raw":
            return word[2:-1]
        return _ESCAPE.sub(_unescaped, word[1:-1]) if kind == "text" else word


def _unescaped(escape: re.Match[str]) -> str:
    short, long, octal, hexadecimal, sign = escape.groups()
    if sign is not None:
        if sign not in _ESCAPED:
            raise ValueError(f"not understood at {escape[0]!r}")
        return _ESCAPED[sign]
    return chr(int(octal, 8) if octal else int(short or long or hexadecimal, 16))
