"""`make week`: a week of upkeep in 2,016 landings, as tests/stack/upkeep/test_week.py lives it in short.

It takes an hour; a landing each minute of a week, `--landings 10080`, takes hours. Prints what it left
behind as one line of JSON; exits with 1 where readers saw a wrong number, where storage settles above one
and a half times the live data, or where costs are not what the storage counted.
"""

from __future__ import annotations

import argparse
import json
import sys
import uuid
from dataclasses import asdict
from math import isclose

from stamina.instrumentation import set_on_retry_hooks

from frazil.clients import Clients
from frazil.costs.units import Units
from frazil.settings.profile import Settings
from frazil.settings.profile_file import frazil_home
from frazil_local.home import Home
from kit.records.topics import topic_maker
from kit.runs.week import KINDS, Outcome, Pace, live_through
from kit.storage.counters import Counters, by_clients, counters, own_bucket

MOST_STORAGE = 1.5
NEAR = 0.02


def main() -> int:
    """Lives the week; 0 where it ended well."""
    set_on_retry_hooks([])  # by default each retry is a line on stdout
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--landings", type=int, default=2016)
    parser.add_argument("--minute", type=float, default=1.0, help="seconds that stand for a minute")
    parser.add_argument("--records", type=int, default=100, help="of a landing")
    parser.add_argument("--per-file", type=int, default=20, help="landings that fill a target file")
    parser.add_argument("--pause", type=float, default=2.0, help="seconds between two reads")
    options = parser.parse_args()
    pace = Pace(options.landings, options.minute, options.records, per_file=options.per_file)
    settings = Settings.load()
    bucket = own_bucket(settings)
    clients = Clients(settings.with_changes(rest={"warehouse": bucket}))
    make = topic_maker(clients, f"week_{uuid.uuid4().hex[:8]}", "bench")
    outcome = live_through(make(**pace.spec()), pace, options.pause)
    storage = counters(Home(frazil_home()), bucket)
    sys.stdout.write(json.dumps(_document(outcome, storage)) + "\n")
    return 0 if _well(outcome, pace) and _adds_up(outcome.counted, storage) else 1


def _adds_up(counted: Units, storage: Counters) -> bool:
    """Whether costs are what the storage counted."""
    sent, puts = by_clients(counted)
    return isclose(sent, storage.received, rel_tol=NEAR) and isclose(
        puts, storage.puts + storage.deletes, rel_tol=NEAR
    )


def _document(outcome: Outcome, storage: Counters) -> dict[str, object]:
    return {
        "seconds": round(outcome.seconds),
        "rows": outcome.rows,
        "reads": len(outcome.readings.all),
        "read_failures": [str(e) for e in outcome.readings.failures],
        "runs": {kind: len(outcome.of(kind)) for kind in KINDS},
        "conflicts": sum(r.conflicts for r in outcome.reports),
        "counted": {**outcome.counted},
        "storage_counted": asdict(storage),
        "largest_ratio": round(outcome.largest, 3),
        "busy": {**asdict(outcome.busy), "ratio": round(outcome.busy.ratio, 3)},
        "settled": {**asdict(outcome.settled), "ratio": round(outcome.settled.ratio, 3)},
    }


def _well(outcome: Outcome, pace: Pace) -> bool:
    right = all(
        rows % pace.records == 0 and total == rows * (rows - 1) // 2 for rows, total in outcome.readings.all
    )
    return right and outcome.settled.ratio < MOST_STORAGE and not outcome.readings.failures


if __name__ == "__main__":
    sys.exit(main())
