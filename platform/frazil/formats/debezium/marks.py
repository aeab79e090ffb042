"""What Debezium writes where it has no value: its mark for a value that it lacks, and PostgreSQL's infinity.

A long value (TOAST) that an update left alone is `__debezium_unavailable_value`, in an array's or a map's own
terms too; source: `UnchangedToastedPlaceholder` of Debezium's PostgreSQL connector. Infinity is a number that
is no date of PostgreSQL's; source: `PostgresValueConverter` there, and PostgreSQL's manual: Date/Time Types.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import md5
from typing import TYPE_CHECKING, Any
from uuid import UUID

from frazil.exact import flags_of
from frazil.formats.logical import List, Map, Primitive, Struct, Type

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    Flags = NDArray[np.bool_]

TEXT = "__debezium_unavailable_value"
UUID_OF_TEXT = str(UUID(bytes=md5(TEXT.encode(), usedforsecurity=False).digest(), version=3))

DATES = (-2_440_588, 2_145_042_905)
"""The days of PostgreSQL's dates: 4714-11-24 BC, the first Julian day, to the year 5874897."""
MICROS = (-9_223_372_036_832_400_000, 9_223_372_036_825_200_000)
"""The microseconds that stand for its infinities."""

Mark = Callable[[Type, "pa.Array", bool], "Flags | None"]
"""Which values are marks, by their type, and whether each is one of many; None: none can be."""


def are_unavailable(kind: Type, values: pa.Array) -> Flags | None:
    """Which values are or hold the mark of one that Debezium lacks; None where none can."""
    return _anywhere(_unavailable, kind, values)


def are_infinite(kind: Type, values: pa.Array) -> Flags | None:
    """Which values are or hold one of PostgreSQL's infinities; None where none can."""
    return _anywhere(_infinite, kind, values)


def _anywhere(mark: Mark, kind: Type, values: pa.Array, of_many: bool = False) -> Flags | None:
    marked = [mark(kind, values, of_many)]
    match kind:
        case Struct():
            parts = zip(kind, values.flatten(), strict=True)
            marked += [_anywhere(mark, part.type, array) for part, array in parts]
        case List():
            marked.append(_within(values, mark, kind.element, values.values))
        case Map():
            marked.append(_within(values, mark, kind.key, values.keys))
            marked.append(_within(values, mark, kind.value, values.items))
    hits = [flags for flags in marked if flags is not None]
    return None if not hits else sum(hits[1:], hits[0])


def _within(lists: pa.Array, mark: Mark, kind: Type, items: pa.Array) -> Flags | None:
    """Which lists have an item that is a mark."""
    import numpy as np

    starts, ends = _extents(lists)
    hit = _anywhere(mark, kind, items, of_many=True)
    if hit is None:
        return None
    before = np.concatenate([[0], np.cumsum(hit)])
    hits: Flags = before[ends] > before[starts]
    return hits


def _extents(lists: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where the items of each list begin and end; of one that is null nowhere."""
    import numpy as np

    offsets = lists.offsets.to_numpy().astype(np.int64)
    starts, ends = offsets[:-1], offsets[1:]
    return starts, np.where(flags_of(lists.is_valid()), ends, starts)


def _unavailable(kind: Type, values: pa.Array, of_many: bool) -> Flags | None:
    match kind:
        case Primitive("string" | "binary" as word) if not of_many:
            return _are(values, TEXT if word == "string" else TEXT.encode())
        case List(Primitive("string")):
            return _are_alone(values, values.values, TEXT) | _are_alone(values, values.values, UUID_OF_TEXT)
        case List(Primitive("binary")):
            return _are_alone(values, values.values, TEXT.encode())
        case Map(Primitive("string"), Primitive("string")):
            both = _are(values.keys, TEXT) & _are(values.items, TEXT)
            return _hold_one(values, both)
        case List(Primitive(word)) if word in _FACTORS:
            numbers = [[factor * byte for byte in TEXT.encode()] for factor in _FACTORS[word]]
            alike = [_are_numbers(values, each) for each in numbers]
            return sum(alike[1:], alike[0])
        case _:
            return None


_FACTORS = {"int": (1,), "long": (1, 1000), "date": (1,), "timestamp": (1, 1000)}
"""In an array of what is written as numbers, each is a byte of the mark; the column may count thousandths."""


def _infinite(kind: Type, values: pa.Array, of_many: bool) -> Flags | None:
    match kind:
        case Primitive("date"):
            return _are_beyond(values, DATES[0] - 1, DATES[1] + 1)
        case Primitive("timestamp" | "timestamptz"):
            return _are_beyond(values, *MICROS)
        case _:
            return None


def _are_beyond(values: pa.Array, low: int, high: int) -> Flags:
    """Which moments are those numbers, or beyond."""
    import pyarrow as pa
    import pyarrow.compute as pc

    numbers = values.cast(pa.int32()) if pa.types.is_date32(values.type) else values
    numbers = numbers.cast(pa.int64())
    beyond = pc.or_(pc.less_equal(numbers, low), pc.greater_equal(numbers, high))
    return flags_of(beyond)


def _are(values: pa.Array, what: Any) -> Flags:
    import pyarrow as pa
    import pyarrow.compute as pc

    return flags_of(pc.equal(values, pa.scalar(what, values.type)))


def _are_alone(lists: pa.Array, items: pa.Array, what: Any) -> Flags:
    """Which lists hold one item, which is that."""
    return _hold_one(lists, _are(items, what))


def _hold_one(lists: pa.Array, hit: Flags) -> Flags:
    import numpy as np

    starts, ends = _extents(lists)
    alone = np.flatnonzero(ends - starts == 1)
    hits = np.zeros(len(lists), bool)
    hits[alone] = hit[starts[alone]]
    return hits


def _are_numbers(lists: pa.Array, numbers: Sequence[int]) -> Flags:
    """Which lists hold those numbers, one after the other, and no others."""
    import numpy as np
    import pyarrow as pa

    starts, ends = _extents(lists)
    alike = np.flatnonzero(ends - starts == len(numbers))
    same_number = np.zeros(len(lists), bool)
    if len(alike):
        items = lists.values.cast(pa.int32()) if pa.types.is_date32(lists.values.type) else lists.values
        places = starts[alike][:, None] + np.arange(len(numbers))
        taken = items.cast(pa.int64()).take(pa.array(places.ravel()))
        same = taken.fill_null(-1).to_numpy().reshape(places.shape) == np.array(numbers)
        same_number[alike] = same.all(axis=1)
    return same_number
