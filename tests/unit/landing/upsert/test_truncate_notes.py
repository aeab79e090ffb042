"""What a history remembers of truncates, and which of them hold at its position."""

from __future__ import annotations

import pytest

from frazil.errors import PositionLostError
from frazil.landing.position.ledger import Ledger
from frazil.landing.upsert.truncates.notes import PROPERTY, known_truncates, with_truncates
from frazil.landing.upsert.truncates.truncate import Truncate

FIRST, SECOND = Truncate(0, 4, 1000, None, None), Truncate(1, 9, 2000, 1500, None)


def at(topic_id: str = "a", **more: object) -> Ledger:
    return Ledger("t", topic_id, {0: (3, 5), 1: (0, 10)}, {0: 2, 1: 0}, **more)  # type: ignore[arg-type]


def test_each_truncate_is_remembered_once_and_without_its_lsn() -> None:
    properties = with_truncates({}, "a", [FIRST])

    again = with_truncates(properties, "a", [FIRST, Truncate(1, 9, 2000, 1500, None)])

    assert again == {PROPERTY: '[["a",0,4,1000,null],["a",1,9,2000,1500]]'}
    assert known_truncates(again, at()) == (FIRST, SECOND)
    assert with_truncates({}, "a", [Truncate(0, 4, 1000, None, 77)]) == properties


def test_one_behind_the_position_does_not_hold_until_it_is_landed_again() -> None:
    properties = with_truncates({}, "a", [FIRST, SECOND])
    back = Ledger("t", "a", {0: (0, 5), 1: (0, 9)}, {0: 0, 1: 0})

    assert known_truncates(properties, back) == (FIRST,)
    assert known_truncates(properties, None) == ()


def test_one_of_a_topic_that_was_made_again_holds_where_the_table_has_its_rows() -> None:
    properties = with_truncates({}, "old", [SECOND])

    assert known_truncates(properties, at("new")) == ()
    assert known_truncates(properties, at("new", earlier_logs=(("old", {1: (0, 10)}),))) == (SECOND,)


@pytest.mark.parametrize("text", ["nonsense", '[["a",0,1]]', '[["a",0,1.5,5,null]]', "[7]"])
def test_what_others_wrote_there_is_an_error(text: str) -> None:
    with pytest.raises(PositionLostError, match="can't be read"):
        known_truncates({PROPERTY: text}, at())
