"""`make bench`: how long many tables take in Snowflake where each statement takes 50 ms, as there.

`python tests/bench/statements.py [--tables 300]` makes tables in the running stack, and publishes them
through a wire that keeps each statement for 50 ms before the stand-in gets it: all of them at rest, then all
with newer rows. Prints a table on stderr and one line of JSON on stdout; exits with 1 where a target is
missed.
"""

from __future__ import annotations

import argparse
import sys
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

from figures import Line, show

from frazil.checks.drift import find_drift
from frazil.cli.selection import Selection
from frazil.cli.work.land import sync_each
from frazil.clients import Clients
from frazil.settings.profile import Settings
from frazil.spec.topic import TableSpec
from kit.readers.trades import Trades, make_trades
from kit.stack.standin import statement_of
from kit.wires.wire import Asked, Wire, wired

STATEMENT = 0.05
"""Seconds of each."""

SYNC, LOOK = 60.0, 15.0
"""Seconds that 300 tables may take."""


def main() -> int:
    """Measures; 0 where the targets are met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=300)
    tables = parser.parse_args().tables
    clients = Clients(Settings.load())
    access, name = clients.settings.snowflake, f"bench_{uuid.uuid4().hex[:8]}"
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda number: make_trades(clients, f"{name}_{number}"), range(tables)))
    with wired({"snowflake": f"http://{access.host}:{access.port}"}, _slow) as (wire, urls):
        port = urlsplit(urls["snowflake"]).port
        lines = _measured(made, wire, Clients(clients.settings.with_changes(snowflake={"port": port})))
    show(lines)
    return int(not all(line.met for line in lines))


def _measured(made: list[Trades], wire: Wire, clients: Clients) -> list[Line]:
    specs = [
        TableSpec(topic="any", namespace=t.names.table.namespace, table=t.names.table.table) for t in made
    ]
    selection, share = Selection(tuple(specs), clients), len(made) / 300

    def sync() -> None:
        if failed := sync_each(selection).failed:
            raise next(iter(failed.values()))

    first = _taken("first publication", sync, wire)
    rest = _taken("publication of tables at rest", sync, wire, SYNC * share)
    for each in made:
        each.append("ZWZZT")
        each.show()
    newer = _taken("publication of newer rows", sync, wire, SYNC * share)
    look = _taken("frazil drift", lambda: find_drift(specs, clients), wire, LOOK * share)
    return [*first, *rest, *newer, *look]


def _taken(what: str, do: Callable[[], object], wire: Wire, most: float | None = None) -> list[Line]:
    wire.asked.clear()
    begun = time.monotonic()
    do()
    seconds = time.monotonic() - begun
    statements = sum(bool(statement_of(asked.path, asked.body)) for asked in wire.asked)
    target = "" if most is None else f"< {most:.0f} s"
    return [
        Line(f"{what}: statements", statements, ""),
        Line(what, seconds, "s", target, most is None or seconds < most),
    ]


def _slow(asked: Asked) -> None:
    if "/query-request" in asked.path:
        time.sleep(STATEMENT)


if __name__ == "__main__":
    sys.exit(main())
