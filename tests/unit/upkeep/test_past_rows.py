"""When a file that holds both old and young rows is worth a rewrite."""

from __future__ import annotations

import pytest

from frazil.upkeep.row_expiry.plan import is_due

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
