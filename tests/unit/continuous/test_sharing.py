"""Which of several runners a table belongs to."""

from __future__ import annotations

from collections import Counter

from frazil.continuous.sharing import owner_of

TABLES = [f"shop.t{n}" for n in range(1000)]
MEMBERS = ["frazil-1", "frazil-2", "frazil-3", "frazil-4"]


def test_each_member_has_about_as_many_tables_as_any_other() -> None:
    counts = Counter(owner_of(table, MEMBERS) for table in TABLES)

    assert sorted(counts) == MEMBERS
    assert max(counts.values()) < 1.25 * min(counts.values())


def test_only_tables_of_the_member_that_goes_move() -> None:
    before = {table: owner_of(table, MEMBERS) for table in TABLES}
    after = {table: owner_of(table, MEMBERS[1:]) for table in TABLES}

    moved = {table for table in TABLES if before[table] != after[table]}
    assert moved == {table for table in TABLES if before[table] == MEMBERS[0]}


def test_members_agree_in_whatever_order_they_are_listed() -> None:
    for table in TABLES:
        assert owner_of(table, MEMBERS) == owner_of(table, reversed(MEMBERS))
