"""What follows landings: once a round, in order; and Dagster hears of it in batches."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from frazil.checks.result import CheckResult
from frazil.continuous.bulletin import EVERY, Bulletin
from frazil.continuous.follower import Follower
from frazil.derive.report import DeriveReport
from frazil.errors import ChecksFailedError, ConfigureError, NotYetError
from frazil.landing.checking.outcome import CheckOutcome
from frazil.landing.report import LandingReport
from frazil.reporting import Failure
from frazil.spec.derived import DerivedSpec
from frazil.spec.table import AnyTable
from frazil.spec.topic import TableSpec
from kit.runs.continuous import SETTINGS, Clock, FakeWork, Heard, name_of
from kit.runs.waiting import PATIENCE

TRADES = TableSpec(topic="trades")


@pytest.fixture
def specs(tmp_path: Path) -> list[AnyTable]:
    """A table of a topic, one made of it, and one made of that."""
    specs_made: list[AnyTable] = [TRADES]
    for name, source in (("sells", "trades"), ("large", "sells")):
        file = tmp_path / f"{name}.sql"
        file.write_text(f"SELECT quantity FROM {source}")
        specs_made.append(DerivedSpec(table=name, namespace="local", kind="rows", sql=file))
    return specs_made


class Following:
    """A follower whose rounds the test starts."""

    def __init__(self, specs: list[AnyTable], *, listens: bool = True) -> None:
        self.work, self.heard, self.clock = FakeWork(), Heard(), Clock()
        reporters = [self.heard] if listens else []
        bulletin = Bulletin(reporters, specs, self.work.check, self.clock)
        self.follower = Follower(specs, self.work, bulletin, SETTINGS, self.heard, self.clock)

    def landed(self, records: int = 10) -> None:
        report = LandingReport(name_of(TRADES), "trades", records=records, landings=1, seconds=0.5)
        self.follower.landed(name_of(TRADES), report)

    def round(self, after: float = 1.0) -> list[tuple[str, str]]:
        """What one round did to tables."""
        before = len(self.work.done)
        self.clock.now += after
        self.follower.round(Event())
        return [done for done in self.work.done[before:] if done[0] != "check"]


def test_a_landing_is_shown_and_what_is_made_of_it_follows_once_however_often_it_landed(
    specs: list[AnyTable],
) -> None:
    following = Following(specs)
    at_start, then = following.round(), following.round()
    following.landed()
    following.landed()

    after = following.round()

    all_of_it = [
        ("show", "local.trades"), ("derive", "local.sells"), ("show", "local.sells"),
        ("derive", "local.large"), ("show", "local.large"),
    ]  # fmt: skip
    assert (at_start, then, after) == (all_of_it, [], all_of_it)


def test_what_failed_is_told_with_the_next_batch_once_for_each_target(specs: list[AnyTable]) -> None:
    following, error = Following(specs), ConfigureError("Glue refuses it.", todo="Allow it.")
    following.work.fails[name_of(TRADES)] = error
    following.follower.failed(name_of(TRADES), NotYetError("Not yet.", todo="Wait."))
    for _ in range(3):
        following.follower.failed(name_of(TRADES), error)
        following.round(3600.0)

    failures = [done for name, done in following.heard.outcomes if isinstance(done, Failure)]
    kinds = {(failure.kind, failure.target[:1]) for failure in failures}
    assert kinds == {("land", ()), ("publish", ("glue",))}
    assert {failure.error for failure in failures} == {error}
    assert len(failures) == 2 * 3


def test_what_landed_is_shown_before_a_runner_ends_and_what_is_made_of_it_waits(
    specs: list[AnyTable],
) -> None:
    following, stopped = Following(specs), Event()
    following.round()
    following.work.done.clear()
    following.landed()
    stopped.set()

    following.follower.run(stopped)

    assert [done for done in following.work.done if done[0] != "check"] == [("show", "local.trades")]


def test_what_lands_while_dagster_is_told_is_shown_meanwhile(specs: list[AnyTable]) -> None:
    following, stopped, shown = Following(specs[:1]), Event(), Event()
    following.clock.now += EVERY
    show = following.work.show

    def shown_again(*of: Any) -> Any:
        if following.heard.outcomes:
            shown.set()
        return show(*of)

    def slow(news: Iterable[tuple[AnyTable, Any]]) -> None:
        following.heard.outcomes += [(name_of(spec), done) for spec, done in news]
        following.landed()
        assert shown.wait(PATIENCE)
        stopped.set()

    following.work.show = shown_again  # type: ignore[method-assign]
    following.heard.tell_all = slow  # type: ignore[method-assign]
    following.landed()

    following.follower.run(stopped)

    assert shown.is_set()
    assert following.heard.events("telling Dagster") == []


def test_a_target_that_fails_is_tried_again_though_nothing_more_lands(specs: list[AnyTable]) -> None:
    following = Following(specs[:1])
    following.work.fails["local.trades"] = ConfigureError("Glue refuses the identity.")
    first, resting = following.round(), following.round(0.1)
    following.work.fails.clear()

    again = following.round(10)

    assert (first, resting, again) == ([("show", "local.trades")], [], [("show", "local.trades")])
    assert following.heard.events("local.trades") == ["failed", "recovered"]


def test_a_table_that_nobody_made_yet_is_no_failure_and_waits_for_a_landing(specs: list[AnyTable]) -> None:
    following = Following(specs[:1])
    following.work.fails["local.trades"] = NotYetError("There is no table.")
    following.round()
    following.work.fails.clear()
    nothing = following.round(100)
    following.landed()

    assert (nothing, following.round()) == ([], [("show", "local.trades")])
    assert not following.heard.lines


def test_a_table_of_which_others_land_an_input_is_derived_now_and_then(specs: list[AnyTable]) -> None:
    following = Following(specs[1:2])

    rounds = [following.round(20) for _ in range(5)]

    derived = [("derive", "local.sells"), ("show", "local.sells")]
    assert rounds == [derived, [], [], derived, []]


def test_dagster_hears_one_event_a_table_each_minute_with_what_followed_and_the_checks(
    specs: list[AnyTable],
) -> None:
    following = Following(specs[:2])
    following.round()
    following.heard.outcomes.clear()
    for _ in range(10):
        following.landed()
        following.round(EVERY / 12)
    early = list(following.heard.outcomes)

    following.round(EVERY)

    landed = following.heard.outcomes[0][1]
    assert early == []
    assert isinstance(landed, LandingReport)
    assert (landed.records, landed.landings, landed.seconds) == (100, 10, 5.0)
    kinds = [(table, type(done).__name__) for table, done in following.heard.outcomes]
    assert kinds == [
        ("local.trades", "LandingReport"), ("local.trades", "list"), ("local.sells", "DeriveReport"),
        ("local.sells", "list"), ("local.trades", "CheckResult"), ("local.sells", "CheckResult"),
    ]  # fmt: skip
    derived = following.heard.outcomes[2][1]
    assert isinstance(derived, DeriveReport)
    assert derived.rows == 10


def stopping(expect: str) -> ChecksFailedError:
    outcome = CheckOutcome("paid", expect, "stop", failing=2, rows=5)
    return ChecksFailedError("Rows fail check paid.", outcomes=[outcome])


def test_dagster_hears_which_checks_stop_a_table_behind_what_it_published_before(
    specs: list[AnyTable],
) -> None:
    following = Following(specs[:2])
    following.work.fails["local.sells"] = stopping("quantity > 1")
    following.landed()
    following.follower.stopped("local.trades", stopping("amount > 0"))
    following.follower.stopped("local.trades", stopping("amount > 1"))

    following.round(EVERY)

    heard = [done for table, done in following.heard.outcomes if isinstance(done, CheckResult)]
    own = [(each.table, each.check, each.failed, each.numbers["failing"]) for each in heard if each.numbers]
    assert own == [("local.trades", "check_paid", True, 2), ("local.sells", "check_paid", True, 2)]
    assert "amount > 1" in heard[0].text
    assert following.heard.outcomes[0] == ("local.trades", following.heard.outcomes[0][1])
    assert isinstance(following.heard.outcomes[0][1], LandingReport)

    following.heard.outcomes.clear()
    following.follower.stopped("local.trades", stopping("amount > 0"))
    following.landed()
    following.round(EVERY)

    assert not [d for t, d in following.heard.outcomes if t == "local.trades" and getattr(d, "numbers", None)]


def test_nothing_is_checked_where_nobody_listens(specs: list[AnyTable]) -> None:
    following = Following(specs, listens=False)
    following.landed()
    following.round()

    following.round(10 * EVERY)

    assert ("check", "local.trades") not in following.work.done


def test_listeners_that_fail_stop_nothing_and_are_told_of(specs: list[AnyTable]) -> None:
    following = Following(specs[:1])

    def refuse(*_: object) -> None:
        raise OSError("disk full")

    following.heard.tell_all = refuse  # type: ignore[method-assign]
    following.landed()
    following.round(2 * EVERY)
    following.landed()

    assert following.round()[0] == ("show", "local.trades")
    assert following.heard.events("telling Dagster") == ["failed"]


def test_listeners_that_fail_are_not_asked_again_before_a_minute_has_passed(specs: list[AnyTable]) -> None:
    following, asked = Following(specs[:1]), []

    def refuse(*_: object) -> None:
        asked.append(following.clock.now)
        raise OSError("disk full")

    following.heard.hold = refuse  # type: ignore[method-assign]
    for _ in range(100):
        following.round(EVERY / 50)

    assert len(asked) == 2
