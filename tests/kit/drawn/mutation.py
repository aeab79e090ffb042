"""Good text broken in the ways that people, programs and attackers break it; seeded."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from copy import deepcopy
from random import Random
from typing import Any

__all__ = ["HOSTILE", "NESTED", "NUMBERS", "ODD", "Mutator"]

NESTED = 10_000
"""Levels of what is nested until no stack holds it."""

HOSTILE = (
    "'); DROP TABLE x; --",
    '"); DROP TABLE x; --',
    "`; DROP TABLE x; --",
    "\\'; DROP TABLE x; --",
    "__import__('os').system('touch owned')",
    "${env:HOME}",
    "${jndi:ldap://127.0.0.1/x}",
    "{{ env('HOME') }}",
    "{{ env.__class__.__mro__ }}",
    "{{ ''.__class__.__base__.__subclasses__() }}",
    "{% for i in range(9**9) %}",
    "!!python/object/apply:os.system ['touch owned']",
    "../../../owned",
    "/owned",
    "/etc/passwd",
    "a/../../owned",
    "s3://other/metadata/owned.json",
    "file:///etc/passwd",
    "http://127.0.0.1:1/owned",
    "https://example.com/x",
    "read_text('/etc/passwd')",
    "COPY (SELECT 1) TO 'owned'",
    "reflect('java.lang.Runtime', 'getRuntime')",
    "java_method('java.lang.System', 'exit', 0)",
    "$(touch owned)",
    "; touch owned",
    "-o/owned",
    "@/etc/passwd",
    "%s%n%x",
    "a\r\nX-Header: owned",
)
"""Texts that do harm where they are not taken as text."""

ODD = (
    "",
    " ",
    "\0",
    "a\0b",
    "\ud800",
    "\udfff\ud800",
    "\u202egnirts",
    "e" + "\u0301" * 40,
    "\ufeff",
    "\u2028",
    "'",
    '"',
    "`",
    "``",
    "\\",
    "$$offset",
    ".",
    "..",
    "a.b",
    "a/b",
    "-",
    "--",
    "#",
    "*",
    "\u017f",
    "İ",
    "ß",
    "\U0001f68b",
    "x" * 300,
    "x" * 70_000,
    "null",
    "true",
    "0",
    "NaN",
    "1e999",
    "\n",
    "\t",
    "\x1b[31m",
    "element",
    "key",
    "value",
    "__proto__",
    "$ref",
)

NUMBERS: tuple[Any, ...] = (
    0,
    -0.0,
    1,
    -1,
    38,
    39,
    64,
    65,
    127,
    255,
    2**31 - 1,
    2**31,
    -(2**31) - 1,
    2**53 + 1,
    2**63,
    -(2**63) - 1,
    2**70,
    10**400,
    0.1,
    1e308,
    5e-324,
    float("inf"),
    float("-inf"),
    float("nan"),
)

_SELDOM = 0.1

_OTHERS: tuple[Any, ...] = (None, True, False, [], {}, [[]], [{}], {"": None}, [None, None], {"a": {"a": {}}})
_NUMERALS = ("NaN", "Infinity", "1e999", "-1e999", "9" * 5000, "1e-9999", "0x10", "00", "1_000", "٣")


class Mutator:
    """Breaks what is good. Two of the same seed break it alike."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def word(self) -> str:
        """A text that nobody expects."""
        word = self.random.choice(HOSTILE if self.random.random() < 0.4 else ODD)
        return word[: self.seldom(len(word), 300)]

    def seldom(self, much: int, little: int) -> int:
        """Mostly little: what is without end costs as much as a hundred other inputs."""
        return much if self.random.random() < _SELDOM else little

    def value(self) -> Any:
        """A value that nobody expects."""
        kind = self.random.random()
        return (
            self.word() if kind < 0.5 else deepcopy(self.random.choice(NUMBERS if kind < 0.75 else _OTHERS))
        )

    def tree(self, good: Any) -> Any:
        """The same as a value of JSON, with a few parts replaced, moved, doubled or gone."""
        tree = json.loads(json.dumps(good))
        for _ in range(self.random.choice((0, 1, 1, 1, 2, 3))):
            tree = self._at(tree, self.random.choice(_places(tree)))
        return tree

    def document(self, good: Any) -> str:
        """The text of a broken tree, which may be broken once more."""
        text = json.dumps(self.tree(good), ensure_ascii=self.random.random() < 0.5)
        return self.text(text) if self.random.random() < 0.25 else text

    def text(self, good: str) -> str:
        """A text with a few places broken."""
        for _ in range(self.random.choice((0, 1, 1, 2, 4))):
            good = self.random.choice(_TEXTS)(self, good, *self._slice(good))
        return good

    def raw(self, good: bytes) -> bytes:
        """Bytes with a few places broken."""
        mutated = bytearray(good)
        for _ in range(self.random.choice((1, 1, 2, 4))):
            start, end = self._slice(mutated)
            match self.random.randrange(5):
                case 0:
                    mutated[start : start + 1] = self.random.randbytes(1)
                case 1:
                    del mutated[start:end]
                case 2:
                    mutated[start:start] = mutated[start:end]
                case 3:
                    mutated[start:end] = self.random.choice(
                        (b"\xff" * 10, b"\0" * 5, b"\xfe\xff\xff\xff\x0f")
                    )
                case _:
                    mutated[start:start] = self.word().encode("utf-8", "surrogatepass")[:400]
        return bytes(mutated)

    def _slice(self, of: Sequence[Any]) -> tuple[int, int]:
        start = self.random.randint(0, len(of))
        return start, min(len(of), start + self.random.choice((1, 1, 3, 10, 40)))

    def _at(self, tree: Any, path: tuple[Any, ...]) -> Any:
        if not path:
            return self._changed(tree, tree)
        holder = tree
        for step in path[:-1]:
            holder = holder[step]
        step, part = path[-1], holder[path[-1]]
        match self.random.randrange(6):
            case 0:
                del holder[step]
            case 1 if isinstance(holder, dict):
                holder[self.word()] = holder.pop(step)
            case 1:
                holder.append(part)
            case _:
                holder[step] = self._changed(part, tree)
        return tree

    def _changed(self, part: Any, tree: Any) -> Any:
        match self.random.randrange(7):
            case 0:
                return [part]
            case 1:
                return {self.random.choice(("type", "items", "$ref", "allOf", self.word())): part}
            case 2 if isinstance(part, str):
                return self.text(part)
            case 3:
                return json.loads(json.dumps(_part(tree, self.random.choice(_places(tree)))))
            case 4 if isinstance(part, list) and len(part) < 50:
                return part * 3
            case _:
                return self.value()


def _places(tree: Any) -> list[tuple[Any, ...]]:
    """The path of every part of a tree, its root's among them."""
    places: list[tuple[Any, ...]] = [()]
    for path in places:
        part = _part(tree, path)
        keys = part if isinstance(part, dict) else range(len(part)) if isinstance(part, list) else ()
        places += [(*path, key) for key in keys]
    return places


def _part(tree: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        tree = tree[step]
    return tree


_Text = Callable[[Mutator, str, int, int], str]


def _nest(mutator: Mutator, text: str, start: int, _: int) -> str:
    levels = mutator.random.choice((3, 70, mutator.seldom(1000, 200), mutator.seldom(NESTED, 300)))
    opening = mutator.random.choice(
        ("[", "{", "(", '{"type":', '{"a":[', "- ", "SELECT(", "<", "NOT ", "-", "!", "\t")
    )
    return text[:start] + opening * min(levels, 200_000 // len(opening)) + text[start:]


_SIGNS = (0, 9, 10, 34, 39, 92, 96, 123, 0xD800, 0x202E)
_TEXTS: tuple[_Text, ...] = (
    lambda _, text, start, end: text[:start],
    lambda _, text, start, end: text[:start] + text[end:],
    lambda _, text, start, end: text[:end] + text[start:],
    lambda m, text, start, end: text[:start] + m.word() + text[start:],
    lambda m, text, start, end: text[:start] + m.word() + text[end:],
    lambda m, text, start, end: text[:start] + m.random.choice(_NUMERALS) + text[end:],
    lambda m, text, start, end: text[:start] + chr(m.random.choice(_SIGNS)) + text[end:],
    lambda m, text, start, end: (
        text[:start] + text[start:end] * m.random.choice((2, 50, m.seldom(1000, 5))) + text[end:]
    ),
    lambda m, text, start, end: text[:start] + text[end : end + 40] + text[start:end] + text[end + 40 :],
    _nest,
)
