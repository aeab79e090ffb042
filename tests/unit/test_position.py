"""The ledger that every landing leaves in its snapshot."""

from __future__ import annotations

from frazil.landing.position import Ledger

LEDGER = Ledger(
    topic="trades",
    topic_id="abc",
    spans={0: (0, 10), 1: (5, 5), 10: (3, 4)},
    start={0: 0, 1: 5, 10: 3},
    records=9,
    dead_letters=1,
    skipped=0,
    gaps={0: 1},
    bytes=330,
    total_records=9,
    total_bad=1,
    total_gaps=1,
    schema_ids=(3, 7),
    max_timestamp=1_700_000_000_123,
    landing="landing_1_a",
    run_id="run",
    version="0.1.0",
)


def test_what_a_ledger_writes_it_reads_back() -> None:
    assert Ledger.parse(LEDGER.properties()) == LEDGER


def test_the_position_names_idle_partitions_too() -> None:
    assert LEDGER.position == {0: 10, 1: 5, 10: 4}


def test_spans_are_json_by_partition_in_order() -> None:
    assert LEDGER.properties()["frazil.spans"] == '{"0":[0,10],"1":[5,5],"10":[3,4]}'
