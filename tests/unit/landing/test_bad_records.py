"""What is said of bad records before any of them is looked at."""

from __future__ import annotations

from typing import Any

import pytest

from frazil.errors import RepairError
from frazil.landing.bad_records import MOST, BadRecord, find_bad, first_bad, suspended
from frazil.landing.plan import Plan
from frazil.landing.write import Written
from frazil.spec.names import TableName

PLAN = Plan("trades", "id", {0: (0, 10 * MOST)}, capped=False)


def bad(partition: int, offset: int) -> BadRecord:
    return BadRecord(partition, offset, "truncated", "the payload ends early", {})


def test_so_many_bad_records_that_a_person_must_look_are_not_even_read() -> None:
    unread: Any = None

    with pytest.raises(RepairError, match="100001 of 1000000 records of topic trades can't be decoded"):
        find_bad(unread, unread, PLAN, Written("", 10 * MOST, MOST + 1, 0, 0, (), None))


def test_a_suspension_names_the_first_record_of_each_partition_and_the_ways_out() -> None:
    first = first_bad([bad(0, 3), bad(0, 5), bad(2, 1)])

    error = suspended(TableName("lake", "trades"), "trades", first)

    assert error.where == (
        "topic trades, partition 0, offset 3: the payload ends early; "
        "partition 2, offset 1: the payload ends early"
    )
    assert "`frazil resume lake.trades --past 0:3 --past 2:1`" in error.todo
    assert error.exit_code == 3
