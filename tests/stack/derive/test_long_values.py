"""Values of partitions of which no folder can be named in whole: a derivation goes on, and so does upkeep."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from frazil.connections import Connections
from frazil.upkeep.compaction.run import compact
from frazil.upkeep.expiry.expiry import expire
from frazil.upkeep.kind import Order
from kit.derived.made import Source, make_made

LONG = ["x" * 1500, "x" * 1499 + "y", "\U0001f600" * 400, "", "..", "a/b$c d+e%2F"]
"""Of a store's key, 1,024 bytes are all; of a folder's name less."""

QUERIES = {
    "rows": ("SELECT symbol, quantity FROM {}", {}),
    "totals": ("SELECT symbol, sum(quantity) AS quantity FROM {} GROUP BY symbol", {"kind": "totals"}),
    "latest": ("SELECT * FROM {}", {"kind": "latest", "key": ["symbol"], "latest_by": ["quantity"]}),
    "full": ("SELECT symbol, max(quantity) AS quantity FROM {} GROUP BY symbol", {"kind": "full"}),
}


@pytest.mark.parametrize("kind", QUERIES)
@pytest.mark.nightly
def test_a_derived_table_in_partitions_of_any_text_is_made_merged_compacted_and_expired(
    connections: Connections, source: Source, fresh_name: str, tmp_path: Path, kind: str
) -> None:
    """https://github.com/prestodb/presto/issues/6850: a folder's name is longer than the store takes."""
    sql, spec = QUERIES[kind]
    made = make_made(
        connections, tmp_path, f"{fresh_name}_made", sql.format(source.name), partition_by=["symbol"],
        upkeep={"min_snapshots": 1}, **spec,
    )  # fmt: skip
    for quantity in (1, 2):
        source.append([{"symbol": text, "quantity": quantity} for text in LONG])
        made.derive()
        source.append([{"symbol": LONG[0], "quantity": quantity}])
        made.derive()
    before = made.rows("symbol", "quantity")

    compact(made.spec, connections, time.time(), Order(everything=True))
    expire(made.spec, connections, time.time() + 3600, Order(everything=True))

    sums = {
        "rows": {(text, quantity) for text in LONG for quantity in (1, 2)},
        "totals": {(text, 6 if text == LONG[0] else 3) for text in LONG},
    }
    assert {*before} == sums.get(kind, {(text, 2) for text in LONG})
    assert made.rows("symbol", "quantity") == before
    source.append([{"symbol": text, "quantity": 3} for text in LONG])
    assert made.derive().rows
