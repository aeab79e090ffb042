"""Lands many tables at once, a few at a time; one that fails does not keep the others from landing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

from frazil.connections import Connections
from frazil.landing.land import land
from frazil.landing.report import LandingReport
from frazil.spec.topic import TableSpec

AT_ONCE = 4
"""A small landing mostly waits for the catalog: four keep two cores busy, more only queue up in Spark."""

Outcome = tuple[TableSpec, LandingReport | Exception]


def land_many(
    specs: Sequence[TableSpec], connections: Connections, *, run_id: str = "", at_once: int = AT_ONCE
) -> Iterator[Outcome]:
    """Lands tables in threads, and gives each one's report, or what kept it from landing.

    Yields:
        One outcome per table, in the order in which they end.
    """
    pool = ThreadPoolExecutor(at_once, thread_name_prefix="landing")
    try:
        running = {pool.submit(land, spec, connections.of(spec), run_id=run_id): spec for spec in specs}
        for done in as_completed(running):
            error = done.exception()
            if error is not None and not isinstance(error, Exception):
                raise error
            yield running[done], error or done.result()
    finally:
        pool.shutdown(cancel_futures=True)
