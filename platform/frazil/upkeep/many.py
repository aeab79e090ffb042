"""Upkeep of many tables; one that fails does not keep the others from being worked on."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace

from frazil.connections import Connections
from frazil.publishing.target import Shown
from frazil.upkeep.run import do_work
from frazil.upkeep.show import show
from frazil.upkeep.work import Kind, Work, WorkReport

__all__ = ["AT_ONCE", "Outcome", "work_on"]

AT_ONCE: Mapping[Kind, int] = {"compaction": 1, "expiry": 4, "orphans": 4, "row_expiry": 1}
"""What rewrites data goes table by table, to leave landings their share; the rest mostly waits."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one piece of work.

    Args:
        work: What was to be done.
        report: What was done; None where it failed.
        shown: Targets that were brought in step.
        error: What kept the work from being done, or, where there is a report, from being shown.
    """

    work: Work
    report: WorkReport | None = None
    shown: tuple[Shown, ...] = ()
    error: Exception | None = None


def work_on(
    works: Sequence[Work],
    connections: Connections,
    now: float,
    *,
    dry_run: bool = False,
    everything: bool = False,
) -> Iterator[Outcome]:
    """Does several pieces of work of one kind, and shows readers what each changed.

    Args:
        works: What is to be done, all of one kind.
        connections: Shared by all of them.
        now: Seconds since the epoch.
        dry_run: Tell only what would be done.
        everything: Compaction: rewrite all files.

    Yields:
        One outcome per piece, in the order in which they end.
    """
    started = time.perf_counter()

    def do(work: Work) -> Outcome:
        report = do_work(
            work.kind,
            work.spec,
            connections,
            now + time.perf_counter() - started,
            dry_run=dry_run,
            everything=everything,
            reason=work.reason,
        )
        outcome = Outcome(work, report)
        return outcome if dry_run else _shown(outcome, report, connections)

    pool = ThreadPoolExecutor(max((AT_ONCE[w.kind] for w in works), default=1), thread_name_prefix="upkeep")
    try:
        running = {pool.submit(do, work): work for work in works}
        for done in as_completed(running):
            error = done.exception()
            if error is not None and not isinstance(error, Exception):
                raise error
            yield Outcome(running[done], error=error) if error else done.result()
    finally:
        pool.shutdown(cancel_futures=True)


def _shown(outcome: Outcome, report: WorkReport, connections: Connections) -> Outcome:
    try:
        for shown in show(outcome.work.spec, connections, done=report.done):
            outcome = replace(outcome, shown=(*outcome.shown, shown))
    except Exception as e:  # noqa: BLE001 - the work itself is done, and must be told
        return replace(outcome, error=e)
    return outcome
