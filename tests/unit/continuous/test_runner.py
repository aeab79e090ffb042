"""The runner's loop: what it starts, what it tells, and how it stops."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from frazil.checks.result import CheckResult
from frazil.continuous.bulletin import Bulletin
from frazil.continuous.follower import Follower
from frazil.continuous.runner import Runner
from frazil.errors import (
    ChecksFailedError,
    OvertakenError,
    PartDownError,
    PausedError,
    RepairError,
    SuspendedError,
)
from frazil.landing.checking.outcome import CheckOutcome
from frazil.landing.report import LandingReport
from frazil.spec.topic import TableSpec
from kit.runs.continuous import SETTINGS, FakeWork, Heard, name_of
from kit.runs.waiting import wait_for

SPECS = [TableSpec(topic=topic) for topic in ("a", "b")]
A, B = map(name_of, SPECS)


@pytest.fixture
def work() -> FakeWork:
    return FakeWork({A: 10, B: 10})


@contextmanager
def running(work: FakeWork, heard: Heard) -> Iterator[Runner]:
    """A runner in a thread; it is stopped at the end."""
    follower = Follower(SPECS, work, Bulletin([heard], SPECS, work.check), SETTINGS, heard)
    runner = Runner(SPECS, work, follower, heard, look_every=0.01)
    thread = threading.Thread(target=runner.run)
    thread.start()
    try:
        yield runner
    finally:
        runner.stop()
        thread.join()


def run_until(work: FakeWork, condition: Callable[[Heard], object]) -> Heard:
    heard = Heard()
    with running(work, heard):
        wait_for(lambda: condition(heard))
    return heard


def test_what_waits_is_landed_and_what_comes_later_too(work: FakeWork) -> None:
    heard = Heard()
    with running(work, heard):
        wait_for(lambda: not any(work.waiting.values()))
        work.waiting[A] = 5
        wait_for(lambda: heard.events(A) == ["landed"] * 2)

    assert heard.events(B) == ["landed"]
    assert [news.facts["records"] for news in heard.lines if news.table == A] == [10, 5]


def test_a_table_that_fails_is_told_once_stops_no_other_and_recovers(work: FakeWork) -> None:
    work.fails[A] = RepairError("A record can't be decoded.")
    heard = Heard()
    with running(work, heard) as runner:
        wait_for(lambda: heard.events(B) == ["landed"] and heard.events(A))
        runner._backoff._failed.clear()  # its rest is over
        wait_for(lambda: work.done.count(("land", A)) > 1)
        del work.fails[A]
        runner._backoff._failed.clear()
        wait_for(lambda: "recovered" in heard.events(A))

    assert heard.events(A) == ["failed", "landed", "recovered"]


def test_a_landing_that_another_runner_was_quicker_with_is_no_failure(work: FakeWork) -> None:
    work.fails[A] = OvertakenError("Another landing of a was quicker.")

    heard = run_until(work, lambda heard: heard.events(A).count("overtaken") > 2)

    assert set(heard.events(A)) == {"overtaken"}


def test_a_table_that_is_paused_while_it_is_landed_is_no_failure(work: FakeWork) -> None:
    work.fails[A] = PausedError("Table a is paused.")
    heard = Heard()
    with running(work, heard):
        wait_for(lambda: work.done.count(("land", A)) > 2)
        work.states[A] = "paused"
        wait_for(lambda: heard.events(A))
        heard_of = heard.events(A)
        del work.fails[A]

    assert heard_of == ["waits"]


def test_a_silent_kafka_is_told_once_and_so_is_that_it_answers_again(work: FakeWork) -> None:
    work.silent = [PartDownError("Kafka does not answer.")]
    heard = Heard()
    with running(work, heard):
        wait_for(lambda: work.looks > 5)
        work.silent = []
        wait_for(lambda: heard.events(A) == ["landed"])

    assert heard.events("") == ["failed", "recovered", "stopping"]


def test_a_table_that_waits_for_a_person_is_told_once_and_not_landed(work: FakeWork) -> None:
    work.states[A] = "suspended"

    heard = run_until(work, lambda _: work.looks > 5)

    (line,) = [news for news in heard.lines if news.table == A]
    assert line.event == "waits"
    assert line.text.startswith(f"{A}: suspended. Look at it. Next: ")
    assert f"`frazil resume {A}`" in line.text
    assert ("land", A) not in work.done


class Suspending(FakeWork):
    """Table a says that it is suspended before the landing that suspended it has ended."""

    def land(self, spec: TableSpec, records: int) -> LandingReport:
        if name_of(spec) != A:
            return super().land(spec, records)
        self.states[A] = "suspended"
        seen = self.looks
        wait_for(lambda: self.looks > seen + 2, 60)
        raise SuspendedError("Table a is suspended.", todo="`frazil resume a`.")


def test_a_bad_record_is_told_once_with_its_next_step_though_a_look_comes_first() -> None:
    work, heard = Suspending({A: 10, B: 10}), Heard()
    with running(work, heard):
        wait_for(lambda: heard.events(A), 60)
        seen = work.looks
        wait_for(lambda: work.looks > seen + 2, 60)

    (news,) = [line for line in heard.lines if line.table == A]
    assert news.event == "failed"
    assert "`frazil resume a`" in news.text


def test_what_was_published_before_a_table_stopped_is_shown_and_told_and_so_is_the_check_that_stops_it(
    work: FakeWork,
) -> None:
    outcome = CheckOutcome("paid", "amount > 0", "stop", failing=1, rows=3)
    work.fails[A] = ChecksFailedError("Rows of a fail check paid.", outcomes=[outcome])
    work.before[A] = LandingReport(A, "a", records=7, landings=1)
    heard = Heard()

    def once(name: str) -> None:
        if name == A and ("show", A) in work.done[1:]:
            work.fails.pop(A, None)  # only its landing fails

    work.meanwhile = once
    with running(work, heard):
        wait_for(lambda: {"landed", "failed"} <= set(heard.events(A)), 60)

    assert (A, 7) in [(table, getattr(done, "records", None)) for table, done in heard.outcomes]
    checks = [
        (table, done.check, done.failed) for table, done in heard.outcomes if isinstance(done, CheckResult)
    ]
    assert (A, "check_paid", True) in checks


def test_a_runner_that_is_stopped_ends_the_landing_in_hand_and_tells_it(work: FakeWork) -> None:
    begun, go_on = threading.Event(), threading.Event()
    heard = Heard()

    def wait(name: str) -> None:
        if name == A and ("land", A) in work.done:
            begun.set()
            assert go_on.wait(60)

    work.meanwhile = wait
    with running(work, heard) as runner:
        assert begun.wait(60)
        runner.stop()
        work.waiting[B] = 7
        go_on.set()

    assert heard.events(A) == ["landed"]
    assert (A, 10) in [(table, getattr(done, "records", None)) for table, done in heard.outcomes]
    assert work.waiting[B] in (0, 7)
    assert heard.pauses[-1] == 0.0
