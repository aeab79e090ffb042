"""Faults of masks, and of records that are left out: what must not be seen can be, or can't be joined."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from copy import deepcopy
from random import Random
from typing import Any

from kit.planted.columns import Values
from kit.planted.faults import Found, Plant, altered, finding, pick, place_of
from kit.planted.guarded import hashed, last4
from kit.planted.tables import Case


def shown(column: str, text: Callable[[Any], Any], within: str = "") -> Plant:
    """A row has something made of the value itself, in the place of its mask."""

    def plant(case: Case, chance: Random) -> list[Found]:
        values = {record.place: record.values for record in case.topic.landed}
        row = pick(case.last, chance, lambda row: values[place_of(row)].get(column) is not None)
        if row is None:
            return []
        before, row[column] = row[column], text(values[place_of(row)][column])
        name = f"{column}.{within}" if within else column
        return [] if row[column] == before else [finding("altered", place_of(row), name)]

    return plant


def _city(value: Values) -> Values:
    return {**value, "city": hashed(value["city"].upper() + " ")}


MASKED: Mapping[str, Plant] = {
    "a value that is not masked": shown("name", str),
    "a redacted value": shown("note", str),
    "a hash by another key": shown("blob", lambda v: hashed(v, "another key of that length")),
    "a hash without a key": shown("name", lambda v: hashlib.sha256(v.encode()).hexdigest()),
    "the hash of a decimal's digits": shown("price", hashed),
    "more characters than a mask shows": shown("large", lambda v: f"****{str(v)[-5:]}"),
    "the characters of a short text": shown("tags", lambda v: [f"****{each[-4:]}" for each in v]),
    "a nested value that is not masked": shown("place", dict, "city"),
    "the hash of another nested value": shown("place", _city, "city"),
    "another mask": shown("name", last4),
    "a hash lost": altered("counts", lambda v, c: {**v, next(iter(v)): None}),
}
"""Faults of masked values."""


def left_out_and_landed(case: Case, chance: Random) -> list[Found]:
    left = [record for record in case.topic.landed if record.kind == "left out"]
    if not left:
        return []
    record = chance.choice(left)
    case.last.append(deepcopy(record.row))
    return [finding("unwanted", record.place)]


def left_out_without_reason(case: Case, chance: Random) -> list[Found]:
    """A record that is wanted by one part of the condition alone has no row."""
    row = pick(case.last, chance, lambda row: not row["flag"])
    if row is None:
        return []
    case.last.remove(row)
    return [finding("missing", place_of(row))]


FILTERED: Mapping[str, Plant] = {
    "a record that is left out became a row": left_out_and_landed,
    "a record that is wanted was left out": left_out_without_reason,
}
