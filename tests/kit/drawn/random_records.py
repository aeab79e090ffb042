"""Random schemas and records, without a format: what a field is, and a value that it may hold."""

from __future__ import annotations

import math
import string
import struct
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

from hypothesis import strategies as st

__all__ = ["Group", "Kind", "Many", "Maybe", "Named", "Scalar", "groups", "value_of"]


@dataclass(frozen=True, slots=True)
class Scalar:
    """boolean, int, long, float, double, string, bytes, enum, date, moment, or decimal."""

    word: str


@dataclass(frozen=True, slots=True)
class Maybe:
    """A value or none."""

    of: Kind


@dataclass(frozen=True, slots=True)
class Many:
    """A list."""

    of: Kind


@dataclass(frozen=True, slots=True)
class Named:
    """A map by text."""

    of: Kind


@dataclass(frozen=True, slots=True)
class Group:
    """A record; its name is unique within a schema."""

    name: str
    fields: tuple[tuple[str, Kind], ...]


Kind = Scalar | Maybe | Many | Named | Group

SYMBOLS = ("RED", "GREEN", "BLUE")
DECIMAL = (12, 3)
_TEXT = string.printable + "äßž東🚋\0"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@st.composite
def groups(
    draw: st.DrawFn, scalars: Collection[str], bare_nesting: bool = True, most: int = 10, depth: int = 0
) -> Group:
    """A record of many fields.

    Args:
        draw: Hypothesis' own.
        scalars: The words that the format knows.
        bare_nesting: Whether lists and maps may hold lists, maps and nulls.
        most: How many fields at most; at least half of them.
        depth: How deep this record lies in another.
    """
    one = st.sampled_from(sorted(scalars)).map(Scalar)
    kinds = [one, one.map(Maybe)]
    inner: st.SearchStrategy[Kind] = one
    if depth < 1:
        group = groups(scalars, bare_nesting, 3, depth + 1)
        inner = one | group
        kinds += [group, group.map(Maybe)]
    kinds += [inner.map(Many), inner.map(Named)]
    if bare_nesting:
        kinds += [
            inner.map(Maybe).map(Many),
            inner.map(Many).map(Named),
            inner.map(Named).map(Maybe).map(Many),
        ]
    listed = draw(st.lists(st.one_of(kinds), min_size=most // 2, max_size=most))
    number = draw(st.integers(0, 2**48))
    return Group(f"R{number:x}", tuple((f"f{n}", kind) for n, kind in enumerate(listed)))


def value_of(kind: Kind, random: Random) -> Any:
    """A value as a row holds it; often one at the edges."""
    match kind:
        case Maybe():
            return None if random.random() < 0.3 else value_of(kind.of, random)
        case Many():
            return [value_of(kind.of, random) for _ in range(random.choice([0, 1, 3]))]
        case Named():
            return {_text(random): value_of(kind.of, random) for _ in range(random.choice([0, 1, 3]))}
        case Group():
            return {name: value_of(of, random) for name, of in kind.fields}
        case Scalar():
            return _scalar(kind.word, random)


def _scalar(word: str, random: Random) -> Any:
    return _SCALARS[word](random)


_SCALARS: dict[str, Callable[[Random], Any]] = {
    "boolean": lambda r: r.random() < 0.5,
    "int": lambda r: r.choice([0, -1, 2**31 - 1, -(2**31), r.randint(-(2**31), 2**31 - 1)]),
    "long": lambda r: r.choice([0, -1, 2**63 - 1, -(2**63), r.randint(-(2**53), 2**53)]),
    "float": lambda r: struct.unpack("<f", struct.pack("<f", r.uniform(-1e9, 1e9)))[0],
    "double": lambda r: r.choice([0.0, -1.5, math.pi, 5e-324, 1.7976931348623157e308, r.gauss(0, 1e6)]),
    "string": lambda r: _text(r),
    "bytes": lambda r: r.randbytes(r.choice([0, 1, 9])),
    "enum": lambda r: r.choice(SYMBOLS),
    "date": lambda r: date(1970, 1, 1) + timedelta(r.choice([0, -1, -719162, 2932896, r.randint(0, 40000)])),
    "moment": lambda r: _EPOCH + timedelta(microseconds=r.randint(-(2**55), 2**57)),
    "decimal": lambda r: Decimal(r.randint(1 - 10 ** DECIMAL[0], 10 ** DECIMAL[0] - 1)).scaleb(-DECIMAL[1]),
}


def _text(random: Random) -> str:
    return "".join(random.choices(_TEXT, k=random.choice([0, 1, 12])))
