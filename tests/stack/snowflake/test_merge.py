"""MERGE, which upserts into Snowflake's own tables."""

from __future__ import annotations

import pytest

from kit.stack.standin import StandIn

MERGE = (
    "merge into {target} as t using {source} on t.id = {key} "
    "when matched and {value} is null then delete "
    "when matched then update set t.word = {value} "
    "when not matched then insert (id, word) values ({key}, {value})"
)
ROWS = "select 1 as id, 'one' as word union all select 2, null union all select 4, 'four'"


@pytest.fixture
def target(standin: StandIn, fresh_name: str) -> str:
    """The full name of a table with three rows."""
    name = f"frz.s.{fresh_name}"
    standin.rows(
        f"create table {name} (id int, word varchar)",
        f"insert into {name} values (1, 'a'), (2, 'b'), (3, 'c')",
    )
    return name


def merge(target: str, source: str, prefix: str) -> str:
    return MERGE.format(target=target, source=source, key=f"{prefix}id", value=f"{prefix}word")


def rows(standin: StandIn, target: str) -> list[tuple[object, ...]]:
    return standin.rows(f"select id, word from {target} order by id")


def test_a_merge_needs_no_current_database_and_says_what_it_did(standin: StandIn, target: str) -> None:
    with standin.connect() as connection, connection.cursor() as cursor:
        cursor.execute(merge(target, f"({ROWS}) s", "s."))
        counted = dict(zip([each[0] for each in cursor.description], cursor.fetchone(), strict=True))

    assert counted == {
        "number of rows inserted": 1,
        "number of rows updated": 1,
        "number of rows deleted": 1,
    }
    assert cursor.rowcount == 3
    assert rows(standin, target) == [(1, "one"), (3, "c"), (4, "four")]


def test_the_source_of_a_merge_needs_no_alias(standin: StandIn, target: str) -> None:
    statement = (
        f"merge into {target} as t using (select 3 as number) on t.id = number when matched then delete"
    )

    assert standin.rows(statement) == [(1,)]
    assert rows(standin, target) == [(1, "a"), (2, "b")]


def test_a_merge_is_part_of_a_transaction(standin: StandIn, target: str) -> None:
    with standin.connect(autocommit=False) as connection, connection.cursor() as cursor:
        cursor.execute(f"insert into {target} values (5, 'e')")
        cursor.execute(merge(target, f"({ROWS}) s", "s."))
        connection.rollback()

    assert rows(standin, target) == [(1, "a"), (2, "b"), (3, "c")]


def test_values_are_bound_in_a_merge(standin: StandIn, target: str) -> None:
    statement = (
        f"merge into {target} as t using (select ? as id, ? as word) s on t.id = s.id "
        "when matched then update set word = s.word"
    )
    with standin.connect(paramstyle="qmark") as connection, connection.cursor() as cursor:
        cursor.execute(statement, (3, "see"))

    assert rows(standin, target)[-1] == (3, "see")


@pytest.mark.parametrize(
    ("statement", "state"),
    [
        ("merge into {0} t using (select 1 as id) s on t.nothing = s.id when matched then delete", "02000"),
        ("merge into frz.s.nowhere t using {0} s on t.id = s.id when matched then delete", "42S02"),
        ("merge into {0} using", "42000"),
    ],
)
def test_a_merge_that_cannot_be_is_refused(standin: StandIn, target: str, statement: str, state: str) -> None:
    assert standin.refusal(statement.format(target)).sqlstate == state
