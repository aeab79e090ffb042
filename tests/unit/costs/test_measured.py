"""What a table's snapshots say that work took, and what of it is told as not measured."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from frazil.costs.measured import gaps_of, lines_of
from frazil.costs.units import Line, Period, Unit, grouped, total_of
from frazil.landing.position.ledger import Ledger
from frazil.spec.upkeep import Upkeep
from kit.tables.histories import HOUR, START, History


def landed(size: int, total: int, records: int = 100) -> Mapping[str, str]:
    """What the snapshot of a landing says that added one file."""
    ledger = Ledger("t", "id", spans={0: (0, records)}, start={0: 0}, records=records, bytes=records * 10)
    files = {
        "frazil.task-seconds": "0.250",
        "added-data-files": "1",
        "added-files-size": str(size),
        "total-files-size": str(total),
    }
    return {**ledger.properties(), **files}


def history() -> History:
    """Two landings an hour apart, and a compaction another hour later."""
    made = History()
    made.commit(summary=landed(1000, 1000))
    made.hours(1)
    made.commit(summary=landed(500, 1500))
    made.hours(1)
    rewritten = {"added-data-files": "1", "added-files-size": "1200", "removed-files-size": "1500"}
    made.commit(summary={"frazil.upkeep": "compaction", **rewritten, "total-files-size": "1200"})
    made.hours(2)
    return made


def units_by_work(made: History, since: float = START - 1) -> dict[str, Mapping[Unit, float]]:
    lines = lines_of("t", made.metadata, Period(since, made.now), in_glue=True)
    return {work: total_of(group) for work, group in grouped(lines, "work").items()}


def test_each_kind_of_work_has_its_own_counts() -> None:
    units = units_by_work(history())

    assert units["landing"] == {
        "records": 200, "bytes_in": 2000, "bytes_written": 1500, "bytes_replaced": 0, "files": 2,
        "commits": 2, "writes": 8, "glue_calls": 2, "task_seconds": 0.5,
    }  # fmt: skip
    assert units["compaction"] == {
        "bytes_written": 1200, "bytes_replaced": 1500, "files": 1, "commits": 1, "writes": 4,
        "glue_calls": 1,
    }  # fmt: skip


def test_what_a_commit_says_of_its_requests_takes_the_place_of_the_least_that_it_needs() -> None:
    made = History()
    noted = {"frazil.requests": '{"reads": 13, "puts": 5, "bytes": 9000}'}
    made.commit(summary={**landed(1000, 1000), **noted})

    landing = units_by_work(made)["landing"]

    assert (landing["reads"], landing["writes"], landing["metadata_bytes"]) == (13, 1 + 5 + 1, 9000)


def test_storage_is_what_each_snapshot_held_for_as_long_as_it_did() -> None:
    stored = units_by_work(history())["storage"]

    live = 1000 * HOUR + 1500 * HOUR + 1200 * 2 * HOUR
    replaced = 1500 * 2 * HOUR
    assert stored == {"live_bytes": 1200, "history_bytes": 1500, "byte_seconds": live + replaced}


def test_only_the_time_that_is_asked_for_counts() -> None:
    units = units_by_work(history(), START + 1.5 * HOUR)

    assert units.keys() == {"compaction", "storage"}
    assert units["storage"]["byte_seconds"] == 1500 * 0.5 * HOUR + 1200 * 2 * HOUR + 1500 * 2 * HOUR


def test_commits_whose_snapshots_expired_are_told_and_not_guessed() -> None:
    made = history()
    period = Period(START - 1, made.now)
    assert list(gaps_of("t", made.metadata, period)) == []

    gone = made.expire(Upkeep(min_snapshots=1, keep_snapshots_for="1h"))  # type: ignore[arg-type]

    assert gone == (1,), "the one before the compaction holds the position"
    assert units_by_work(made)["landing"]["commits"] == 1
    (gap,) = gaps_of("t", made.metadata, period)
    assert gap.startswith("1 of the commits to t, from before ")


@pytest.mark.parametrize(
    ("summary", "work"),
    [
        ({}, "creation"),
        ({"frazil.upkeep": "row_expiry"}, "row_expiry"),
        (Ledger("t", "id", {0: (5, 5)}, {0: 0}, redriven=3).properties(), "repair"),
        ({"frazil.inputs": "{}", "frazil.query": "q", "frazil.derivation": "d"}, "derivation"),
    ],
)
def test_a_commit_is_of_the_work_that_its_summary_names(summary: Mapping[str, str], work: str) -> None:
    made = History()
    made.commit(summary=summary)

    assert [name for name in units_by_work(made) if name != "storage"] == [work]


def test_a_commit_that_names_no_work_is_another_engines() -> None:
    made = history()
    made.commit(summary={"added-data-files": "1"})

    assert "other engines" in units_by_work(made)


def test_a_table_of_two_tags_is_with_each_of_them_and_others_are_apart() -> None:
    lines = [
        Line("a", "iceberg", "landing", {"writes": 4}, ("domain=sales", "tier=gold")),
        Line("b", "iceberg", "landing", {"writes": 3}, ("domain=sales",)),
        Line("c", "iceberg", "landing", {"writes": 2}),
    ]

    writes = {tag: total_of(group)["writes"] for tag, group in grouped(lines, "tag").items()}

    assert writes == {"domain=sales": 7, "tier=gold": 4, "(no tag)": 2}


def test_a_table_that_nobody_wrote_to_has_stored_nothing() -> None:
    stored = units_by_work(History())["storage"]

    assert stored == {"live_bytes": 0, "history_bytes": 0, "byte_seconds": 0}
