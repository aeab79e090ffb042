"""Random batches, crashes, compactions and rollbacks: each table equals one recomputation of its inputs.

FRAZIL_TEST_DERIVATIONS says how many times each table is derived; FRAZIL_TEST_SEED which times these are.
"""

from __future__ import annotations

import os
import random
import time
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from duckdb import DuckDBPyConnection

from frazil.derive.publish import roll_back_derived
from frazil.tables.metadata.snapshots import ancestors
from frazil.upkeep.compaction.run import compact
from frazil.upkeep.kind import Order
from kit.derived.made import Made, MakeSource, MakeTable, Source
from kit.readers.duck import duckdb_on

RUNS = int(os.environ.get("FRAZIL_TEST_DERIVATIONS", "3"))
SEED = int(os.environ.get("FRAZIL_TEST_SEED", "7"))
BEGIN = datetime(2026, 11, 21, 12, tzinfo=UTC)
SYMBOLS = ("ZTEST", "ZBZX", "ZVV", None)
STEPS = ("written", "kept", "published")

MINUTE = "date_trunc('MINUTE', at)"
QUERIES: dict[str, tuple[str, dict[str, Any]]] = {
    "rows": (
        "SELECT symbol, quantity * 2 AS twice, at, IF(quantity % 7 = 0, 'seven', NULL) AS `$$error` FROM {a} "
        "WHERE quantity > 5 UNION ALL SELECT symbol, -quantity, at, NULL FROM {b}",
        {},
    ),
    "totals": (
        "SELECT symbol, quantity % 3 AS third, sum(quantity) AS total, count(*) AS trades, min(at) AS first, "
        "max(quantity) AS most FROM {a} GROUP BY symbol, quantity % 3",
        {"kind": "totals"},
    ),
    "windows": (
        f"SELECT {MINUTE} AS start, symbol, sum(quantity) AS total, count(*) AS trades FROM {{a}} "
        f"GROUP BY {MINUTE}, symbol",
        {"kind": "windows", "window": {"start": "start", "length": "1m"}},
    ),
    "running": (
        f"SELECT {MINUTE} AS start, symbol, sum(quantity) AS total FROM {{b}} GROUP BY {MINUTE}, symbol",
        {"kind": "windows", "window": {"start": "start", "length": "1m"}, "cumulative_by": ["symbol"]},
    ),
    "latest": (
        "SELECT symbol, quantity, at FROM {a}",
        {"kind": "latest", "key": ["symbol"], "latest_by": ["at", "quantity"]},
    ),
    "full": ("SELECT count(DISTINCT quantity) AS different, max(at) AS newest FROM {b}", {"kind": "full"}),
}
"""What each table is made by, of inputs a and b."""

ORACLES = {
    "rows": 'SELECT symbol, quantity * 2, "at" FROM a WHERE quantity > 5 AND quantity % 7 <> 0 '
    'UNION ALL SELECT symbol, -quantity, "at" FROM b',
    "letters": "SELECT 'seven' FROM a WHERE quantity > 5 AND quantity % 7 = 0",
    "totals": 'SELECT symbol, quantity % 3, sum(quantity)::bigint, count(*), min("at"), max(quantity) '
    "FROM a GROUP BY ALL",
    "windows": "SELECT date_trunc('minute', \"at\"), symbol, sum(quantity)::bigint, count(*) "
    "FROM a GROUP BY ALL",
    "running": "SELECT date_trunc('minute', \"at\") AS start, symbol, sum(sum(quantity)) OVER "
    "(PARTITION BY symbol ORDER BY date_trunc('minute', \"at\"))::bigint FROM b GROUP BY start, symbol",
    "latest": 'SELECT symbol, quantity, "at" FROM a '
    'QUALIFY row_number() OVER (PARTITION BY symbol ORDER BY "at" DESC, quantity DESC) = 1',
    "full": 'SELECT count(DISTINCT quantity), max("at") FROM b',
}
"""The same over everything, as DuckDB says it."""


class Dead(BaseException):
    """What nobody catches: as good as a kill."""


@dataclass
class Chaos:
    """Everything that happens to inputs and tables, by one seed."""

    inputs: dict[str, Source]
    tables: dict[str, Made]
    dice: random.Random
    story: list[str] = field(default_factory=list)
    derived: int = 0

    def step(self) -> None:
        """Rows come, something else may happen, then every table is derived, some of them to death first."""
        for name, source in self.inputs.items():
            for _ in range(self.dice.randint(0, 2)):
                self.append(name, source)
        for happens in (self.roll_back_input, self.compact, self.roll_back_table):
            if self.derived and self.dice.random() < 0.3:
                happens()
        for name, made in self.tables.items():
            if self.dice.random() < 0.3:
                self.crash(name, made)
            made.derive()
        self.derived += 1

    def append(self, name: str, source: Source) -> None:
        count = self.dice.choice([0, 1, 3, 40])
        self.story.append(f"{count} rows for {name}")
        source.append(
            {
                "symbol": self.dice.choice(SYMBOLS),
                "quantity": self.dice.randint(1, 99),
                "at": BEGIN
                + timedelta(seconds=self.dice.randint(0, 600), microseconds=self.dice.randint(0, 9)),
            }
            for _ in range(count)
        )

    def crash(self, name: str, made: Made) -> None:
        at = self.dice.choice(STEPS)

        def die(done: str) -> None:
            if done == at:
                raise Dead

        self.story.append(f"{name} dies once it is {at}")
        with suppress(Dead):
            made.derive(on_step=die)

    def compact(self) -> None:
        name, one = self.dice.choice([*self.inputs.items(), *self.tables.items()])
        self.story.append(f"{name} is compacted")
        any_made = next(iter(self.tables.values()))
        spec = any_made.spec.model_copy(update={"table": one.name.table})
        compact(spec, any_made.connections, time.time(), Order(everything=True))

    def roll_back_input(self) -> None:
        name, source = self.dice.choice([*self.inputs.items()])
        line = [s.snapshot_id for s in ancestors(source.table.metadata)]
        self.story.append(f"{name} is rolled back")
        source.roll_back(self.dice.choice(line[:4]))

    def roll_back_table(self) -> None:
        name, made = self.dice.choice([*self.tables.items()])
        line = [s.snapshot_id for s in ancestors(made.table.metadata)]
        self.story.append(f"{name} is rolled back")
        roll_back_derived(made.spec, made.connections, self.dice.choice(line[:4]))

    def agrees(self, duck: DuckDBPyConnection) -> None:
        """Every table holds what DuckDB makes of the inputs as they are now."""
        for name, source in self.inputs.items():
            location = source.table.metadata_location
            duck.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT * FROM iceberg_scan('{location}')")
        for name, oracle in ORACLES.items():
            wanted = duck.execute(oracle).fetchall()
            rows = [(r,) for r, _ in self.letters()] if name == "letters" else self.tables[name].rows()
            assert sorted(rows, key=repr) == sorted(wanted, key=repr), (name, self.story)

    def letters(self) -> list[tuple[Any, ...]]:
        made = self.tables["rows"]
        exists = made.connections.catalog.table_exists(made.name.dead_letters.identifier)
        return made.dead_letters() if exists else []


@pytest.fixture
def chaos(make_input: MakeSource, make_table: MakeTable) -> Chaos:
    """Two inputs, and a table of each kind."""
    inputs = {"a": make_input(), "b": make_input()}
    names = {name: source.name.table for name, source in inputs.items()}
    tables = {name: make_table(sql.format(**names), **spec) for name, (sql, spec) in QUERIES.items()}
    return Chaos(inputs, tables, random.Random(SEED))


@pytest.mark.nightly
@pytest.mark.timeout(0)
def test_whatever_happens_each_table_equals_one_recomputation(chaos: Chaos) -> None:
    with duckdb_on(chaos.tables["rows"].connections.settings) as duck:
        while chaos.derived < RUNS:
            chaos.step()
            if chaos.derived % 4 == 0 or chaos.derived == RUNS:
                chaos.agrees(duck)
