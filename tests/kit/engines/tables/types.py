"""Values of each type that a landing gives a column, at their edges, and nulls among them."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import partial
from typing import Any

from kit.engines.tables.made import Days, Expected, Feature, Maker, Map, Micros, feature, opt, struct

__all__ = ["TYPES"]

TYPES: list[Feature] = []
of_types = partial(feature, TYPES)

LONGEST = 2**63 - 1
MOMENT = {"type": "long", "logicalType": "timestamp-micros"}
LOCAL = {"type": "long", "logicalType": "local-timestamp-micros"}
DATE = {"type": "int", "logicalType": "date"}


def decimal(precision: int, scale: int) -> dict[str, Any]:
    return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}


def values(maker: Maker, kinds: dict[str, Any], *rows: dict[str, Any], **spec: Any) -> Expected:
    """A table of columns that may be null, with a row of nulls behind the others."""
    fields = {"id": "long", **{name: opt(kind) for name, kind in kinds.items()}}
    every = [*rows, dict.fromkeys(kinds)]
    return maker.land(fields, [{"id": n, **row} for n, row in enumerate(every)], **spec).expected()


@of_types("booleans, `int`, `long`")
def whole_numbers(maker: Maker) -> Expected:
    kinds = {"yes": "boolean", "small": "int", "large": "long"}
    edges = [(True, 2**31 - 1, LONGEST), (False, -(2**31), -LONGEST - 1), (True, 0, 2**53 + 1)]
    return values(maker, kinds, *(dict(zip(kinds, row, strict=True)) for row in edges))


@of_types("`float`, `double`: the smallest and largest, NaN, infinite, -0.0")
def floats(maker: Maker) -> Expected:
    kinds = {"single": "float", "double": "double"}
    edges = [(1.5, 0.1), (3.4028234663852886e38, 1.7976931348623157e308), (2**-149, 5e-324)]
    odd = [(each, each) for each in (math.nan, math.inf, -math.inf, -0.0)]
    return values(maker, kinds, *(dict(zip(kinds, row, strict=True)) for row in (*edges, *odd)))


@of_types("text: empty, with zero signs, quotes, emoji, and of 900 kB")
def texts(maker: Maker) -> Expected:
    every = ["", "\0", "Žižkov 🚋 \t\"'`\\ 東京\n", "null", "x" * 900_000]
    return values(maker, {"text": "string"}, *({"text": each} for each in every))


@of_types("`decimal` of 9, 18 and 38 digits", daily=True)
def decimals(maker: Maker) -> Expected:
    kinds = {"d9": decimal(9, 2), "d18": decimal(18, 4), "d38": decimal(38, 10), "whole": decimal(38, 0)}
    digits = {"d9": (9, 2), "d18": (18, 4), "d38": (38, 10), "whole": (38, 0)}
    most = {name: Decimal((0, (9,) * precision, -scale)) for name, (precision, scale) in digits.items()}
    least = {name: each.copy_negate() for name, each in most.items()}
    one = {name: Decimal((0, (1,), -scale)) for name, (_, scale) in digits.items()}
    return values(maker, kinds, most, least, one)


@of_types("`date`: years 1 to 9999")
def dates(maker: Maker) -> Expected:
    days = (date(1, 1, 1), date(1582, 10, 4), date(1969, 12, 31), date(2024, 2, 29), date(9999, 12, 31))
    return values(maker, {"day": DATE}, *({"day": each} for each in days))


@of_types("moments, with a zone and without")
def moments(maker: Maker) -> Expected:
    every = [datetime(1970, 1, 1), datetime(2038, 1, 19, 3, 14, 8, 999999), datetime(2026, 3, 29, 2, 30)]
    rows = [{"at": each.replace(tzinfo=UTC), "local": each} for each in every]
    return values(maker, {"at": MOMENT, "local": LOCAL}, *rows)


@of_types("moments before 1970", daily=True)
def early_moments(maker: Maker) -> Expected:
    every = [datetime(1969, 12, 31, 23, 59, 59, 999999), datetime(1883, 11, 18, 12), datetime(1, 1, 1)]
    rows = [{"at": each.replace(tzinfo=UTC), "local": each} for each in every]
    return values(maker, {"at": MOMENT, "local": LOCAL}, *rows)


@of_types("dates and moments before the year 1 and beyond 9999")
def far_moments(maker: Maker) -> Expected:
    every = [(2_932_897, 9_223_372_036_825_200_000), (-719_529, -9_223_372_036_832_400_000)]
    rows = [{"day": Days(d), "at": Micros(m), "local": Micros(m)} for d, m in every]
    return values(maker, {"day": DATE, "at": MOMENT, "local": LOCAL}, *rows)


@of_types("`binary`: empty, zero bytes, no text")
def binary(maker: Maker) -> Expected:
    every = [b"", b"\0", bytes(range(256)), b"plain"]
    return values(maker, {"raw": "bytes"}, *({"raw": each} for each in every))


PLACE = struct("Place", city=opt("string"), at=opt(struct("At", x="double", y=opt("int"))))


@of_types("structs, three deep, and nulls on each level", daily=True)
def structs(maker: Maker) -> Expected:
    rows = [{"city": "Oslo", "at": {"x": 1.5, "y": 2}}, {"city": None, "at": {"x": 0.0, "y": None}}]
    rows.append({"city": "Rome", "at": None})
    return values(maker, {"place": PLACE}, *({"place": each} for each in rows))


@of_types("lists: empty ones, and nulls in them")
def lists(maker: Maker) -> Expected:
    kinds = {"numbers": {"type": "array", "items": opt("int")}, "texts": {"type": "array", "items": "string"}}
    return values(maker, kinds, {"numbers": [1, None, 3], "texts": ["", "b"]}, {"numbers": [], "texts": []})


@of_types("maps: empty ones, and nulls in them")
def maps(maker: Maker) -> Expected:
    kind = {"type": "map", "values": opt("long")}
    rows = [Map(a=1, b=None), Map(), Map({"": 0, "žš": LONGEST})]
    return values(maker, {"counts": kind}, *({"counts": each} for each in rows))


@of_types("lists of structs, of maps and of lists, maps of structs and of lists")
def nested(maker: Maker) -> Expected:
    line = struct("Line", sku="string", price=opt(decimal(12, 3)), at=opt(MOMENT))
    kinds = {
        "lines": {"type": "array", "items": opt(line)},
        "tables": {"type": "array", "items": {"type": "map", "values": "int"}},
        "grid": {"type": "array", "items": {"type": "array", "items": opt("double")}},
        "by_name": {"type": "map", "values": struct("Pair", left=opt("int"), right=opt("string"))},
        "many": {"type": "map", "values": {"type": "array", "items": "string"}},
    }
    at = datetime(2024, 2, 29, 1, 2, 3, 4, tzinfo=UTC)
    full = {
        "lines": [
            {"sku": "x", "price": Decimal("1.250"), "at": at},
            None,
            {"sku": "", "price": None, "at": None},
        ],
        "tables": [Map(a=1), Map()],
        "grid": [[1.0, None], []],
        "by_name": Map(a={"left": 1, "right": None}, b={"left": None, "right": "r"}),
        "many": Map(a=["x", "y"], b=[]),
    }
    none: dict[str, Any] = {name: Map() if name in ("by_name", "many") else [] for name in kinds}
    return values(maker, kinds, full, none)


@of_types("columns that are null in every row")
def all_null(maker: Maker) -> Expected:
    kinds = {"number": "int", "text": "string", "place": PLACE, "many": {"type": "array", "items": "int"}}
    return values(maker, kinds, dict.fromkeys(kinds))
