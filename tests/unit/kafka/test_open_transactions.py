"""Since when a transaction is open, by the timestamp of its first record, whatever its producer set there."""

from __future__ import annotations

import pytest

from frazil.kafka.open_transactions import began

NOW = 1_800_000_000.5
BEGUN = 1_799_999_000


@pytest.mark.parametrize("unit", [10**3, 10**6, 10**9], ids=["milli", "micro", "nano"])
def test_a_time_of_the_past_counts_in_whichever_unit(unit: int) -> None:
    """Age 0 would let `freshness` pass for as long as the transaction hangs."""
    assert began(BEGUN * unit, NOW) == BEGUN


@pytest.mark.parametrize("timestamp", [-1, 0, 1, 2**63 - 1, int(NOW * 1000) + 60_000])
def test_where_it_is_no_time_of_the_past_the_first_look_counts(timestamp: int) -> None:
    assert began(timestamp, NOW) == NOW
