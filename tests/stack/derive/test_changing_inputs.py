"""Tables made of rows that change by a key hold what their queries make of the rows that are there now.

FRAZIL_TEST_DERIVATIONS says how many random steps there are; FRAZIL_TEST_SEED which ones.
"""

from __future__ import annotations

import os
import random
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from decimal import Decimal as Number
from typing import Any

import pytest

from frazil.checks.run import run_check
from frazil.connections import Connections
from frazil.errors import PositionLostError
from frazil.formats.logical import Decimal, Field, Map, Primitive
from frazil.tables.snapshots import ancestors
from frazil.upkeep.compaction.run import compact
from frazil.upkeep.kind import Order
from kit.changing import KEYED, Changing, make_changing
from kit.made import Made, MakeTable, make_source
from kit.recomputed import recomputed

RUNS = int(os.environ.get("FRAZIL_TEST_DERIVATIONS", "2"))
SEED = int(os.environ.get("FRAZIL_TEST_SEED", "7"))
BEGIN = datetime(2026, 3, 5, 12, tzinfo=UTC)
PRICED = (*KEYED, Field("price", Decimal(10, 2), optional=True))
SYMBOLS = ("ZTEST", "ZBZX", "ZVV", None)

SIZED = "SELECT symbol, quantity * 2 AS twice FROM {} WHERE quantity > 5"
SUMS = """
SELECT symbol, quantity % 3 AS third, sum(quantity) AS total, count(*) AS trades, min(at) AS first,
       max(quantity) AS most FROM {} GROUP BY symbol, quantity % 3
"""
COUNTED = """
SELECT symbol, count(*) AS trades, sum(quantity) AS total, count(quantity) AS known,
       sum(price) FILTER (WHERE quantity > 9) AS worth, count(price) FILTER (WHERE quantity > 9) AS worthy
FROM {} GROUP BY symbol
"""
NEWEST = "SELECT symbol, quantity, at FROM {}"
QUERIES: dict[str, tuple[str, dict[str, Any]]] = {
    "rows": (SIZED, {}),
    "totals": (SUMS, {"kind": "totals"}),
    "counted": (COUNTED, {"kind": "totals"}),
    "latest": (NEWEST, {"kind": "latest", "key": ["symbol"], "latest_by": ["at", "quantity"]}),
}
ORACLES = {
    "rows": "SELECT symbol, quantity * 2 FROM input WHERE quantity > 5",
    "totals": 'SELECT symbol, quantity % 3, sum(quantity)::bigint, count(*), min("at"), max(quantity) '
    "FROM input GROUP BY ALL",
    "counted": "SELECT symbol, count(*), sum(quantity)::bigint, count(quantity), "
    "(sum(price) FILTER (quantity > 9))::decimal(20, 2), count(price) FILTER (quantity > 9) "
    "FROM input GROUP BY ALL",
    "latest": 'SELECT symbol, quantity, "at" FROM input '
    "QUALIFY row_number() OVER "
    '(PARTITION BY symbol ORDER BY "at" DESC NULLS LAST, quantity DESC NULLS LAST) = 1',
}
"""The same over everything, as DuckDB says it."""


@pytest.fixture
def source(connections: Connections, fresh_name: str) -> Changing:
    """An input whose rows change, without any."""
    return make_changing(connections.catalog, f"{fresh_name}_in", PRICED)


def trade(number: int, quantity: int | None, symbol: str | None = "ZVV", second: int = 0) -> dict[str, Any]:
    at, price = BEGIN + timedelta(seconds=second), Number(number * 7 % 5 - 2) / 4
    return {"id": number, "symbol": symbol, "quantity": quantity, "at": at, "price": price}


def of(source: Changing, make_table: MakeTable, kind: str) -> Made:
    sql, spec = QUERIES[kind]
    return make_table(sql.format(source.name), **spec)


def agree(source: Changing, made: dict[str, Made]) -> bool:
    for kind, table in made.items():
        assert table.rows() == recomputed(source, ORACLES[kind]), kind
        assert table.ledger.total_rows == len(table.rows())
    return True


def test_what_changed_and_went_is_no_part_of_any_table_and_a_group_without_rows_is_gone(
    source: Changing, make_table: MakeTable
) -> None:
    made = {kind: of(source, make_table, kind) for kind in QUERIES}
    source.append([trade(1, 10), trade(2, 20), trade(3, 30, "ZTEST"), trade(4, 10), trade(5, 10, None)])
    for table in made.values():
        table.derive()

    source.change([trade(1, 7), trade(2, 20, "ZBZX")], ends=[3, 4])
    source.change([trade(6, 70, None)])
    source.change([trade(6, 71, None)])

    reports = {kind: table.derive() for kind, table in made.items()}
    assert agree(source, made)
    assert not any(report.whole for report in reports.values())
    assert not made["totals"].derive().done
    check = run_check("query_agrees", made["rows"].spec, made["rows"].connections)
    assert check.passed, check.text
    assert check.numbers["compared"]


def test_equal_rows_go_one_by_one_whatever_they_hold_and_bad_ones_become_good(
    connections: Connections, fresh_name: str, make_table: MakeTable
) -> None:
    tags = Field("tags", Map(Primitive("string"), Primitive("double"), value_optional=True), optional=True)
    source = make_changing(connections.catalog, f"{fresh_name}_in", (*PRICED, tags))
    plain = make_source(connections.catalog, f"{fresh_name}_plain")
    made = make_table(
        f"SELECT quantity, tags, IF(quantity = 7, 'seven', NULL) AS `$$error` FROM {source.name} "
        f"UNION ALL SELECT quantity, NULL, NULL FROM {plain.name}"
    )
    nan = {"tags": [("a", float("nan")), ("b", None)]}
    source.append(trade(n, 1) | nan for n in range(4))
    plain.trades(1, 3)
    made.derive()

    source.change([trade(0, 2) | nan, trade(1, 7)], ends=[2])
    plain.trades(5)
    made.derive()

    assert [row[0] for row in made.rows("quantity")] == [1, 1, 2, 3, 5]
    source.change([trade(1, 8)])
    made.derive()
    assert [row[0] for row in made.rows("quantity")] == [1, 1, 2, 3, 5, 8]
    assert [reason for reason, _ in made.dead_letters()] == ["seven"]


def test_a_snapshot_that_is_gone_or_rows_deleted_by_another_engines_files_ask_for_a_rebuild(
    source: Changing, make_table: MakeTable
) -> None:
    made = of(source, make_table, "totals")
    source.append([trade(1, 10), trade(2, 20)])
    made.derive()
    before = made.rows()
    source.change([trade(1, 11)])
    source.change([trade(1, 12)])
    source.expire()

    with pytest.raises(PositionLostError, match="--rebuild"):
        made.derive()

    assert made.rows() == before
    made.derive(rebuild=True)
    assert agree(source, {"totals": made})


def happens(dice: random.Random, source: Changing, made: dict[str, Made]) -> str:
    """What becomes of the input between two derivations; tells it."""
    if dice.random() < 0.15:
        source.roll_back(dice.choice([s.snapshot_id for s in ancestors(source.table.metadata)][:4]))
    for _ in range(dice.randint(1, 3)):
        put = [
            trade(n, dice.choice([None, *range(1, 30)]), dice.choice(SYMBOLS), dice.randint(0, 600))
            for n in dice.sample(range(40), dice.choice([0, 1, 12]))
        ]
        ends = dice.sample(range(40), dice.choice([0, 2, 9, 40]))
        source.change(put, ends)
    if dice.random() < 0.3:
        spec = made["rows"].spec.model_copy(update={"table": source.name.table})
        compact(spec, made["rows"].connections, time.time(), Order(everything=True))
    return f"{source.table.scan().count()} rows"


class Dead(BaseException):
    """What nobody catches: as good as a kill."""


def die(made: Made, at: str) -> None:
    def step(done: str) -> None:
        if done == at:
            raise Dead

    with suppress(Dead):
        made.derive(on_step=step)


def test_after_each_of_many_random_steps_every_table_equals_one_recomputation(
    source: Changing, make_table: MakeTable
) -> None:
    dice, story = random.Random(SEED), list[str]()
    made = {kind: of(source, make_table, kind) for kind in QUERIES}
    for _ in range(RUNS):
        story.append(happens(dice, source, made))
        for table in made.values():
            if dice.random() < 0.2:
                die(table, dice.choice(["branched", "written", "published"]))
            table.derive()
        assert agree(source, made), story
