"""What a landing and upkeep cost on a table of many files: `python tests/bench/many_files.py --files 200000`.

A topic is landed once on the running stack. Then manifests name copies of its data file, each of which says
that it holds 128 MiB: nobody opens them, for they need no upkeep. Then come landings, a look of the upkeep
sensor, and each kind of upkeep. CPU is of this process and of Spark's servers, memory of this process.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

from figures import Line, show
from meter import Meter
from pyiceberg.manifest import DataFile

from frazil.clients import Clients
from frazil.landing.land import land
from frazil.settings.profile import Settings
from frazil.spec.topic import TableSpec
from frazil.spec.upkeep import Upkeep
from frazil.tables.catalogs.handle import TableHandle, handle_of
from frazil.tables.metadata.manifests import manifests_of, read_entries
from frazil.upkeep.due import look_for_work
from frazil.upkeep.kind import Kind
from frazil.upkeep.kinds import KINDS
from frazil.upkeep.run import do_work
from frazil_local.generators import GENERATORS
from frazil_local.generators.generator import generate

RECORDS, LANDINGS, SIZE = 1_000, 4, 128 * 2**20

_PATH, _BYTES = 1, 5
"""Where a data file has its path and its size."""


def main() -> None:
    """Makes the table, measures, and drops it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=200_000)
    parser.add_argument("--manifests", type=int, default=60, help="upkeep rewrites 50 and more")
    asked = parser.parse_args()
    clients, topic = Clients(Settings.load()), f"many_files_{uuid.uuid4().hex[:8]}"
    kept = Upkeep.model_validate({"keep_snapshots_for": "1s", "expire_every": "0s"})
    spec = TableSpec(topic=topic, namespace="many_files", publish=[], upkeep=kept)
    handle = handle_of(spec, clients)
    with ProcessPoolExecutor(1, get_context("spawn")) as other:  # this one has read none of the manifests
        other.submit(make, spec, asked.files, asked.manifests).result()
    try:
        show([*measured(spec, clients), *counted(handle)])
    finally:
        clients.catalog.drop_table(handle.name.identifier)


def make(spec: TableSpec, files: int, manifests: int) -> None:
    """The table, in a process of its own."""
    clients = Clients(Settings.load())
    produce(spec, clients)
    land(spec, clients)
    name_copies(handle_of(spec, clients), files, manifests)


def produce(spec: TableSpec, clients: Clients) -> None:
    """A thousand trades."""
    generate(GENERATORS["stock_trades"], clients.settings, topic=spec.topic, count=RECORDS)


def name_copies(handle: TableHandle, files: int, manifests: int) -> None:
    """Commits manifests that name as many copies of the table's data file."""
    table = handle.load()
    entries = read_entries(table.io, manifests_of(table, table.current_snapshot()))
    own = entries[0][0].data_file
    for number in range(manifests):
        with table.transaction() as tx, tx.update_snapshot().fast_append() as snapshot:
            for place in range(files * number // manifests, files * (number + 1) // manifests):
                snapshot.append_data_file(named(own, place))


def named(own: DataFile, number: int) -> DataFile:
    """The same file under another name, large enough to be left alone."""
    other = DataFile(*(own[place] for place in range(len(own))))
    other[_PATH], other[_BYTES] = own.file_path.replace("/data/", f"/data/copy-{number:06}-"), SIZE
    other.spec_id = own.spec_id
    return other


def measured(spec: TableSpec, clients: Clients) -> Iterator[Line]:
    """Landings, the look, and each kind of upkeep, in this order."""
    meter = Meter()
    for number in range(LANDINGS):
        produce(spec, clients)
        yield from lines(f"landing {number + 1}", meter, partial(land, spec, clients))
    yield from lines("look of upkeep", meter, lambda: look_for_work([spec], clients, time.time()))
    for name in ("compaction", "expiry", "orphans"):
        yield from lines(name, meter, partial(work, KINDS[name], spec, clients))


def work(kind: Kind, spec: TableSpec, clients: Clients) -> None:
    """Does upkeep, and says what became of it."""
    print(do_work(kind, spec, clients, time.time()).text, file=sys.stderr)


def lines(what: str, meter: Meter, work: Callable[[], object]) -> Iterator[Line]:
    """What it took."""
    cost = meter.cost(work)
    yield Line(f"{what}: by the clock", cost.seconds, "s")
    yield Line(f"{what}: CPU", cost.cpu, "s")
    yield Line(f"{what}: read of storage", cost.read / 2**20, "MiB")
    yield Line(
        f"{what}: memory, at most so far", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, "MiB"
    )


def counted(handle: TableHandle) -> Iterator[Line]:
    """What the table names in the end."""
    table = handle.load()
    manifests = manifests_of(table, table.current_snapshot())
    yield Line(
        "data files", sum((m.added_files_count or 0) + (m.existing_files_count or 0) for m in manifests), ""
    )
    yield Line("manifests", len(manifests), "")


if __name__ == "__main__":
    main()
