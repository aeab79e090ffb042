"""What `file_health` says of a table's files, snapshots and manifests."""

from __future__ import annotations

import pyarrow as pa

from frazil.checks.table import _limits
from frazil.spec.upkeep import Upkeep
from frazil.upkeep.census import take_census
from frazil.upkeep.work import MB
from kit.derived.made_tables import fresh_catalog


def test_snapshots_are_counted_as_the_census_counts_them() -> None:
    catalog = fresh_catalog()
    catalog.create_namespace("n")
    rows = pa.table({"id": [1]})
    table = catalog.create_table(("n", "t"), rows.schema)
    for _ in range(3):
        table.append(rows)
    census = take_census(
        catalog.load_table(("n", "t")), Upkeep(max_snapshots=1, min_snapshots=1), 128 * MB, now=0.0
    )

    (alone,) = (each for each in _limits(census, Upkeep(), "n.t", 0) if "snapshots" in each.text)
    (kept,) = (each for each in _limits(census, Upkeep(), "n.t", 2) if "snapshots" in each.text)

    assert census.snapshots == 3
    assert (alone.text, alone.value) == ("3 snapshots, 4000 allowed", 3)
    assert (kept.text, kept.value) == ("3 snapshots, of which readers still need 2, 4000 allowed", 1)
