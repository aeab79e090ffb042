"""Which wall many tables, or much traffic, come to first: runners played by events, no server is needed.

`PYTHONPATH=tests python tests/bench/walls.py [--page docs/scale.md]` plays Frazil's own schedule on a
simulated clock, with what landings were measured to cost, and prints a row for each fleet, or writes them
into the page. Takes ten minutes.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from kit.simulation.fleet import Fleet
from kit.simulation.outcome import Outcome, play

_REGION = re.compile(r"(<!-- walls -->\n).*?(<!-- end of walls -->)", re.DOTALL)
_TURNS = 4
"""Intervals that are played: the first half of them is a warm-up."""

_SMALL = Fleet(1000, every=60, records=10, size=1000, runners=1, cores=2, commits=100)
_MANY = replace(_SMALL, tables=100_000, every=600, runners=100)
_MUCH = Fleet(1000, every=60, records=10_000, size=1000, runners=20, cores=30, commits=100)

FLEETS = {
    "one runner": _SMALL,
    "with 4 cores": replace(_SMALL, cores=4),
    "each ten minutes": replace(_SMALL, every=600),
    "ten runners": replace(_SMALL, tables=10_000, runners=10),
    "and 300 commits/s": replace(_SMALL, tables=10_000, runners=10, commits=300),
    "with 4 cores each": replace(_SMALL, tables=10_000, runners=10, commits=300, cores=4),
    "100,000 tables": _MANY,
    "with 300 commits/s": replace(_MANY, commits=300),
    "each twenty minutes": replace(_MANY, every=1200),
    "10 GB/s": _MUCH,
    "with 10 cores each": replace(_MUCH, cores=10),
}
"""What is asked for, by what it differs in from a row above it."""

_HEAD = (
    "| what | tables | each | records/s | runners, cores each | commits/s taken | landings/s "
    "| record to commit, p50 and p95 | cores busy | catalog busy | first wall |"
)


def main() -> None:
    """Plays each fleet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", type=Path, help="where to write the rows")
    page = parser.parse_args().page
    rows = []
    for row in _rows():
        sys.stdout.write(row + "\n")
        sys.stdout.flush()
        rows.append(row)
    if page:
        text = page.read_text()
        page.write_text(_REGION.sub(lambda m: m[1] + "\n" + "\n".join(rows) + "\n\n" + m[2], text))


def _rows() -> Iterator[str]:
    yield _HEAD
    yield "|---" * (_HEAD.count("|") - 1) + "|"
    for name, fleet in FLEETS.items():
        yield _row(name, fleet, play(fleet, seconds=max(300.0, fleet.every * _TURNS)))


def _row(name: str, fleet: Fleet, seen: Outcome) -> str:
    cells = (
        name,
        f"{fleet.tables:,}",
        f"{fleet.every:,.0f} s",
        f"{fleet.tables * fleet.records:,.0f}",
        f"{fleet.runners}, {fleet.cores}",
        f"{fleet.commits:,.0f}",
        f"{seen.landings:,.0f}",
        f"{seen.p50:,.0f} s, {seen.p95:,.0f} s",
        f"{seen.cores:.0%}",
        f"{seen.catalog:.0%}",
        seen.wall,
    )
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
