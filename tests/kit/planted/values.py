"""Faults in the values of a row: each leaves a value that a careless reader takes for the right one."""

from __future__ import annotations

import base64
import math
import struct
import unicodedata
from collections.abc import Mapping
from random import Random
from typing import Any

from kit.planted.columns import MOMENTS, Values, is_same
from kit.planted.faults import Found, Plant, altered, finding, pick, place_of
from kit.planted.tables import Case, columns_between, landed_rows

_HOUR = 3_600_000_000


def _next_single(value: float, _: Random) -> float:
    (bits,) = struct.unpack("i", struct.pack("f", value))
    after: float = struct.unpack("f", struct.pack("i", bits + 1))[0]
    return after


def _without_one(value: dict[str, int], chance: Random) -> dict[str, int]:
    gone = chance.choice([*value])
    return {key: count for key, count in value.items() if key != gone}


def _count_more(value: dict[str, int], chance: Random) -> dict[str, int]:
    return {**value, (key := chance.choice([*value])): value[key] + 1}


def null_for_a_value(case: Case, chance: Random) -> list[Found]:
    row = chance.choice(case.last)
    names = [n for n, v in row.items() if v is not None and not n.startswith("$$") and n != "key"]
    name = chance.choice(names)
    row[name] = None
    return [finding("altered", place_of(row), name)]


def value_for_a_null(case: Case, chance: Random) -> list[Found]:
    row = pick(case.last, chance, lambda row: row["note"] is None)
    if row is None:
        return []
    row["note"] = chance.choice(("", "null", "None"))
    return [finding("altered", place_of(row), "note")]


def fields_swapped(case: Case, chance: Random) -> list[Found]:
    row = pick(case.last, chance, lambda row: row["note"] is not None and row["note"] != row["name"])
    if row is None:
        return []
    row["name"], row["note"] = row["note"], row["name"]
    return [finding("altered", place_of(row), "name", "note")]


def rows_exchange_their_values(case: Case, chance: Random) -> list[Found]:
    rows = landed_rows(case, chance.randrange(2)) if not case.shape.compacted else case.last
    if len(rows) < 2:
        return []
    one, other = chance.sample(rows, 2)
    names = columns_between(case, one, other, is_same)
    for name in names:
        one[name], other[name] = other[name], one[name]
    columns = tuple(part for name in names for part in _parts(name, one, other))
    return [finding("altered", place_of(row), *columns) for row in (one, other)]


def _parts(name: str, one: Values, other: Values) -> list[str]:
    """The fields of a struct that differ; of any other column itself."""
    if not (isinstance(one[name], Mapping) and isinstance(other[name], Mapping)) or name == "counts":
        return [name]
    return [f"{name}.{key}" for key in one[name] if not is_same(one[name][key], other[name][key])]


def column_wiped(case: Case, chance: Random) -> list[Found]:
    name = chance.choice(("small", "name", "seen", "tags"))
    lost = [finding("altered", place_of(row), name) for row in case.last]
    for row in case.last:
        row[name] = None
    return lost


def another_zone(case: Case, chance: Random) -> list[Found]:
    """A time with a zone is taken for one without, in a zone east or west."""
    row = chance.choice(case.last)
    row["seen"] += chance.choice((-9, -1, 1, 2, 5)) * _HOUR
    return [finding("altered", place_of(row), "seen")]


def micros_cut_to_millis(case: Case, chance: Random) -> list[Found]:
    names = [name for name in MOMENTS if name in case.rows[0]] if case.rows else []
    name = chance.choice(names) if names else ""
    row = pick(case.last, chance, lambda row: name and row[name] % 1000)
    if row is None:
        return []
    row[name] -= row[name] % 1000
    return [finding("altered", place_of(row), name)]


def number_for_no_number(value: float, _: Random) -> float:
    return math.nan if not math.isnan(value) else 0.0


def _bytes_as_text(value: bytes, chance: Random) -> bytes:
    return base64.b64encode(value) if chance.random() < 0.5 else value.decode("latin-1").encode()


def _cut(value: str, _: Random) -> str:
    return value[:-1]


VALUES: Mapping[str, Plant] = {
    "an integer's last digit": altered("small", lambda v, c: v + (1 if v < 0 else -1)),
    "a long's last digit": altered("large", lambda v, c: v - 1),
    "a long through a double": altered("large", lambda v, c: int(float(v))),
    "a float's last bit": altered("rate", _next_single),
    "a double's last bit": altered("amount", lambda v, c: math.nextafter(v, math.inf)),
    "a float for a double": altered("amount", lambda v, c: struct.unpack("f", struct.pack("f", v))[0]),
    "no number for a number": altered("amount", number_for_no_number),
    "a decimal's last digit": altered("price", lambda v, c: v + 1),
    "a decimal's scale": altered("price", lambda v, c: v * 10 if v < 10**8 else v // 10),
    "a boolean turned": altered("flag", lambda v, c: not v),
    "a text cut": altered("name", _cut),
    "a text normalised": altered("name", lambda v, c: unicodedata.normalize("NFD", v)),
    "blanks cut": altered("name", lambda v, c: v.strip()),
    "bytes encoded again": altered("blob", _bytes_as_text),
    "a date a day off": altered("day", lambda v, c: v + c.choice((-1, 1))),
    "a time of day a second off": altered("clock", lambda v, c: v ^ 1_000_000),
    "a moment a microsecond off": altered("seen", lambda v, c: v + 1),
    "a moment in another zone": another_zone,
    "microseconds cut to milliseconds": micros_cut_to_millis,
    "a list's order": altered("tags", lambda v, c: v[::-1]),
    "a list's element lost": altered("tags", lambda v, c: v[:-1]),
    "a list's element doubled": altered("tags", lambda v, c: [*v, v[-1]]),
    "a list emptied": altered("tags", lambda v, c: []),
    "a map's entry lost": altered("counts", _without_one),
    "a map's value": altered("counts", _count_more),
    "a nested field": altered("place", lambda v, c: {**v, "lat": math.nextafter(v["lat"], 100)}, "lat"),
    "a nested field lost": altered("place", lambda v, c: {**v, "city": None}, "city"),
    "null for a value": null_for_a_value,
    "a value for null": value_for_a_null,
    "two fields swapped": fields_swapped,
    "two rows' values exchanged": rows_exchange_their_values,
    "a column without values": column_wiped,
}


def changed_header(value: dict[str, bytes | None], chance: Random) -> dict[str, Any]:
    return {**value, chance.choice([*value]): b"other"}


METADATA: Mapping[str, Plant] = {
    "a header's value": altered("$$headers", changed_header),
    "a header lost": altered("$$headers", lambda v, c: {k: v[k] for k in [*v][1:]}),
    "the headers lost": altered("$$headers", lambda v, c: None),
    "the key's bytes": altered("$$raw-key", lambda v, c: v + b"x"),
    "the record's time": altered("$$timestamp", lambda v, c: v + c.choice((-1000, 1000, 1))),
    "who set the time": altered(
        "$$timestamp-type", lambda v, c: "CREATE_TIME" if v[0] == "L" else "LOG_APPEND_TIME"
    ),
    "the leader's epoch": altered("$$leader-epoch", lambda v, c: v + 1),
    "the topic's name": altered("$$topic", lambda v, c: v + "2"),
    "a change's word": altered("$$op", lambda v, c: "u" if v != "u" else "c"),
    "a change's time": altered("$$source-time", lambda v, c: v + 1000),
    "a change's place in the log": altered("$$source-lsn", lambda v, c: v + 1),
}
