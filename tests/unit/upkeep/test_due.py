"""Work is due when the spec's numbers are reached and there is something to gain, never otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from frazil.spec.topic import TableSpec
from frazil.upkeep.compaction.bins import Gain
from frazil.upkeep.compaction.kind import Prospect
from frazil.upkeep.facts import Facts, History
from frazil.upkeep.kind import Finding, Known
from frazil.upkeep.kinds import KINDS
from frazil.upkeep.work import MB, LastWork

NOW = 1_800_000_000.0
DAY, HOUR, MINUTE = 86400.0, 3600.0, 60.0
HEAD = 7
GAIN = Gain(files=10, bytes=10 * MB, into=1)
FACTS = Facts(head=HEAD, commits=20, files=10, bytes=10 * MB, delete_files=0, last={})
HISTORY = History(head=HEAD, snapshots=10, oldest=NOW - 5 * MINUTE)
FOUND = Prospect(files=10, small_files=10, waiting=10 * MB, gain=GAIN, manifests=10, small_manifests=10)
IDLE = replace(FOUND, gain=Gain(), waiting=0)
COMPACTION, EXPIRY, ROW_EXPIRY = KINDS["compaction"], KINDS["expiry"], KINDS["row_expiry"]


def last(**ago: float) -> Mapping[str, LastWork]:
    """When work of each kind was done, in seconds before now; at the present head."""
    return {kind: LastWork(NOW - seconds, "", HEAD) for kind, seconds in ago.items()}


def known(
    prospect: Prospect | None = FOUND,
    spec: Mapping[str, Any] | None = None,
    at: float = NOW,
    oldest: float | None = None,
    **facts: Any,
) -> Known:
    """A table into which compaction and row expiry looked at some moment, unless `prospect` is None."""
    prospects = {"compaction": prospect, "row_expiry": oldest} if prospect else {}
    findings = {kind: Finding(at, FACTS, what) for kind, what in prospects.items()}
    return Known(TableSpec(topic="t", **(spec or {})), "n.t", replace(FACTS, **facts), HISTORY, findings)


def with_history(table: Known, **history: Any) -> Known:
    return replace(table, history=replace(HISTORY, **history))


def with_expirable(table: Known, expirable: int, asked: float = NOW) -> Known:
    return replace(table, findings={**table.findings, "expiry": Finding(asked, FACTS, expirable)})


def due(table: Known) -> dict[str, str]:
    reasons = {name: kind.why_due(table, NOW) for name, kind in KINDS.items()}
    return {name: reason.text for name, reason in reasons.items() if reason}


def look_needed(table: Known, now: float) -> bool:
    """Whether the manifests must be read."""
    return COMPACTION.needs_look(table, now) or ROW_EXPIRY.needs_look(table, now)


def ask_expiry(table: Known, now: float) -> bool:
    return EXPIRY.needs_look(table, now)


def test_a_table_that_was_never_compacted_is_due_as_soon_as_there_is_a_gain() -> None:
    assert due(known()) == {"compaction": "10 files of 10.0 MiB can become 1: there was no compaction yet."}


def test_small_files_that_add_up_do_not_wait_for_the_time() -> None:
    full = replace(FOUND, waiting=128 * MB)
    waiting = last(compaction=10)

    assert due(known(full, last=waiting)) == {
        "compaction": "10 files of 10.0 MiB can become 1: "
        "small files add up to 128.0 MiB, 128.0 MiB are enough."
    }
    assert due(known(replace(full, waiting=128 * MB - 1), last=waiting)) == {}


@pytest.mark.parametrize(("seconds", "is_due"), [(899, False), (900, True)])
def test_a_quarter_of_an_hour_is_enough_if_there_is_a_gain(seconds: float, is_due: bool) -> None:
    assert ("compaction" in due(known(last=last(compaction=seconds)))) is is_due
    assert due(known(replace(FOUND, gain=Gain()), last=last(compaction=seconds))) == {}


def test_both_limits_are_the_specs() -> None:
    spec = {"upkeep": {"small_bytes": "1GiB", "compact_after": timedelta(hours=2)}}
    full = replace(FOUND, waiting=512 * MB)

    assert due(known(full, spec, last=last(compaction=HOUR))) == {}
    assert due(known(full, spec, last=last(compaction=2 * HOUR))).keys() == {"compaction"}


def test_too_many_manifests_are_a_reason_unless_they_are_many_because_the_table_is_large() -> None:
    prospect = replace(FOUND, gain=Gain(), manifests=51, small_manifests=51)

    assert due(known(prospect, last=last(compaction=10))) == {
        "compaction": "51 of 51 manifests are small, 50 in all are enough."
    }
    assert due(known(replace(prospect, manifests=200, small_manifests=9))) == {}


def test_deletes_over_the_budget_and_large_files_are_told() -> None:
    gain = Gain(files=4, bytes=900 * MB, into=6, large=1, over=2)

    assert due(known(replace(FOUND, gain=gain)))["compaction"].startswith(
        "4 files of 900.0 MiB can become 6, 1 of them are too large, "
        "2 over the budget of deletes, 30% of its rows or 10 delete files for each:"
    )


def test_files_spared_for_old_copies_are_told_and_looked_at_again_when_these_may_be_gone() -> None:
    sparing = replace(FOUND, thrifty=True, copies=200 * MB, most_copies=128 * MB)

    assert due(known(sparing))["compaction"].endswith(
        "there was no compaction yet; files compacted before stay until old copies expire: "
        "there are 200.0 MiB, 128.0 MiB are allowed."
    )
    assert not look_needed(known(sparing, last=last(compaction=DAY)), NOW)
    assert look_needed(known(sparing, at=NOW - HOUR, last=last(compaction=DAY)), NOW)
    assert not look_needed(known(IDLE, at=NOW - HOUR, last=last(compaction=DAY)), NOW)


def test_a_compaction_that_got_nowhere_is_not_repeated_while_nothing_changes() -> None:
    quiet = with_history(known(last=last(compaction=DAY)), quiet=True)

    assert due(quiet) == {}
    assert not look_needed(replace(quiet, findings={}), NOW)
    assert look_needed(replace(quiet, findings={}, facts=replace(quiet.facts, head=HEAD + 1)), NOW)


@pytest.mark.parametrize(
    "facts",
    [{"files": 0}, {"files": 1}, {"head": None}, {"last": last(compaction=HOUR / 10)}],
    ids=["empty", "one file", "no head", "compacted a moment ago"],
)
def test_cheap_facts_rule_out_a_look_at_the_manifests(facts: dict[str, Any]) -> None:
    assert not look_needed(known(None, **facts), NOW)


@pytest.mark.parametrize(
    "facts",
    [
        {},
        {"files": 1, "delete_files": 1},
        {"files": 1, "bytes": 900 * MB},
        {"files": None, "bytes": None, "delete_files": None},
        {"last": last(compaction=MINUTE), "bytes": 128 * MB},
        {"last": last(compaction=MINUTE), "files": 51},
    ],
    ids=["never compacted", "deletes", "too large", "no totals", "bytes", "manifests"],
)
def test_where_something_could_be_due_the_manifests_are_read(facts: dict[str, Any]) -> None:
    assert look_needed(known(None, **facts), NOW)


def test_what_was_found_at_this_head_is_not_looked_for_again() -> None:
    assert not look_needed(known(), NOW)


@pytest.mark.parametrize(
    ("since", "needed"),
    [
        ({"files": 11, "bytes": 11 * MB, "commits": 21}, False),
        ({"bytes": 138 * MB - 1}, False),
        ({"bytes": 138 * MB}, True),
        ({"commits": 61}, True),
        ({"files": 51}, True),
        ({"bytes": None}, True),
    ],
    ids=["little", "less", "bytes", "commits", "files", "unknown"],
)
def test_what_was_added_since_bounds_what_can_be_due(since: dict[str, Any], needed: bool) -> None:
    table = known(IDLE, last=last(compaction=MINUTE), head=HEAD + 1, **since)

    assert look_needed(table, NOW) is needed


def test_a_table_that_could_not_get_better_is_looked_into_again_only_after_a_while() -> None:
    table = known(IDLE, at=NOW - 14 * MINUTE, head=HEAD + 1)

    assert not look_needed(table, NOW)
    assert look_needed(table, NOW + MINUTE)


def test_a_gain_that_was_found_stays_one_whatever_is_added() -> None:
    table = known(head=HEAD + 1, files=11)

    assert due(table).keys() == {"compaction"}
    assert not look_needed(table, NOW)


def test_a_gain_that_was_found_before_the_last_compaction_is_none() -> None:
    table = known(at=NOW - HOUR, head=HEAD + 1, last=last(compaction=20 * MINUTE))

    assert due(table) == {}
    assert look_needed(table, NOW)


def test_expiry_is_due_hourly_while_snapshots_can_go() -> None:
    table = with_expirable(known(IDLE), 3)

    assert due(table) == {"expiry": "3 of 10 snapshots are old enough to go: there was no expiry yet."}
    assert due(with_expirable(table, 0)) == {}
    assert due(replace(table, facts=replace(FACTS, last=last(expiry=HOUR - 1)))) == {}


def test_what_was_expirable_before_the_last_expiry_is_no_reason_for_another() -> None:
    stale = with_expirable(known(IDLE, last=last(expiry=HOUR)), 3, NOW - 2 * HOUR)

    assert due(stale) == {}
    assert ask_expiry(stale, NOW)


def test_which_snapshots_can_go_is_asked_once_an_hour() -> None:
    table = known()

    assert ask_expiry(table, NOW)
    assert not ask_expiry(with_expirable(table, 0, NOW - HOUR / 2), NOW)
    assert ask_expiry(with_expirable(table, 0, NOW - HOUR), NOW)
    assert not ask_expiry(known(commits=1), NOW)
    assert not ask_expiry(known(last=last(expiry=MINUTE)), NOW)


def test_orphans_are_looked_for_daily_if_the_table_moved() -> None:
    moved = {"orphans": LastWork(NOW - DAY, "", HEAD - 1)}

    assert due(known(IDLE, last=moved)).keys() == {"orphans"}
    assert due(known(IDLE, last=last(orphans=2 * DAY))) == {}
    assert due(known(IDLE, last={"orphans": LastWork(NOW - DAY + 1, "", 1)})) == {}


def test_a_young_table_can_have_no_old_orphan() -> None:
    assert due(with_history(known(IDLE), oldest=NOW - 2 * DAY)) == {}
    assert due(replace(known(IDLE), history=None)) == {}
    assert due(with_history(known(IDLE), oldest=NOW - 3 * DAY)) == {
        "orphans": "commits came since the last look: there was no look yet."
    }


def test_rows_go_when_the_oldest_is_past_its_time_and_at_most_hourly() -> None:
    spec = {"keep_rows_for": timedelta(days=30)}
    old = NOW - 31 * DAY

    assert due(known(IDLE, spec, oldest=old)) == {
        "row_expiry": "the oldest row is of 2026-12-15T08:00:00+00:00, 2678400 s ago; "
        "rows are kept for 2592000 s."
    }
    assert due(known(IDLE, spec, oldest=NOW - 29 * DAY)) == {}
    assert due(known(IDLE, spec, oldest=None)) == {}
    assert due(known(IDLE, spec, oldest=old, last=last(row_expiry=HOUR - 1))) == {}
    assert due(known(IDLE, oldest=old)) == {}


def test_rows_of_an_idle_table_come_of_age_though_an_expiry_found_none_before() -> None:
    spec = {"keep_rows_for": timedelta(days=30)}
    oldest, expired = NOW - 31 * DAY, last(row_expiry=2 * DAY)

    assert look_needed(known(IDLE, spec, NOW - 3 * DAY, oldest, last=expired), NOW)
    assert due(known(IDLE, spec, NOW, oldest, last=expired)).keys() == {"row_expiry"}


def test_rows_that_an_earlier_expiry_took_are_no_reason_for_another() -> None:
    spec = {"keep_rows_for": timedelta(days=30)}
    works = last(row_expiry=HOUR, compaction=MINUTE)
    table = known(IDLE, spec, NOW - 2 * HOUR, NOW - 31 * DAY, last=works, head=HEAD + 1)

    assert due(table) == {}
    assert look_needed(table, NOW)


def test_distinct_values_are_counted_where_a_spec_says_how_often_and_the_head_has_moved() -> None:
    daily = {"upkeep": {"statistics_every": "1d"}}
    counted = {"statistics": LastWork(NOW - DAY, "", HEAD - 1)}

    assert "statistics" not in due(known(IDLE))
    assert "statistics" not in due(known(IDLE, daily, head=None))
    assert "statistics" not in due(known(IDLE, daily, last=last(statistics=2 * DAY)))
    assert "statistics" not in due(
        known(IDLE, daily, last={"statistics": LastWork(NOW - HOUR, "", HEAD - 1)})
    )
    assert due(known(IDLE, daily))["statistics"] == "the head has moved since: there was no count yet."
    assert "86400 s are enough" in due(known(IDLE, daily, last=counted))["statistics"]
