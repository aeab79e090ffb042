"""A tally tells a loss and a duplicate from the records that were planned."""

from __future__ import annotations

import numpy as np
import pytest

from frazil.kafka.tally import Tally

PLANNED = Tally.of_span(0, 100, 200)


def tally(offsets: list[int], partition: int = 0) -> Tally:
    return Tally.of(partition, np.array(offsets, np.int64))


def test_the_order_and_the_parts_in_which_records_are_read_do_not_matter() -> None:
    backwards = list(range(199, 99, -1))

    assert tally(backwards) == PLANNED
    assert sum((tally(backwards[at : at + 7]) for at in range(0, 100, 7)), Tally()) == PLANNED


def test_a_long_span_is_reckoned_in_pieces() -> None:
    length = (1 << 20) + 3

    assert Tally.of_span(2, 5, 5 + length) == Tally.of(2, np.arange(5, 5 + length))


@pytest.mark.parametrize(
    "read",
    [
        pytest.param([*range(100, 199), 198], id="one lost, one twice"),
        pytest.param([*range(100, 197), 198, 198, 198], id="two lost, one three times"),
        pytest.param([*range(99, 199)], id="one before the span"),
        pytest.param([*range(100, 199)], id="one lost"),
        pytest.param([*range(100, 200), 150, 150], id="one three times"),
        pytest.param([100, 102, 102, 102, *range(104, 200)], id="with the same least, greatest and sum"),
    ],
)
def test_other_records_than_planned_give_another_tally(read: list[int]) -> None:
    assert tally(read) != PLANNED


def test_a_record_of_another_partition_is_another_record() -> None:
    assert tally([*range(100, 199)]) + tally([199], partition=1) != PLANNED


def test_no_record_has_the_empty_tally() -> None:
    assert Tally.of_span(3, 7, 7) == tally([]) == Tally.of_spark(0, None) == Tally()


def test_spark_gives_the_mark_with_a_sign() -> None:
    signed = PLANNED.mark - (1 << 64 if PLANNED.mark >> 63 else 0)

    assert Tally.of_spark(100, signed) == PLANNED
