"""`make bench`: how old a record is when Snowflake's view has it, by `frazil run`.

`python tests/bench/to_snowflake.py [--rate 200] [--minutes 4]` produces records in the running stack beside a
`frazil run`: once with the default settings, and once with `freshness: 5s`. The view of the stand-in is
asked for its count again and again; a record's age is counted from its `$$timestamp` to the end of the answer
that first has it. The first answers do not count: Spark compiles. Prints a table on stderr and one line of
JSON on stdout; exits with 1 where a target is missed.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from continuous import (
    AVRO,
    NAMESPACE,
    Written,
    ages_of,
    drop,
    produce,
    runner,
    share,
    wait,
    write_pipeline,
)
from figures import Line, show
from snowflake.connector.errors import ProgrammingError
from topics import one_place, topic_of

from frazil.clients import Clients
from frazil.publishing.snowflake.tables import Snowflake
from frazil.settings.profile import Settings
from frazil.spec.topic import TableSpec

TARGETS = {"": 60.0, "5s": 15.0}
"""By `freshness`, none for the default, the seconds that 95 of 100 records may take."""

WARM_UP = 60.0  # seconds
PAUSE = 0.25  # seconds between two questions
PLACE = one_place(0)  # one partition, so that a count says which records are there


def main() -> int:
    """Measures both; 0 where the targets are met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=int, default=200, help="records a second")
    parser.add_argument("--minutes", type=float, default=4, help="of which the first does not count")
    arguments = parser.parse_args()
    lines = []
    for freshness, target in TARGETS.items():
        ages = _ages(Clients(Settings.load()), freshness, arguments.rate, arguments.minutes * 60)
        what = f"$$timestamp to the view, {f'freshness: {freshness}' if freshness else 'defaults'}"
        late = share(ages, 0.95)
        lines.append(Line(f"{what}, median", share(ages, 0.5), "s"))
        lines.append(Line(f"{what}, 95 of 100", late, "s", f"under {target:.0f}", late < target))
    show(lines)
    return int(any(not line.met for line in lines))


def _ages(clients: Clients, freshness: str, rate: int, seconds: float) -> list[tuple[float, int]]:
    """How old records were when the view had them, and how many were so old."""
    topic, written = f"seen_{uuid.uuid4().hex[:8]}", Written()
    with ExitStack() as opened:
        folder = Path(opened.enter_context(TemporaryDirectory()))
        opened.enter_context(topic_of(clients, topic, AVRO, 0, one_place))
        opened.callback(drop, clients, topic)
        write_pipeline(folder, [{"topic": topic, "publish": ["glue", "snowflake"]}], freshness)
        opened.enter_context(runner(folder))
        counts = opened.enter_context(_watched(clients, topic))
        produce(clients, topic, rate, seconds, written, [PLACE])
        wait(lambda: counts[-1][1] == written.ends[PLACE][-1])
    return ages_of(list(_seen(counts, int(rate * WARM_UP))), written)


def _seen(counts: list[tuple[float, int]], after: int) -> Iterator[dict[str, Any]]:
    """When the view first had records, but for the first ones: as `ages_of` takes it."""
    before = 0
    for at, count in counts:
        if count > before >= after:
            yield {"at": at, "spans": {str(PLACE): (before, count)}}
        before = max(before, count)


@contextmanager
def _watched(clients: Clients, topic: str) -> Iterator[list[tuple[float, int]]]:
    """When each answer came, and how many records the view had."""
    view = Snowflake(TableSpec(topic=topic, namespace=NAMESPACE), clients.settings).relations[1]
    counts, ended = [(time.time(), 0)], threading.Event()

    def watch() -> None:
        with clients.snowflake() as connection:
            while not ended.wait(PAUSE):
                with suppress(ProgrammingError):  # there is no view yet
                    (row,) = connection.cursor().execute(f"SELECT COUNT(*) FROM {view}").fetchall()
                    counts.append((time.time(), int(row[0])))

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        yield counts
    finally:
        ended.set()
        watching.join(60)


if __name__ == "__main__":
    sys.exit(main())
