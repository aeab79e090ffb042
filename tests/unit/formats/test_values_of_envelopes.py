"""What the independent decoders say of a change: the row within it, which samples are compared with."""

from __future__ import annotations

from typing import Any

import pytest

from frazil.formats.bare import Unknown
from kit.records.debezium_records import Debezium

ROW: dict[str, Any] = {"key": "a", "quantity": 5, "note": None, "at": None, "seen": None}


@pytest.fixture(params=["avro", "json", "embedded"])
def debezium(request: pytest.FixtureRequest) -> Debezium:
    return Debezium(request.param)


@pytest.mark.parametrize("op", ["c", "u", "r"])
def test_the_row_is_what_stands_after(debezium: Debezium, op: str) -> None:
    raw = debezium.change(op, ROW, {**ROW, "quantity": 4})

    assert debezium.decoder().values(debezium.key("a"), raw) == ROW


@pytest.mark.parametrize("tombstone", [False, True])
def test_of_a_row_that_ended_the_key_is_known(debezium: Debezium, tombstone: bool) -> None:
    raw = None if tombstone else debezium.change("d", None, ROW)

    values = debezium.decoder().values(debezium.key("a"), raw)

    assert values is not None
    assert values["key"] == "a"
    assert all(isinstance(values[name], Unknown) for name in ROW if name != "key")


def test_a_damaged_envelope_tells_nothing(debezium: Debezium) -> None:
    assert debezium.decoder().values(debezium.key("a"), debezium.change("c", ROW)[:-1]) is None
