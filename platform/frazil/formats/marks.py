"""What Debezium writes where it has no value: its mark for a value that it lacks, and PostgreSQL's infinity.

A long value (TOAST) that an update left alone is `__debezium_unavailable_value`, in an array's or a map's own
terms too; source: `UnchangedToastedPlaceholder` of Debezium's PostgreSQL connector. Infinity is a number that
is no date of PostgreSQL's; source: `PostgresValueConverter` there, and PostgreSQL's manual: Date/Time Types.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import md5
from uuid import UUID

from frazil.formats.logical import List, Map, Primitive, Struct, Type
from frazil.quoting import literal, quoted

TEXT = "__debezium_unavailable_value"
_BYTES = f"X'{TEXT.encode().hex()}'"
UUID_OF_TEXT = str(UUID(bytes=md5(TEXT.encode(), usedforsecurity=False).digest(), version=3))

DATES = (-2_440_588, 2_145_042_905)
"""The days of PostgreSQL's dates: 4714-11-24 BC, the first Julian day, to the year 5874897."""
MICROS = (-9_223_372_036_832_400_000, 9_223_372_036_825_200_000)
"""The microseconds that stand for its infinities."""
_EPOCH = "TIMESTAMP_NTZ '1970-01-01'"

Condition = Callable[[Type, str, bool], "str | None"]
"""Whether a value is a mark, as SQL, by its type, its SQL, and whether it is one of many; None: it is not."""


def is_unavailable(kind: Type, x: str) -> str | None:
    """Whether a value is or holds the mark of one that Debezium lacks, as SQL; None where it can't."""
    return _anywhere(_unavailable, kind, x)


def is_infinite(kind: Type, x: str) -> str | None:
    """Whether a value is or holds one of PostgreSQL's infinities, as SQL; None where it can't."""
    return _anywhere(_infinite, kind, x)


def _anywhere(mark: Condition, kind: Type, x: str, depth: int = 0, of_many: bool = False) -> str | None:
    e, inner = f"m{depth}", depth + 1
    found = [mark(kind, x, of_many)]
    match kind:
        case Struct():
            found += [_anywhere(mark, f.type, f"{x}.{quoted(f.name)}", depth) for f in kind]
        case List():
            found.append(_exists(x, e, _anywhere(mark, kind.element, e, inner, True)))
        case Map():
            found.append(_exists(f"map_keys({x})", e, _anywhere(mark, kind.key, e, inner, True)))
            found.append(_exists(f"map_values({x})", e, _anywhere(mark, kind.value, e, inner, True)))
    return " OR ".join(f"({sql})" for sql in found if sql) or None


def _exists(items: str, e: str, condition: str | None) -> str | None:
    return condition and f"exists({items}, {e} -> {condition})"


def _unavailable(kind: Type, x: str, of_many: bool) -> str | None:
    """Of an array or a map the mark is all that it holds: what has more in it is a value."""
    text = literal(TEXT)
    match kind:
        case Primitive("string") if not of_many:
            return f"{x} = {text}"
        case Primitive("binary") if not of_many:
            return f"{x} = {_BYTES}"
        case List(Primitive("string")):
            return f"{x} IN (array({text}), array('{UUID_OF_TEXT}'))"
        case List(Primitive("binary")):
            return f"{x} = array({_BYTES})"
        case Map(Primitive("string"), Primitive("string")):
            return f"size({x}) = 1 AND try_element_at({x}, {text}) = {text}"
        case List(Primitive(word)) if word in _NUMBERS:
            return " OR ".join(f"{x} = array({', '.join(marks)})" for marks in _numbers(word))
        case _:
            return None


_NUMBERS: dict[str, tuple[str, ...]] = {
    "int": ("{}",),
    "long": ("{}L", "{}000L"),
    "date": ("date_from_unix_date({})",),
    "timestamp": tuple(f"timestampadd(MICROSECOND, {{}}{zeros}L, {_EPOCH})" for zeros in ("", "000")),
}
"""In an array of what is written as numbers, each is a byte of the mark; the column may count thousandths."""


def _numbers(word: str) -> list[list[str]]:
    return [[made.format(byte) for byte in TEXT.encode()] for made in _NUMBERS[word]]


def _infinite(kind: Type, x: str, of_many: bool) -> str | None:
    low, high = MICROS
    match kind:
        case Primitive("date"):
            return f"unix_date({x}) NOT BETWEEN {DATES[0]} AND {DATES[1]}"
        case Primitive("timestamp"):
            bounds = (f"timestampadd(MICROSECOND, {micros}L, {_EPOCH})" for micros in (low, high))
            return "{0} <= {1} OR {0} >= {2}".format(x, *bounds)
        case Primitive("timestamptz"):
            return f"{x} <= timestamp_micros({low}L) OR {x} >= timestamp_micros({high}L)"
        case _:
            return None
