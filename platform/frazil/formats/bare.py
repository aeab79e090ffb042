"""Values of columns as independent decoders give them, and whether a table's are the same.

Days and moments are whole numbers, as Iceberg counts them: Python's own types can't hold every year. Maps are
lists of pairs. `Unknown` stands for what the independent decoder can't tell.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal as Number
from typing import Any

from frazil.formats.logical import List, Map, Primitive, Struct, Type, Where

Bare = dict[str, Any]
"""The values of one half of a record, by column."""


class Unknown:
    """A value that the independent decoder can't tell, and why."""

    def __init__(self, why: str) -> None:
        self.why = why


def differences(kind: Struct, wanted: Mapping[str, Any], actual: Mapping[str, Any]) -> Iterator[str]:
    """The columns of a row that hold something else than they should, with both values."""
    for own in kind:
        at = Where().within(kind, own.name)
        yield from _differences(own.type, wanted.get(own.name), actual.get(own.name), at)


def _differences(kind: Type, wanted: Any, actual: Any, at: Where) -> Iterator[str]:
    if isinstance(wanted, Unknown):
        return
    if wanted is None or actual is None:
        if wanted is not actual:
            yield _difference(at, wanted, actual)
        return
    match kind:
        case Struct():
            for own in kind:
                inner = at.within(kind, own.name)
                yield from _differences(own.type, wanted.get(own.name), actual.get(own.name), inner)
        case List():
            yield from _of_lists(kind.element, wanted, actual, at.within(kind, "element"))
        case Map():
            pairs = [sorted(each, key=lambda pair: repr(pair[0])) for each in (wanted, actual)]
            for place, part in ((0, kind.key), (1, kind.value)):
                one, other = ([pair[place] for pair in each] for each in pairs)
                yield from _of_lists(part, one, other, at.within(kind, ("key", "value")[place]))
        case _ if not _same(kind, wanted, actual):
            yield _difference(at, wanted, actual)


def _of_lists(kind: Type, wanted: Sequence[Any], actual: Sequence[Any], at: Where) -> Iterator[str]:
    if len(wanted) != len(actual):
        yield _difference(at, f"{len(wanted)} items", f"{len(actual)} items")
        return
    for one, other in zip(wanted, actual, strict=True):
        yield from _differences(kind, one, other, at)


def _same(kind: Type, wanted: Any, actual: Any) -> bool:
    if isinstance(actual, float):
        number = float(wanted)
        if kind == Primitive("float") and math.isfinite(number):
            number = struct.unpack("f", struct.pack("f", number))[0]
        return number == actual or (math.isnan(number) and math.isnan(actual))
    if isinstance(actual, Number):
        return Number(wanted) == actual
    if isinstance(actual, str):  # a number that is held as text comes as a kind of text of its own
        return isinstance(wanted, str) and str(wanted) == actual
    return type(wanted) is type(actual) and bool(wanted == actual)


def _difference(at: Where, wanted: Any, actual: Any) -> str:
    return f"{at.text}: the record has {wanted!r:.100}, the row {actual!r:.100}"
