"""`make bench`: what the arrivals sensor takes to land 6,000 records by itself, in a process that is warm.

300 more topics are defined, which nobody made. CPU is that of the process that serves the code, and of Spark;
Dagster's storage is on disk, as `dagster dev` has it. Prints a table on stderr and one line of JSON on
stdout; exits with 1 where the target is missed.
"""

from __future__ import annotations

import os
import sys
import uuid
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import dagster as dg
from commands import PIPELINES, TOPICS, make_pipelines
from figures import Line, show
from meter import Meter

from frazil.clients import Clients
from frazil.settings.profile import Settings
from kit.graph.graphs import write_graph

RECORDS, TARGET = 6_000, 2.0
WARM_UPS, TURNS = 3, 5


def main() -> int:
    """Measures it; 0 where the target is met."""
    os.environ["FRAZIL_SMALL_LANDINGS"] = "sensor"
    meter = Meter()
    with TemporaryDirectory() as folder, TemporaryDirectory() as home:
        make_pipelines(Path(folder))
        name = f"bench_{uuid.uuid4().hex[:8]}"
        table = {"topic": name, "land_when": {"records": RECORDS}}
        graph = write_graph(Path(folder), Clients(Settings.load()), table)
        topic, costs = graph.topics[0], []
        with dg.DagsterInstance.local_temp(home) as instance:
            graph.run(instance, [graph.things.kafka_path])
            for _ in range(WARM_UPS + TURNS):
                topic.trades(RECORDS)
                costs.append(meter.cost(lambda: graph.tick("arrivals", instance)))
        assert len(topic.rows()) == RECORDS * (WARM_UPS + TURNS)
    counted = costs[WARM_UPS:]
    cpu, seconds = (median(getattr(cost, part) for cost in counted) for part in ("cpu", "seconds"))
    what = f"the sensor lands {RECORDS:,} records, {PIPELINES * TOPICS} more topics defined"
    show([Line(f"CPU, {what}", cpu, "s", f"at most {TARGET:.1f}", cpu <= TARGET), Line(what, seconds, "s")])
    return int(cpu > TARGET)


if __name__ == "__main__":
    sys.exit(main())
