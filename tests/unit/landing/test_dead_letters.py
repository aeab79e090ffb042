"""Dead letters are kept once, with all that a redrive needs, in a real table in memory."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.expressions import AlwaysTrue

from frazil.errors import CommitConflictError, OvertakenError, RetryError
from frazil.landing.position.ledger import Ledger
from frazil.landing.repairs import dead_letters
from frazil.landing.repairs.bad_records import BadRecord
from frazil.landing.repairs.dead_letters import (
    keep_dead_letters,
    letters_schema,
    of_log,
    read_letters,
    survey,
)
from frazil.spec.names import TableName
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.commits.erasure import forgettings
from frazil.tables.keys import keys_in
from frazil.upkeep.forgetting.rows import Going, Gone, came_since

if TYPE_CHECKING:
    from pyiceberg.table import Table

NAME = TableName("tests", "trades")
LEDGER = Ledger("trades", "id", {0: (0, 10), 1: (0, 3)}, {0: 0, 1: 0}, landing="landing_1_a")


DAY = 86_400.0


@pytest.fixture
def catalog(tmp_path: Any) -> Iterator[Catalog]:
    catalog = load_catalog("dead_letters", type="in-memory", warehouse=f"file://{tmp_path}")
    yield catalog
    catalog.close()


def bad(partition: int, offset: int, code: str = "truncated", **changed: Any) -> BadRecord:
    record = {
        "timestamp": datetime(2026, 1, 1 + offset % 2, tzinfo=UTC),
        "timestamp_type": 0,
        "leader_epoch": 3,
        "headers": [("h", b"1")],
        "raw_key": b"\0\0\0\0\7key",
        "raw_value": b"\0\0\0\0\5value",
    }
    return BadRecord(
        partition, offset, code, "why", {"partition": partition, "offset": offset, **record, **changed}
    )


def kept(catalog: Catalog) -> list[tuple[int, int]]:
    rows = catalog.load_table(NAME.dead_letters.identifier).scan().to_arrow().to_pylist()
    return sorted((r["partition"], r["offset"]) for r in rows)


def test_a_dead_letter_is_read_back_as_it_was_kept(catalog: Catalog) -> None:
    keep_dead_letters(
        TableHandle(catalog, NAME), LEDGER, [bad(0, 1), bad(1, 2, headers=None, raw_value=None)]
    )
    table = catalog.load_table(NAME.dead_letters.identifier)

    one, two = read_letters(table, AlwaysTrue(), {(0, 1), (1, 2), (1, 9)})

    assert (one.topic, one.key, one.headers, one.schema_id) == ("trades", (0, 1), {"h": b"1"}, 5)
    assert (one.timestamp, one.timestamp_type, one.leader_epoch) == (datetime(2026, 1, 2, tzinfo=UTC), 0, 3)
    assert (one.reason_code, one.reason, one.landing) == ("truncated", "why", "landing_1_a")
    assert (two.headers, two.raw_value, two.schema_id) == (None, None, None)
    assert [str(f.transform) for f in table.spec().fields] == ["day"]
    assert len(list(table.scan().plan_files())) == 2


def test_the_schema_id_is_that_of_the_half_at_fault(catalog: Catalog) -> None:
    keep_dead_letters(
        TableHandle(catalog, NAME),
        LEDGER,
        [bad(0, 1, "key_schema_id"), bad(0, 2, "too_short", raw_value=b"\0")],
    )

    letters = read_letters(catalog.load_table(NAME.dead_letters.identifier), AlwaysTrue(), {(0, 1), (0, 2)})

    assert [letter.schema_id for letter in letters] == [7, None]


def test_a_landing_repeated_after_a_crash_writes_nothing_twice(catalog: Catalog) -> None:
    keep_dead_letters(TableHandle(catalog, NAME), LEDGER, [bad(0, 1)])
    again = replace(LEDGER, landing="landing_2_b")
    keep_dead_letters(TableHandle(catalog, NAME), again, [bad(0, 1)])

    assert kept(catalog) == [(0, 1)]


def test_files_of_dead_letters_that_waited_for_hours_are_not_named_as_orphan_removal_may_have_taken_them(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_dead_letters(TableHandle(catalog, NAME), LEDGER, [bad(0, 1)])
    write, real = dead_letters.write_files, time.time

    def and_sleep(*args: Any) -> Any:
        monkeypatch.setattr("time.time", lambda: real() + DAY)
        return write(*args)

    monkeypatch.setattr(dead_letters, "write_files", and_sleep)
    later = replace(LEDGER, spans={0: (10, 20), 1: (3, 3)}, landing="landing_2_b")

    with pytest.raises(RetryError, match="may be gone"):
        keep_dead_letters(TableHandle(catalog, NAME), later, [bad(0, 11)])

    assert kept(catalog) == [(0, 1)]


def test_a_record_that_only_the_repeated_landing_finds_bad_is_kept(catalog: Catalog) -> None:
    keep_dead_letters(TableHandle(catalog, NAME), LEDGER, [bad(0, 1)])
    longer = replace(LEDGER, landing="landing_2_b", spans={0: (0, 12), 1: (0, 3)})
    keep_dead_letters(TableHandle(catalog, NAME), longer, [bad(0, 1), bad(0, 4), bad(0, 11), bad(1, 0)])

    assert kept(catalog) == [(0, 1), (0, 4), (0, 11), (1, 0)]


def test_a_bad_record_of_a_topic_that_was_made_anew_is_kept_beside_the_old_ones_at_its_place(
    catalog: Catalog,
) -> None:
    keep_dead_letters(TableHandle(catalog, NAME), LEDGER, [bad(0, 1), bad(0, 7)])
    anew = replace(LEDGER, topic_id="anew", landing="landing_2_b", spans={0: (0, 2), 1: (0, 0)})
    keep_dead_letters(TableHandle(catalog, NAME), anew, [bad(0, 1, raw_value=b"anew")])
    keep_dead_letters(
        TableHandle(catalog, NAME), replace(anew, landing="landing_3_c"), [bad(0, 1, raw_value=b"anew")]
    )
    table = catalog.load_table(NAME.dead_letters.identifier)

    assert kept(catalog) == [(0, 1), (0, 1), (0, 7)]
    (letter,) = read_letters(table, of_log("anew"), {(0, 1), (0, 7)})
    assert (letter.raw_value, letter.topic_id) == (b"anew", "anew")


def test_a_table_of_an_earlier_version_gets_the_columns_that_it_lacks(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as earlier:
        earlier.setattr(dead_letters, "_FIELDS", dead_letters._FIELDS[:10])
        keep_dead_letters(TableHandle(catalog, NAME), LEDGER, [bad(0, 1)])
    later = replace(LEDGER, landing="landing_2_b", spans={0: (10, 12), 1: (3, 3)})
    keep_dead_letters(TableHandle(catalog, NAME), later, [bad(0, 10)])

    table = catalog.load_table(NAME.dead_letters.identifier)
    old, new = read_letters(table, AlwaysTrue(), {(0, 1), (0, 10)})
    assert table.schema().column_names == letters_schema().column_names
    assert (old.leader_epoch, new.leader_epoch) == (None, 3)


def test_a_survey_counts_by_reason(catalog: Catalog) -> None:
    nothing = survey(TableHandle(catalog, NAME))
    keep_dead_letters(TableHandle(catalog, NAME), LEDGER, [bad(0, 1), bad(0, 2), bad(1, 1, "too_short")])

    letters = survey(TableHandle(catalog, NAME))

    assert (nothing.rows, nothing.by_reason, nothing.newest) == (0, {}, None)
    assert (letters.rows, letters.by_reason) == (3, {"too_short": 1, "truncated": 2})
    assert letters.newest == datetime(2026, 1, 2, tzinfo=UTC)


def test_many_keys_are_found_as_few_are(catalog: Catalog) -> None:
    keep_dead_letters(TableHandle(catalog, NAME), LEDGER, [bad(0, 1), bad(0, 7), bad(1, 2)])
    table = catalog.load_table(NAME.dead_letters.identifier)

    assert keys_in(table, [(0, 1), (0, 2), (1, 2), (2, 1)]) == {(0, 1), (1, 2)}
    assert keys_in(table, [(0, n) for n in range(2, 1000)]) == {(0, 7)}
    assert keys_in(table, []) == set()


@pytest.mark.parametrize("gone", ["manifest list", "data file"])
def test_who_reads_a_head_that_expires_meanwhile_is_told_to_try_again(catalog: Catalog, gone: str) -> None:
    keep_dead_letters(TableHandle(catalog, NAME), LEDGER, [bad(0, 1)])
    table = catalog.load_table(NAME.dead_letters.identifier)
    head = table.current_snapshot()
    assert head
    data = next(iter(table.scan().plan_files())).file.file_path
    table.io.delete(head.manifest_list if gone == "manifest list" else data)

    with pytest.raises(CommitConflictError, match="went while it was read"):
        keys_in(table, [(0, 1)])


def test_none_are_kept_where_rows_were_forgotten_since_they_were_compared(catalog: Catalog) -> None:
    """A table of dead letters that is made only then knows of no forgetting."""
    catalog.create_namespace(NAME.namespace)
    rows = catalog.create_table(NAME.identifier, letters_schema(), properties=looks(1))

    with pytest.raises(CommitConflictError, match=r"Rows of tests\.trades were forgotten"):
        keep_dead_letters(TableHandle(catalog, NAME), LEDGER, [bad(0, 1)], (0, 0))
    assert kept(catalog) == []

    keep_dead_letters(TableHandle(catalog, NAME), LEDGER, [bad(0, 1)], (0, forgettings(rows.metadata)))
    assert kept(catalog) == [(0, 1)]


def test_none_are_kept_where_dead_letters_were_looked_for_since(catalog: Catalog) -> None:
    catalog.create_namespace(NAME.namespace)
    catalog.create_table(NAME.identifier, letters_schema())
    keep_dead_letters(TableHandle(catalog, NAME), LEDGER, [bad(0, 1)], (0, 0))
    letters = catalog.load_table(NAME.dead_letters.identifier)
    with letters.transaction() as tx:
        tx.set_properties(looks(1))

    with pytest.raises(CommitConflictError, match="Dead letters of"):
        keep_dead_letters(
            TableHandle(catalog, NAME), replace(LEDGER, landing="landing_2_b"), [bad(0, 2)], (0, 0)
        )
    assert kept(catalog) == [(0, 1)]


def test_none_are_kept_where_another_landing_has_published_their_records(catalog: Catalog) -> None:
    """They may have been forgotten behind it, and then nobody may bring them back."""
    catalog.create_namespace(NAME.namespace)
    ahead = {"frazil.topic": "trades", "frazil.topic-id": "id"}
    catalog.create_table(NAME.identifier, letters_schema(), properties=ahead)

    def still(table: Table) -> None:
        if table.properties.items() >= ahead.items():
            raise OvertakenError("Another landing was quicker.", meaning="It is.", todo="Nothing.")

    with pytest.raises(OvertakenError, match="quicker"):
        keep_dead_letters(TableHandle(catalog, NAME), LEDGER, [bad(0, 1)], still=still)
    assert kept(catalog) == []


def test_who_was_not_quick_enough_to_keep_some_lands_again_and_keeps_those_that_are_new(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_dead_letters(TableHandle(catalog, NAME), LEDGER, [bad(0, 1)])
    second, third = (replace(LEDGER, spans={0: (10, 20)}, landing=f"landing_{n}_b") for n in (2, 3))
    write = dead_letters._data_files

    def files(table: Any, rows: Any) -> Any:
        monkeypatch.undo()
        keep_dead_letters(TableHandle(catalog, NAME), third, [bad(0, 11)])
        return write(table, rows)

    monkeypatch.setattr(dead_letters, "_data_files", files)
    with pytest.raises(OvertakenError, match="to keep its bad records") as refused:
        keep_dead_letters(TableHandle(catalog, NAME), second, [bad(0, 11)])

    keep_dead_letters(
        TableHandle(catalog, NAME), replace(second, spans={0: (10, 21)}), [bad(0, 11), bad(0, 20)]
    )

    assert refused.value.todo == "Land again."
    assert kept(catalog) == [(0, 1), (0, 11), (0, 20)]


def test_none_come_behind_the_last_look_of_who_forgets(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What came before it is found by that look."""
    keep_dead_letters(TableHandle(catalog, NAME), LEDGER, [bad(0, 1)])
    table = catalog.load_table(NAME.dead_letters.identifier)
    gone = Gone(str(NAME.dead_letters), snapshot_id=table.metadata.current_snapshot_id)
    going = Going(
        TableHandle(catalog, NAME).dead_letters, "false", AlwaysTrue(), timedelta(days=3), early=True
    )
    later = replace(LEDGER, spans={0: (10, 20)}, landing="landing_2_b")

    def files(table: Any, rows: Any) -> Any:
        assert not came_since(going, gone)
        return write(table, rows)

    write = dead_letters._data_files
    monkeypatch.setattr(dead_letters, "_data_files", files)
    with pytest.raises(CommitConflictError, match="were forgotten while") as refused:
        keep_dead_letters(TableHandle(catalog, NAME), later, [bad(0, 11)])
    assert kept(catalog) == [(0, 1)]

    assert refused.value.todo == "Try again."
    monkeypatch.undo()
    keep_dead_letters(TableHandle(catalog, NAME), later, [bad(0, 11)])
    assert came_since(going, gone)


def looks(times: int) -> dict[str, str]:
    """The property by which a table tells how often rows of it were looked for."""
    return {"frazil.upkeep-forgettings": str(times)}
