"""What plans of freshness foretell, beside what landing the same arrivals at those intervals came to.

`PYTHONPATH=tests python tests/bench/plans.py` lives three patterns at three intervals, as
tests/stack/upkeep/test_plans_of_freshness.py lives one. Prints a line of JSON for each pair of a history and
an interval: of each count what was foretold, and what the storage had.
"""

from __future__ import annotations

import argparse
import json
import sys
from random import Random

from frazil.clients import Clients
from frazil.settings.profile import Settings
from frazil.settings.profile_file import frazil_home
from frazil_local.home import Home
from kit.plans.lived import COUNTS, PATTERNS, Stretch, live_at


def main() -> int:
    """Lives each pattern."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=1800, help="of arrivals")
    parser.add_argument("--rate", type=int, default=5, help="records a second, about")
    parser.add_argument(
        "--every", type=int, nargs="+", default=[30, 75, 300], help="seconds between landings"
    )
    options = parser.parse_args()
    connections, home = Clients(Settings.load()), Home(frazil_home())
    for name, (pattern, target) in PATTERNS.items():
        came = pattern(Random(38), options.seconds, options.rate)
        stretch = Stretch(came, target=target, by_side=name == "skewed")
        runs = [live_at(connections, home, stretch, every) for every in options.every]
        for history in runs:
            for run in runs:
                foretold, counted = history.foretells(run.every), run.counted
                counts = {n: (getattr(foretold, n), getattr(counted, n)) for n in (*COUNTS, "task_seconds")}
                line = {"pattern": name, "history": history.every, "every": run.every, **counts}
                sys.stdout.write(json.dumps(line) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
