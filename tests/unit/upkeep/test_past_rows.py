"""Which files hold rows that are past, and when one that holds young rows too is worth a rewrite."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.memory import InMemoryCatalog
from pyiceberg.schema import Schema
from pyiceberg.types import NestedField, TimestamptzType

from frazil.upkeep.row_expiry.plan import Cutoff, count_past_rows, find_past_rows, is_due

HOUR = 3600 * 1000
CUTOFF = 1000 * HOUR


@pytest.mark.parametrize(
    ("oldest", "newest", "due"),
    [
        (-1, 1, True),
        (-2, 3, False),
        (-23, 100, False),
        (-24, 100, True),
        (-24, 24 * 365, True),
    ],
)
def test_half_of_the_time_or_a_day_must_be_past(oldest: int, newest: int, due: bool) -> None:
    hours = (CUTOFF + oldest * HOUR, CUTOFF + newest * HOUR)

    assert is_due(*hours, CUTOFF) is due


def test_what_a_rewrite_leaves_is_not_due_again_at_once() -> None:
    for newest in range(1, 100):
        left = (CUTOFF, CUTOFF + newest * HOUR)
        assert not is_due(*left, CUTOFF)


def test_rows_without_a_timestamp_have_no_file_rewritten_while_others_are_young() -> None:
    assert not is_due(-1, CUTOFF, CUTOFF)
    assert is_due(-1, CUTOFF - 1, CUTOFF)


def test_a_file_goes_whole_only_where_each_of_its_rows_is_past(tmp_path: Path) -> None:
    whole, waiting, due, young = (-50, -40), (-2, 30), (-24, 10), (5, 40)
    catalog = InMemoryCatalog("unit", warehouse=tmp_path.as_uri())
    catalog.create_namespace("n")
    table = catalog.create_table(("n", "t"), Schema(NestedField(1, "at", TimestamptzType())))
    for hours in (whole, waiting, due, young):
        moments = [(CUTOFF + each * HOUR) * 1000 for each in hours]
        table.append(pa.table({"at": pa.array(moments, pa.timestamp("us", "UTC"))}))
    cutoff = Cutoff("at", CUTOFF)

    past = find_past_rows(table, cutoff, 2**30)

    assert (past.rows, len(past.whole), len(past.mixed), past.waiting) == (2, 1, 1, 1)
    assert count_past_rows(table, past, cutoff) == 1
