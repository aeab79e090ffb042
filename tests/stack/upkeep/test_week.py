"""A week of small landings with upkeep on: the table stays small, right, and readable throughout."""

from __future__ import annotations

import uuid
from itertools import pairwise
from math import ceil, floor

import pytest

from frazil.checks.run import run_check
from frazil.clients import Clients
from frazil.connections import Connections
from frazil.landing.position.ledger import read_ledger
from frazil_local.home import Home
from kit.readers.opened import table_of
from kit.records.topics import Topic, topic_maker
from kit.runs.week import Outcome, Pace, live_through
from kit.storage.counters import by_clients, counters, own_bucket

pytestmark = pytest.mark.nightly

PACE = Pace(landings=80, per_file=8)
NEAR = 0.02


@pytest.fixture(scope="module")
def bucket(sharing: Connections) -> str:
    """The table's own."""
    return own_bucket(sharing.settings)


@pytest.fixture(scope="module")
def lived(sharing: Connections, bucket: str) -> tuple[Topic, Outcome]:
    """One week for all tests."""
    there = Clients(sharing.settings.with_changes(rest={"warehouse": bucket}))
    make = topic_maker(there, f"t{uuid.uuid4().hex[:12]}", "upkeep_tests")
    topic = make(**PACE.spec())
    return topic, live_through(topic, PACE, pause=0.5)


@pytest.fixture
def topic(lived: tuple[Topic, Outcome]) -> Topic:
    """The table behind it."""
    return lived[0]


@pytest.fixture
def week(lived: tuple[Topic, Outcome]) -> Outcome:
    """What became of it."""
    return lived[1]


def test_readers_never_see_a_part_of_a_landing_or_anything_twice(week: Outcome) -> None:
    assert not week.readings.failures
    for seen in (week.readings.pyiceberg, week.readings.spark):
        assert len(seen) > 10
        assert all(rows % PACE.records == 0 for rows, _ in seen)
        assert all(total == rows * (rows - 1) // 2 for rows, total in seen)
        assert all(before <= after for before, after in pairwise(seen))


def test_no_more_files_are_left_than_the_live_bytes_ask_for(topic: Topic, week: Outcome) -> None:
    target, small = int(topic.spec.write.target_file_size), topic.spec.upkeep.small_file

    # A busy machine compacts less often, and what is not small then stays as it is. Small ones of
    # which no two make one hold so many bytes that this bound is right for them too: see test_rounds.py.
    live, spare = week.settled.live_bytes, week.settled.data_bytes - week.settled.live_bytes
    most = floor(live / (small * target)) + 1
    assert ceil(live / target) <= week.settled.live_files
    assert week.settled.live_files <= most or _spare(topic, live, spare) < 3 * small * target
    assert len(week.of("compaction")) > 1


def _spare(topic: Topic, live: int, spare: int) -> float:
    """Bytes that may be written again beside old copies: three small files are joined only within them."""
    allowed: float = max(topic.spec.upkeep.copies_share * live, int(topic.spec.write.target_file_size))
    return allowed - spare


def test_rows_and_position_are_as_if_there_were_no_upkeep(topic: Topic, week: Outcome) -> None:
    ledger = read_ledger(table_of(topic).metadata)

    assert ledger
    assert ledger.position == {0: week.rows}
    assert table_of(topic).scan().count() == ledger.total_records == week.rows
    for name in ("row_count", "row_count_deep"):
        result = run_check(name, topic.spec, topic.connections)
        assert result.passed, result.text


def test_storage_ends_near_the_live_data(week: Outcome) -> None:
    assert week.settled.ratio < 1.5, week.settled


def test_what_the_week_cost_adds_up_to_what_the_storage_counted(
    week: Outcome, stack_home: Home, bucket: str
) -> None:
    storage, counted = counters(stack_home, bucket), week.counted

    sent, puts = by_clients(counted)
    assert sent == pytest.approx(storage.received, rel=NEAR)
    assert puts == pytest.approx(storage.puts + storage.deletes, rel=NEAR)


def test_snapshots_manifests_and_metadata_files_are_bounded(topic: Topic, week: Outcome) -> None:
    upkeep = topic.spec.upkeep

    assert week.of("expiry")
    assert week.settled.snapshots <= upkeep.min_snapshots + 3  # what tells the position of the oldest one
    assert week.busy.snapshots < 2 * PACE.landings  # a landing makes two
    assert week.settled.manifests <= upkeep.manifests
    assert week.settled.metadata_files <= 110
    assert week.settled.metadata_bytes < 10 * 2**20  # of a hundred versions, each with all kept snapshots
