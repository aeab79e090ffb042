"""`make bench`: how long many tables take in Snowflake where each statement takes 50 ms, as there.

`python tests/bench/statements.py [--tables 300]` makes tables in the running stack, and publishes them
through a wire that keeps each statement for 50 ms before the stand-in gets it: all of them at rest, then all
with newer rows. What the stand-in itself takes for a REFRESH is in the time, so the targets are statements.
Prints a table on stderr and one line of JSON on stdout; exits with 1 where a target is missed.
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

from frazil.checks.targets.finding import find_drift
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

REST, NEWER = 0.05, 2.1
"""Statements that a table may take, at rest and with newer rows."""

SPARE = 10
"""Statements besides."""


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
    selection = Selection(tuple(specs), clients)
    rest, newer = (SPARE + round(each * len(made)) for each in (REST, NEWER))

    def sync() -> None:
        if failed := sync_each(selection).failed:
            raise next(iter(failed.values()))

    first = _taken("first publication", sync, wire)
    resting = _taken("publication of tables at rest", sync, wire, rest)
    for each in made:
        each.append("ZWZZT")
        each.show()
    moved = _taken("publication of newer rows", sync, wire, newer)
    look = _taken("frazil drift", lambda: find_drift(specs, clients), wire, rest)
    return [*first, *resting, *moved, *look]


def _taken(what: str, do: Callable[[], object], wire: Wire, most: int | None = None) -> list[Line]:
    wire.asked.clear()
    begun = time.monotonic()
    do()
    seconds = time.monotonic() - begun
    statements = sum(bool(statement_of(asked.path, asked.body)) for asked in wire.asked)
    target = "" if most is None else f"< {most}"
    return [
        Line(f"{what}: statements", statements, "", target, most is None or statements < most),
        Line(f"{what}: their share of 50 ms each", statements * STATEMENT, "s"),
        Line(what, seconds, "s"),
    ]


def _slow(asked: Asked) -> None:
    if "/query-request" in asked.path:
        time.sleep(STATEMENT)


if __name__ == "__main__":
    sys.exit(main())
