"""Derived tables of version 3: the row of a key keeps its id, whatever a derivation does to it."""

from __future__ import annotations

import pytest

from frazil.connections import Connections
from frazil.landing.schema.upgrade import upgrade
from kit.derived.each_kind import KEYS, NEWEST, PRICED, agree, of, trade
from kit.derived.made import MakeTable
from kit.derived.row_ids import ids_of, kept
from kit.tables.changing import Changing, make_changing

MERGED = {
    "often": ("counted", "latest"),
    "seldom": ("counted", "totals", "running", "totals of totals"),
}
"""By subtraction, the newest row; by totals of a key anew, all windows from one on, and of such a table."""


@pytest.fixture
def source(connections: Connections, fresh_name: str) -> Changing:
    """An input whose rows change, without any."""
    return make_changing(connections.catalog, f"{fresh_name}_in", PRICED)


@pytest.mark.nightly
@pytest.mark.parametrize("words", MERGED.values(), ids=MERGED)
def test_the_row_of_a_key_keeps_its_id_through_derivations_and_a_rebuild(
    source: Changing, make_table: MakeTable, words: tuple[str, ...]
) -> None:
    made = of(source, make_table, *words, format_version=3)
    begun = [trade(1, 10), trade(2, 20), trade(3, 30, "ZTEST", 60), trade(4, 11, None, 90)]
    source.append([*begun, trade(9, 7, "ZZ", 61)])
    steps = [
        lambda: source.append([trade(5, 21), trade(6, 1, "NEW", 120), trade(8, 3, "ZVV", 1)]),
        lambda: source.change([trade(1, 7), trade(2, 20, "ZBZX")], ends=[4]),
        lambda: source.change([trade(4, 12, None, 90)]),
    ]
    for table in made.values():
        table.derive()
    for step in steps:
        before = {kind: ids_of(table, KEYS[kind]) for kind, table in made.items()}
        step()
        assert not any(table.derive().whole for table in made.values())
        assert agree(source, made)
        for kind, table in made.items():
            after = ids_of(table, KEYS[kind])
            assert kept(before[kind], after), kind
            quiet = [key for key in after if "ZZ" in key]
            assert [after[key] for key in quiet] == [before[kind][key] for key in quiet], kind

    for kind, table in made.items():
        before_it = ids_of(table, KEYS[kind])
        table.derive(rebuild=True)
        assert ids_of(table, KEYS[kind]) == before_it


@pytest.mark.nightly
def test_rows_without_a_key_keep_their_ids_as_long_as_they_stay_and_those_made_anew_get_others(
    source: Changing, make_table: MakeTable
) -> None:
    made = of(source, make_table, "rows", format_version=3)["rows"]
    full = make_table(NEWEST.format(source=source.name), kind="full", format_version=3)
    source.append([trade(n, 10 + n) for n in range(4)])
    made.derive()
    full.derive()
    begun, all_begun = ids_of(made, 2), ids_of(full, 2)

    source.change([trade(1, 99), trade(7, 50)], ends=[2])
    made.derive()
    full.derive()

    after = ids_of(made, 2)
    assert kept(begun, after)
    stay = {("ZVV", 20), ("ZVV", 26)}
    assert after.keys() == {*stay, ("ZVV", 198), ("ZVV", 100)}
    assert {key: after[key] for key in stay} == {key: begun[key] for key in stay}
    anew = ids_of(full, 2)
    assert not {row.row_id for row in anew.values()} & {row.row_id for row in all_begun.values()}
    assert agree(source, {"rows": made})


@pytest.mark.nightly
def test_an_upgraded_table_is_derived_on(source: Changing, make_table: MakeTable) -> None:
    tables = of(source, make_table, "latest", publish=())
    source.append([trade(1, 10), trade(2, 20, "ZTEST")])
    tables["latest"].derive()
    assert upgrade(tables["latest"].spec, tables["latest"].connections).rows == 2
    before = ids_of(tables["latest"], 1)

    source.change([trade(1, 11), trade(3, 30, "NEW")])
    tables["latest"].derive()

    assert agree(source, tables)
    assert kept(before, ids_of(tables["latest"], 1))
