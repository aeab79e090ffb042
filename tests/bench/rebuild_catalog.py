"""How long `frazil rebuild-catalog` takes: `python tests/bench/rebuild_catalog.py --tables 1000`.

A catalog in SQLite makes the tables on the stack of FRAZIL_HOME, and is lost: it is a file that goes. They
come back in the catalog over REST, or in Glue.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog

from frazil.clients import Clients
from frazil.settings.profile import Settings
from frazil.tables.catalogs.client_properties import pyiceberg_properties
from frazil.upkeep.recovery.rebuild import Order, rebuild_catalog

ROWS = pa.table({"quantity": pa.array(range(100), pa.int64()), "symbol": ["ZTEST"] * 100})
COMMITS = 3


def main() -> None:
    """Makes tables, loses their catalog, and rebuilds it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=1000)
    parser.add_argument("--catalog", choices=("rest", "glue"), default="rest")
    asked = parser.parse_args()
    settings = Settings.load().with_changes(catalog=asked.catalog)
    namespace = f"bench_{uuid.uuid4().hex[:8]}"
    prefix = f"s3://warehouse/{namespace}"
    Clients(settings).catalog.create_namespace(namespace)  # SeaweedFS fails where files lie there before
    began = time.monotonic()
    fill(settings, prefix, asked.tables)
    print(f"made {asked.tables} tables of {COMMITS} commits in {time.monotonic() - began:.0f} s")
    used = time.process_time()
    report = rebuild_catalog(Clients(settings), Order(prefix))
    used = time.process_time() - used
    for why in {str(each.error) for each in report.tables if each.error}:
        print(why)
    print(f"{asked.catalog}: {dict(report.counts)} in {report.seconds:.1f} s, {used:.1f} s of CPU here")


def fill(settings: Settings, prefix: str, tables: int) -> None:
    """Makes tables below a prefix, by a catalog that nobody has afterwards."""
    keys = settings.aws
    assert keys.access_key
    assert keys.secret_key
    own = {
        "s3.access-key-id": keys.access_key.get_secret_value(),
        "s3.secret-access-key": keys.secret_key.get_secret_value(),
    }
    with tempfile.TemporaryDirectory() as folder:
        lost = SqlCatalog(
            "lost", **{**pyiceberg_properties(settings), "uri": f"sqlite:///{Path(folder)}/lost.db", **own}
        )
        lost.create_namespace("n")
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda number: _make(lost, prefix, number), range(tables)))


def _make(catalog: SqlCatalog, prefix: str, number: int) -> None:
    table = catalog.create_table(("n", f"t{number}"), ROWS.schema, f"{prefix}/t{number}")
    for _ in range(COMMITS):
        table.append(ROWS)


if __name__ == "__main__":
    main()
