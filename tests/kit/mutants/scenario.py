"""What an engine with a bug does: `python scenario.py MODE NAME`, where the path begins with its copy.

It lands each wave of a topic, one of them beside another landing that is quicker, and does upkeep.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

import frazil
from frazil.clients import Clients
from frazil.connections import Connections
from frazil.errors import FrazilError, OvertakenError
from frazil.landing.land import land
from frazil.settings.profile import Settings
from frazil.spec.topic import TableSpec
from frazil.upkeep.compaction.run import compact
from frazil.upkeep.kind import Order
from frazil.upkeep.row_expiry.run import expire_rows
from kit.mutants.specs import PARTITIONS, spec_of
from kit.mutants.tasks import spark_of
from kit.mutants.waves import WAVES
from kit.records.topics import Topic, create_topic

RACE, COMPACTED = 1, 1
"""The wave that two landings take at once, and the one behind which files are compacted."""

EVERYTHING = Order(everything=True)


def play(spec: TableSpec, connections: Connections, waves: Iterator[None]) -> None:
    """Lands each wave, compacts on the way and at the end, and lets rows expire where they do."""
    for number, _ in enumerate(waves):
        if number == RACE:
            _race(spec, connections)
        land(spec, connections)
        if number == COMPACTED and not spec.keep_rows_for:
            compact(spec, connections, time.time(), EVERYTHING)
    if spec.keep_rows_for:
        expire_rows(spec, connections, time.time(), EVERYTHING)
    compact(spec, connections, time.time(), EVERYTHING)


def _race(spec: TableSpec, connections: Connections) -> None:
    """A landing that another one overtakes when it has written all that it read."""

    def beside(step: str) -> None:
        if step == "audited":
            land(spec, connections)

    try:
        land(spec, connections, on_step=beside)
    except OvertakenError:
        return


def main() -> int:
    """Plays one scenario; 1 where the engine says why it does not go on."""
    mode, name = sys.argv[1:]
    assert (frazil.__file__ or "").startswith(sys.path[1]), "this is not the copy"
    settings = Settings.load().with_changes(spark={"upkeep_remote": None})
    spec, connections = spec_of(mode, name), Clients(settings, spark_of)
    create_topic(connections.admin, name, PARTITIONS[mode], {"retention.ms": "-1"})
    try:
        play(spec, connections, WAVES[mode](Topic(name, connections, spec)))
    except FrazilError as e:
        print(type(e).__name__, e.what)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
