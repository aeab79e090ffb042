"""A status that is counted: rows move between groups, and the counts with them.

https://github.com/dbt-labs/dbt-adapters/issues/159 led there.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from frazil.connections import Connections
from frazil.formats.logical import Field, Primitive
from kit.derived.made import make_made
from kit.tables.changing import make_changing

ORDERS = (
    Field("id", Primitive("int")),
    Field("status", Primitive("string"), optional=True),
    Field("late", Primitive("boolean"), optional=True),
)
MINUTE = "timestamp '2026-03-05 12:00:00'"
QUERIES = {
    "count": "SELECT status, count(*) AS n FROM {orders} GROUP BY status",
    "count_if": "SELECT status, count(*) AS n, count_if(late) AS late FROM {orders} GROUP BY status",
    "no total": "SELECT status FROM {orders} GROUP BY status",
    "no key": "SELECT count(*) AS n FROM {orders} GROUP BY ALL",
}
WANTED = {
    "count": {("open", 1), ("paid", 2)},
    "count_if": {("open", 1, 0), ("paid", 2, 1)},
    "no total": {("open",), ("paid",)},
    "no key": {(3,)},
}


@pytest.mark.nightly
@pytest.mark.parametrize("which", QUERIES)
def test_counts_move_with_the_status(
    connections: Connections, fresh_name: str, tmp_path: Path, which: str
) -> None:
    orders = make_changing(connections.catalog, f"{fresh_name}_in", ORDERS)
    sql = QUERIES[which].format(orders=orders.name)
    made = make_made(connections, tmp_path, f"{fresh_name}_out", sql, kind="totals")
    orders.append({"id": n, "status": "open", "late": n == 1} for n in range(3))
    made.derive()

    orders.change([{"id": 0, "status": "paid", "late": False}])
    made.derive()
    orders.change([{"id": 1, "status": "paid", "late": True}])
    made.derive()

    assert set(made.rows()) == WANTED[which]
    assert len(made.rows()) == len(WANTED[which])


@pytest.mark.nightly
@pytest.mark.parametrize("totals", ["", ", count(*) AS n"])
@pytest.mark.parametrize("running", [(), ("status",)])
def test_windows_that_count_or_hold_keys_only_follow(
    connections: Connections, fresh_name: str, tmp_path: Path, totals: str, running: tuple[str, ...]
) -> None:
    orders = make_changing(connections.catalog, f"{fresh_name}_in", ORDERS)
    minute = f"{MINUTE} + make_dt_interval(0, 0, id) AS minute"
    sql = f"SELECT status, {minute}{totals} FROM {orders.name} GROUP BY ALL"
    window = {"start": "minute", "length": "1m"}
    made = make_made(
        connections, tmp_path, f"{fresh_name}_out", sql, kind="windows", window=window, cumulative_by=running
    )
    orders.append({"id": n, "status": "open", "late": False} for n in range(2))
    made.derive()
    orders.append([{"id": 2, "status": "open", "late": False}])
    made.derive()
    orders.change([{"id": 0, "status": "paid", "late": False}])
    made.derive()

    values = [(row[0], row[1].minute, *row[2:]) for row in made.rows()]
    counts = [1, 2, 1] if running else [1, 1, 1]
    keys = [("open", 1), ("open", 2), ("paid", 0)]
    assert values == [(*key, n) if totals else key for key, n in zip(keys, counts, strict=True)]
