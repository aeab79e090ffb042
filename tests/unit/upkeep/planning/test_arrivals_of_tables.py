"""What a table's snapshots tell of arrivals, and what is taken where they tell nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import zip_longest

import pytest

from frazil.costs.units import Period
from frazil.landing.position.ledger import Ledger
from frazil.upkeep.planning.history import history_of
from kit.tables.histories import START, History


def asked_for(reads: int) -> dict[str, str]:
    return {"frazil.requests": json.dumps({"reads": reads, "puts": 2, "bytes": 9})}


def made(*landings: tuple[float, int, float | None], asked: Sequence[int] = ()) -> History:
    """Landings: how long after the one before, of how many records, the tasks' seconds; what they read."""
    history, at = History(), 0
    for (wait, records, seconds), reads in zip_longest(landings, asked):
        history.now += wait
        newest = int(history.now * 1000) - 1000
        ledger = Ledger("t", "id", {0: (at, at + records)}, {0: 0}, records=records, max_timestamp=newest)
        took = {} if seconds is None else {"frazil.task-seconds": f"{seconds}"}
        files = {"added-data-files": "2", "added-files-size": str(records * 20)}
        requests = {} if reads is None else asked_for(reads)
        history.commit(summary={**ledger.properties(), **files, **took, **requests})
        at += records
    return history


def test_records_of_a_landing_came_evenly_since_the_one_before() -> None:
    history = made((0, 1, None), (10, 25, None), (100, 7, None))

    arrivals = history_of(history.metadata, Period(START - 1, history.now)).arrivals

    first = int(START - 1)
    assert sum(a.records for a in arrivals) == 32
    assert [a.records for a in arrivals[:10]] == [2, 3, 2, 3, 2, 3, 2, 3, 2, 3]
    assert (arrivals[0].at, arrivals[9].at, arrivals[-1].at) == (first + 1, first + 10, first + 110)


def test_a_landing_that_notes_when_its_records_came_tells_of_bursts() -> None:
    history = made((0, 1, None))
    history.now += 100
    newest = int(history.now * 1000) - 1000
    times = ",".join(str(newest - ago * 1000) for ago in (2, 4, 80))  # of half, a 20th and a 100th
    ledger = Ledger("t", "id", {0: (1, 101)}, {0: 1}, records=100, max_timestamp=newest)
    history.commit(summary={**ledger.properties(), "frazil.record-times": times})

    arrivals = history_of(history.metadata, Period(START - 1, history.now)).arrivals

    ago = [(newest // 1000 - arrival.at, arrival.records) for arrival in arrivals]
    assert sum(records for _, records in ago) == 100
    assert (ago[0], ago[-2:]) == ((80, 1), [(1, 25), (0, 25)])
    assert sum(records for seconds, records in ago if seconds < 4) == 95


def test_cpu_is_that_of_the_tables_own_landings() -> None:
    history = made((0, 100, 0.3), (10, 300, 0.5), (10, 500, 0.7))

    arrivals = history_of(history.metadata, Period(START - 1, history.now))

    assert (arrivals.rates.landing_seconds, arrivals.rates.record_seconds) == (
        pytest.approx(0.2), pytest.approx(0.001),
    )  # fmt: skip
    assert (arrivals.rates.record_bytes, arrivals.rates.spread) == (20, 2)
    assert arrivals.assumed == ("CPU of compaction", "reads of landings")


def test_reads_are_those_of_the_tables_own_landings_and_compactions() -> None:
    history = made((0, 100, None), (10, 300, None), asked=(1, 6))
    compaction = {"frazil.upkeep": "compaction", "deleted-data-files": "8", **asked_for(24)}
    history.commit(summary=compaction)

    read = history_of(history.metadata, Period(START - 1, history.now))

    assert (read.rates.landing_reads, read.rates.file_reads) == (3.5, 3)
    assert read.assumed == ("CPU of landings", "CPU of compaction")


def test_what_the_snapshots_do_not_tell_is_named() -> None:
    history = made((0, 100, None), (10, 300, None))

    arrivals = history_of(history.metadata, Period(START - 1, history.now))

    assert arrivals.assumed == ("CPU of landings", "CPU of compaction", "reads of landings")
    assert (arrivals.rates.landing_reads, arrivals.rates.file_reads) == (1, 2)
    assert arrivals.rates.landing_seconds == 0.3
