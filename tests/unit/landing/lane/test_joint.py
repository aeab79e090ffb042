"""Which landings share a Spark job, and what becomes of the others where it fails. No Spark, no Kafka."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from threading import Event, Lock
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from frazil.landing.lane import joint
from frazil.landing.lane.joint import MOST, JointJobs, alone
from frazil.landing.lane.parts import SMALL_BYTES, SMALL_RECORDS, Part, RunPart
from frazil.landing.source import Logs, Reading
from kit.runs.waiting import PATIENCE, wait_for

SESSION: Any = SimpleNamespace()
AT_ONCE = 2


class Spark:
    """Runs jobs, and notes which topics they have; fails those that hold a bad one."""

    def __init__(self) -> None:
        self.jobs: list[list[str]] = []
        self.logs: list[Logs] = []
        self.bad: set[str] = set()
        self.may_end = Event()
        self.may_end.set()

    def run_together(self, parts: Sequence[Part], logs: Logs) -> list[pa.Table]:
        topics = [part.reading.topic for part in parts]
        self.jobs.append(topics)
        self.logs.append(logs)
        assert self.may_end.wait(PATIENCE)
        for topic in topics:
            if topic in self.bad:
                raise ValueError(f"{topic} is bad")
        return [pa.table({"topic": [topic]}) for topic in topics]


@pytest.fixture
def spark(monkeypatch: pytest.MonkeyPatch) -> Spark:
    fake = Spark()
    monkeypatch.setattr(joint, "run_together", fake.run_together)
    monkeypatch.setattr(joint, "PATIENCE", PATIENCE)  # none goes because others are slow
    return fake


def part(topic: str, records: int = 10, size: float = 100.0, session: Any = SESSION, epoch: int = 1) -> Part:
    """An epoch below 0 is none."""
    settings: Any = None
    logs = {(topic, 0): ("id", epoch)} if epoch >= 0 else {}
    return Part(Reading(session, settings, topic, {0: (5, 5 + records)}, {}, logs), SimpleNamespace(), size)  # type: ignore[arg-type]


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(3 * MOST) as threads:
        yield threads


def landings(
    jobs: JointJobs, pool: ThreadPoolExecutor, *parts: Part, planned: Callable[[str], object] = bool
) -> list[Future[list[str]]]:
    """Landings at the same time; each tells which topics its rows are of."""

    def land(landing: AbstractContextManager[RunPart], part: Part) -> list[str]:
        with landing as run:
            planned(part.reading.topic)
            topics: list[str] = run(part)["topic"].to_pylist()
            return topics

    tickets = [jobs.landing() for _ in parts]
    return [pool.submit(land, *each) for each in zip(tickets, parts, strict=True)]


def results(begun: Sequence[Future[list[str]]]) -> list[list[str]]:
    return [each.result(PATIENCE) for each in begun]


def test_small_landings_share_a_job_and_each_gets_its_own_rows(
    spark: Spark, pool: ThreadPoolExecutor
) -> None:
    topics = [f"t{n}" for n in range(9)]

    topics_landed = results(landings(JointJobs(AT_ONCE), pool, *map(part, topics)))

    assert topics_landed == [[topic] for topic in topics]
    assert [sorted(job) for job in spark.jobs] == [topics]


def test_a_landing_by_itself_waits_for_nobody(spark: Spark, pool: ThreadPoolExecutor) -> None:
    jobs = JointJobs(AT_ONCE)
    for topic in ("a", "b"):
        assert results(landings(jobs, pool, part(topic))) == [[topic]]
    assert spark.jobs == [["a"], ["b"]]


def test_jobs_of_ever_other_topics_find_the_consumers_of_the_jobs_before(
    spark: Spark, pool: ThreadPoolExecutor
) -> None:
    jobs = JointJobs(AT_ONCE)

    for each in (part("a"), part("b"), part("a"), part("untold", epoch=-1), part("a", epoch=2)):
        results(landings(jobs, pool, each))

    first, both, again, untold, led_anew = spark.logs
    assert first == {("a", 0): ("id", 1)}
    assert both == again == first | {("b", 0): ("id", 1)}
    assert untold == {}
    assert led_anew == both | {("a", 0): ("id", 2)}


def test_large_landings_go_alone_and_keep_nobody_waiting(spark: Spark, pool: ThreadPoolExecutor) -> None:
    large = part("many", SMALL_RECORDS + 1), part("heavy", size=SMALL_BYTES + 1.0)

    results(landings(JointJobs(AT_ONCE), pool, *large, part("a"), part("b")))

    assert sorted(map(sorted, spark.jobs)) == [["a", "b"], ["heavy"], ["many"]]


@pytest.mark.parametrize(
    "others",
    [
        [part("a", 3)],
        [part("b", session=SimpleNamespace())],
        [part("b", size=9e6), *(part(f"c{n}", size=20e6) for n in range(12))],
    ],
    ids=["two tables of one topic", "another Spark session", "too many bytes"],
)
def test_what_does_not_fit_into_one_job_goes_in_two(
    spark: Spark, pool: ThreadPoolExecutor, others: list[Part]
) -> None:
    parts = [part("a", size=20e6), *others]

    topics_landed = results(landings(JointJobs(AT_ONCE), pool, *parts))

    assert topics_landed == [[each.reading.topic] for each in parts]
    assert len(spark.jobs) == 2


def test_a_job_that_is_full_waits_for_nobody(spark: Spark, pool: ThreadPoolExecutor) -> None:
    parts = [part(f"t{n}") for n in range(MOST + 1)]
    slow = Event()

    begun = landings(
        JointJobs(AT_ONCE), pool, *parts, planned=lambda topic: topic == "t64" and slow.wait(PATIENCE)
    )
    results(begun[:MOST])
    slow.set()
    results(begun)

    assert list(map(len, spark.jobs)) == [MOST, 1]


def test_one_that_has_waited_for_a_while_goes_without_the_slow_ones(
    spark: Spark, pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joint, "PATIENCE", 0.01)
    slow = Event()

    begun = landings(
        JointJobs(AT_ONCE),
        pool,
        part("slow"),
        part("a"),
        planned=lambda t: t == "slow" and slow.wait(PATIENCE),
    )

    assert begun[1].result(PATIENCE) == ["a"]
    slow.set()
    assert results(begun) == [["slow"], ["a"]]


def test_while_a_job_runs_others_gather_and_go_together(spark: Spark, pool: ThreadPoolExecutor) -> None:
    jobs = JointJobs(AT_ONCE)
    spark.may_end.clear()
    first = landings(jobs, pool, part("first"))
    wait_for(lambda: spark.jobs)

    later = [each for topic in "abc" for each in landings(jobs, pool, part(topic))]
    wait_for(lambda: len(jobs._waiting) == 3)
    spark.may_end.set()
    results([*first, *later])

    assert [sorted(job) for job in spark.jobs] == [["first"], ["a", "b", "c"]]


def test_where_a_job_fails_each_goes_alone_and_only_the_bad_one_tells_an_error(
    spark: Spark, pool: ThreadPoolExecutor
) -> None:
    jobs = JointJobs(AT_ONCE)
    spark.bad = {"b"}

    good, bad, other = landings(jobs, pool, *map(part, "abc"))

    assert results([good, other]) == [["a"], ["c"]]
    with pytest.raises(ValueError, match="b is bad"):
        bad.result(PATIENCE)
    assert sorted(map(sorted, spark.jobs[1:])) == [["a"], ["b"], ["c"]]


def test_one_that_failed_by_itself_goes_alone_until_it_works(spark: Spark, pool: ThreadPoolExecutor) -> None:
    jobs = JointJobs(AT_ONCE)
    spark.bad = {"b"}

    def land_all() -> list[list[str]]:
        spark.jobs.clear()
        wait(landings(jobs, pool, *map(part, "abc")))
        return sorted(map(sorted, spark.jobs))

    assert len(land_all()) == 4
    assert land_all() == [["a", "c"], ["b"]]
    spark.bad = set()
    assert land_all() == [["a", "c"], ["b"]]
    assert land_all() == [["a", "b", "c"]]


def test_so_many_work_at_a_time_and_those_that_wait_for_a_job_do_not_count(
    spark: Spark, pool: ThreadPoolExecutor
) -> None:
    at_work, most = 0, 0
    lock = Lock()

    def plan(_: str) -> None:
        nonlocal at_work, most
        with lock:
            at_work += 1
            most = max(most, at_work)
        with lock:
            at_work -= 1

    results(landings(JointJobs(AT_ONCE), pool, *(part(f"t{n}") for n in range(20)), planned=plan))

    assert most <= AT_ONCE
    assert len(spark.jobs) == 1


def test_after_a_stop_those_in_hand_end_and_no_other_begins(spark: Spark, pool: ThreadPoolExecutor) -> None:
    jobs, go_on = JointJobs(1), Event()
    planning: list[str] = []

    def plan(topic: str) -> None:
        planning.append(topic)
        assert go_on.wait(PATIENCE)

    begun = landings(jobs, pool, part("a"), part("b"), planned=plan)
    wait_for(lambda: planning)
    jobs.stop()
    go_on.set()

    assert {type(each.exception(PATIENCE)) for each in begun} == {type(None), CancelledError}


def test_a_landing_without_company_runs_a_job_of_its_own(spark: Spark) -> None:
    assert alone(part("a"))["topic"].to_pylist() == ["a"]
    assert spark.jobs == [["a"]]
