"""Tables made of rows that change, or of each other, hold what their queries make of the rows of now.

FRAZIL_TEST_DERIVATIONS says how many random steps there are, FRAZIL_TEST_SEED which ones; `make derivations`
takes a hundred.
"""

from __future__ import annotations

import json
import os
import random
import time
from contextlib import nullcontext, suppress
from datetime import timedelta

import pytest

from frazil.checks.run import run_check
from frazil.connections import Connections
from frazil.derive.publish import roll_back_derived
from frazil.errors import PositionLostError
from frazil.formats.logical import Field, Map, Primitive
from frazil.spec.derived import Window
from frazil.tables.metadata.snapshots import ancestors
from frazil.upkeep.compaction.run import compact
from frazil.upkeep.kind import Order
from kit.derived.each_kind import (
    BEGIN,
    KEYS,
    MINUTES,
    OF_THE_INPUT,
    PRICED,
    QUERIES,
    WINDOW,
    agree,
    of,
    trade,
)
from kit.derived.made import Made, MakeTable, make_source
from kit.derived.row_ids import ids_kept
from kit.tables.changing import Changing, make_changing
from kit.tables.delete_files import delete_by_position, live

RUNS = int(os.environ.get("FRAZIL_TEST_DERIVATIONS", "2"))
SEED = int(os.environ.get("FRAZIL_TEST_SEED", "7"))
SYMBOLS = ("ZTEST", "ZBZX", "ZVV", None)


@pytest.fixture
def source(connections: Connections, fresh_name: str) -> Changing:
    """An input whose rows change, without any."""
    return make_changing(connections.catalog, f"{fresh_name}_in", PRICED)


def test_what_changed_and_went_is_no_part_of_any_table_and_a_group_without_rows_is_gone(
    source: Changing, make_table: MakeTable
) -> None:
    made = of(source, make_table, *OF_THE_INPUT)
    source.append([trade(1, 10), trade(2, 20), trade(3, 30, "ZTEST"), trade(4, 10), trade(5, 10, None)])
    for table in made.values():
        table.derive()

    source.change([trade(1, 7), trade(2, 20, "ZBZX")], ends=[3, 4])
    source.change([trade(6, 70, None)])
    source.change([trade(6, 71, None)])
    delete_by_position(source.table, (live(source.table)[0].data_file, [0]))  # by another engine

    reports = {kind: table.derive() for kind, table in made.items()}
    assert agree(source, made)
    assert not any(report.whole for report in reports.values())
    assert not made["totals"].derive().done
    check = run_check("query_agrees", made["rows"].spec, made["rows"].connections)
    assert check.passed, check.text
    assert check.numbers["compared"]


@pytest.mark.nightly
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


def test_a_snapshot_that_is_gone_asks_for_a_rebuild(source: Changing, make_table: MakeTable) -> None:
    tables = of(source, make_table, "totals")
    made = tables["totals"]
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
    assert agree(source, tables)


@pytest.mark.parametrize("policy", ["update", "dead_letter"])
@pytest.mark.nightly
def test_what_changes_in_a_closed_window_is_late_and_ends_where_the_policy_says(
    source: Changing, make_table: MakeTable, policy: str
) -> None:
    made = make_table(
        MINUTES.format(source=source.name), kind="windows", window=WINDOW | {"late_rows": policy}
    )
    source.append([trade(1, 10), trade(2, 20, second=60), trade(3, 30, second=600)])
    made.derive()
    before = made.rows("minute", "total")

    source.change([trade(1, 11), trade(3, 31, second=600), trade(4, 1, second=601)], ends=[2])
    source.change([trade(1, 12)])
    report = made.derive()

    assert (report.late, report.watermark) == (3, made.ledger.watermark)
    if policy == "update":
        assert agree(source, {"windows": made})
        return
    assert made.rows("minute", "total") == [*before[:2], (BEGIN + timedelta(minutes=10), 32)]
    letters = [(reason.split()[0], json.loads(row)["total"]) for reason, row in made.dead_letters()]
    assert letters == [("came", 12), ("went", 10), ("went", 20)]


@pytest.mark.nightly
def test_a_closed_window_that_lacks_what_was_left_out_is_made_anew_once_late_rows_are_added(
    source: Changing, make_table: MakeTable
) -> None:
    window = Window.model_validate(WINDOW | {"late_rows": "drop"})
    strict = make_table(MINUTES.format(source=source.name), kind="windows", window=window)
    source.append([trade(1, 10), trade(3, 30, second=600)])
    strict.derive()
    source.change([trade(1, 12)])
    strict.derive()

    adds = window.model_copy(update={"late_rows": "update"})
    made = Made(strict.connections, strict.spec.model_copy(update={"window": adds}))
    source.change([trade(1, 13)])
    made.derive()

    assert agree(source, {"windows": made})


@pytest.mark.nightly
def test_a_window_that_lacks_what_was_ahead_of_the_clock_is_made_anew_when_it_changes(
    source: Changing, make_table: MakeTable
) -> None:
    made = make_table(MINUTES.format(source=source.name), kind="windows", window=WINDOW)
    source.append([trade(1, 10), trade(2, 20, second=7200)])
    made.derive(now=BEGIN.timestamp())
    assert made.ledger.bad == 1

    source.change([trade(3, 30, second=7201)], ends=[1, 2])
    made.derive(now=BEGIN.timestamp() + 7200)

    assert agree(source, {"windows": made})


@pytest.mark.nightly
def test_a_table_made_anew_is_followed_by_those_that_are_made_of_it(
    source: Changing, make_table: MakeTable
) -> None:
    made = of(source, make_table, "counted", "totals of totals")
    source.append([trade(1, 10), trade(2, 20, None), trade(3, 30, "ZTEST")])
    for table in made.values():
        table.derive()
    source.change([trade(1, 11, "ZTEST")])

    made["counted"].derive(rebuild=True)
    report = made["totals of totals"].derive()

    assert agree(source, made)
    assert not report.whole


def happens(dice: random.Random, source: Changing, made: dict[str, Made]) -> str:
    """What becomes of the input, and of tables, between two derivations; tells it."""
    if dice.random() < 0.15:
        source.roll_back(dice.choice([s.snapshot_id for s in ancestors(source.table.metadata)][:4]))
    for _ in range(dice.randint(1, 3)):
        put = [
            trade(n, dice.choice([None, *range(1, 30)]), dice.choice(SYMBOLS), dice.randint(0, 600))
            for n in dice.sample(range(40), dice.choice([0, 1, 12]))
        ]
        ends = dice.sample(range(40), dice.choice([0, 1, 2, 2, 5, 9, 9, 40]))
        source.change(put, ends)
    if dice.random() < 0.3:
        there = [each for each in made.values() if source.catalog.table_exists(each.name.identifier)]
        name = dice.choice([source.name, *(each.name for each in there)])
        spec = made["rows"].spec.model_copy(update={"table": name.table})
        compact(spec, made["rows"].connections, time.time(), Order(everything=True))
        for each in dice.sample(there, min(len(there), dice.choice([0, 0, 1]))):
            line = [s.snapshot_id for s in ancestors(each.table.metadata)]
            roll_back_derived(each.spec, each.connections, dice.choice(line[:4]))
    return f"{source.table.scan().count()} rows"


class Dead(BaseException):
    """What nobody catches: as good as a kill."""


def die(made: Made, at: str) -> None:
    def step(done: str) -> None:
        if done == at:
            raise Dead

    with suppress(Dead):
        made.derive(on_step=step)


@pytest.mark.nightly
@pytest.mark.timeout(0)
@pytest.mark.parametrize("version", [2, 3])
def test_after_each_of_many_random_steps_every_table_equals_one_recomputation(
    source: Changing, make_table: MakeTable, version: int
) -> None:
    dice, story = random.Random(SEED), list[str]()
    made = of(source, make_table, *QUERIES, format_version=version)
    for step in range(RUNS):
        story.append(happens(dice, source, made))
        for kind, table in made.items():
            with ids_kept(table, KEYS[kind]) if version == 3 and kind in KEYS else nullcontext():
                if dice.random() < 0.2:
                    die(table, dice.choice(["written", "published"]))
                table.derive()
        assert agree(source, made), story
        print(f"FRAZIL_TEST_SEED={SEED}, step {step + 1}: {story[-1]}, {len(made)} tables agree")
