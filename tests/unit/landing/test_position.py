"""The ledger that every landing leaves in its snapshot."""

from __future__ import annotations

from dataclasses import replace

from frazil.landing.position.ledger import Ledger

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


def test_totals_follow_from_the_ledger_before() -> None:
    one = replace(LEDGER, skipped=2).following(None)
    two = LEDGER.following(one)
    redriven = replace(LEDGER, records=2, dead_letters=0, redriven=2, gaps={}).following(two)

    assert (one.total_records, one.total_bad, one.total_dead_letters, one.total_gaps) == (9, 3, 1, 1)
    assert (two.total_records, two.total_bad, two.total_dead_letters, two.total_gaps) == (18, 4, 2, 2)
    assert (redriven.total_records, redriven.total_bad) == (20, 2)
    assert (redriven.total_dead_letters, redriven.total_gaps) == (0, 2)


def test_what_expired_is_summed_and_the_latest_cutoff_is_kept() -> None:
    one = replace(LEDGER, records=0, expired=3, expired_before=200).following(LEDGER)
    two = replace(LEDGER, records=0, expired=2, expired_before=100).following(one)
    landed = LEDGER.following(two)

    assert (one.total_expired, one.expired_before) == (3, 200)
    assert (two.total_expired, two.expired_before) == (5, 200)
    assert (landed.expired, landed.total_expired, landed.expired_before) == (0, 5, 200)
    assert landed.known == landed.total_bad + landed.total_gaps + 5
    assert Ledger.parse(two.properties()) == two


def test_what_brings_no_records_of_the_topic_is_no_landing() -> None:
    assert LEDGER.is_landing
    assert not replace(LEDGER, redriven=1).is_landing
    assert not replace(LEDGER, expired=1).is_landing


def test_a_ledger_of_an_earlier_version_has_redriven_and_expired_nothing() -> None:
    properties = LEDGER.properties()
    younger = ("redriven", "total-dead-letters", "expired", "total-expired", "expired-before")
    for name in younger:
        del properties[f"frazil.{name}"]

    assert Ledger.parse(properties) == LEDGER


def test_a_ledger_covers_what_was_landed_and_nothing_else() -> None:
    assert [LEDGER.covers(0, 0), LEDGER.covers(0, 9), LEDGER.covers(10, 3)] == [True] * 3
    assert [LEDGER.covers(0, 10), LEDGER.covers(10, 2), LEDGER.covers(7, 0)] == [False] * 3
