"""Every check of a derived table fails when what it guards is broken, and says so in numbers."""

from __future__ import annotations

from datetime import timedelta

import pyarrow as pa
import pytest

from frazil.checks.own import results_of
from frazil.checks.result import CheckResult
from frazil.checks.run import run_check
from frazil.derive.positions.state import derived_states
from frazil.errors import ChecksFailedError
from kit.derived.made import Made, MakeTable, Source


def doubled(source: Source) -> str:
    return f"SELECT symbol, quantity * :times AS twice FROM {source.name.table} WHERE quantity > 0"


@pytest.fixture
def made(source: Source, make_table: MakeTable) -> Made:
    """A table of two trades, twice as large."""
    source.trades(1, 2, -1)
    table = make_table(doubled(source), parameters={"times": 2})
    table.derive()
    return table


def check(made: Made, name: str, **changed: object) -> CheckResult:
    return run_check(name, made.spec.model_copy(update=changed), made.connections)


def test_a_sound_table_passes(source: Source, made: Made) -> None:
    source.trades(3)
    made.derive()

    results = {name: check(made, name) for name in ("row_count", "schema", "inputs_read", "query_agrees")}

    assert {name: result.text for name, result in results.items() if not result.passed} == {}
    assert results["row_count"].numbers["rows"] == 3
    assert results["query_agrees"].numbers == {"missing": 0, "extra": 0, "compared": 1}


def test_a_table_that_was_never_derived_fails(source: Source, make_table: MakeTable) -> None:
    table = make_table(doubled(source), parameters={"times": 2})

    result = check(table, "row_count")

    assert not result.passed
    assert f"`frazil derive {table.name}`" in result.text


def test_rows_that_somebody_deleted_are_missed(made: Made) -> None:
    made.table.delete("twice = 2")

    result = check(made, "row_count")

    assert (result.passed, result.severity) == (False, "ERROR")
    assert (result.numbers["rows"], result.numbers["derived"]) == (1, 2)


def test_rows_that_are_not_the_querys_are_found(made: Made) -> None:
    """As many as before: the row count sees nothing of it."""
    rows = made.table.scan().to_arrow()
    changed = [{**row, "twice": row["twice"] + 1} for row in rows.to_pylist()]
    made.table.overwrite(pa.Table.from_pylist(changed, schema=rows.schema))

    result = check(made, "query_agrees")

    assert not result.passed
    assert (result.numbers["missing"], result.numbers["extra"]) == (2, 2)


def test_rows_that_wait_are_counted_and_may_for_as_long_as_the_spec_says(source: Source, made: Made) -> None:
    source.trades(7, 8)

    result = check(made, "inputs_read")
    allowed = check(made, "inputs_read", freshness=timedelta(hours=1))

    assert (result.passed, result.severity) == (False, "WARN")
    assert result.numbers["waiting"] == 2
    assert f"`frazil derive {made.name}` reads them" in result.text
    assert allowed.passed


def test_a_column_that_the_query_has_and_the_table_lacks_is_named(source: Source, made: Made) -> None:
    asked = made.ask(f"SELECT symbol, quantity * :times AS twice, at FROM {source.name.table}")

    result = check(asked, "schema")

    assert not result.passed
    assert "at is missing" in result.text


def test_a_query_about_the_clock_can_not_be_asked_again(source: Source, make_table: MakeTable) -> None:
    source.trades(1)
    made = make_table(f"SELECT symbol, :now AS seen FROM {source.name.table}")
    made.derive()

    result = check(made, "query_agrees")

    assert result.status == "skipped"
    assert result.text.startswith("Skipped, because the rows can't be made anew")
    assert "asks for :now" in result.text


def test_an_input_that_was_rewritten_is_said_before_the_next_derivation(source: Source, made: Made) -> None:
    source.table.delete("quantity = 1")

    (state,) = derived_states([made.spec], made.connections)
    result = check(made, "inputs_read")

    assert state.state == "rebuild needed"
    assert not result.passed
    assert "changed or deleted" in result.text
    assert "--rebuild` makes all rows anew" in result.text


def test_totals_agree_with_their_query(source: Source, make_table: MakeTable) -> None:
    source.trades(1, 2)
    made = make_table(
        f"SELECT symbol, sum(quantity) AS n FROM {source.name.table} GROUP BY symbol", kind="totals"
    )
    made.derive()
    source.trades(5)
    made.derive()

    assert made.rows() == [("ZTEST", 8)]
    assert [check(made, name).passed for name in ("row_count", "query_agrees")] == [True, True]


def own(name: str, expect: str, on_failure: str = "warn") -> dict[str, str]:
    return {"name": name, "expect": expect, "on_failure": on_failure}


def failing_in(table: Made) -> dict[str, tuple[int, int]]:
    """Of each check how many rows fail in the newest derivation, and how many were asked."""
    return {each.name: (each.failing, each.rows) for each in table.reports[-1].checks}


def test_rows_that_fail_a_check_are_named_or_stop_the_derivation_before_the_commit(
    source: Source, make_table: MakeTable
) -> None:
    small, some = own("small", "twice < 10"), own("some", "max(twice) < 20", "stop")
    query = f"SELECT symbol, quantity * 2 AS twice, 7L AS `$$offset` FROM {source.name.table}"
    made = make_table(query, checks=[small, some])
    source.trades(1, 6, 7)
    made.reports.append(made.derive())

    assert failing_in(made) == {"small": (2, 3), "some": (0, 3)}
    assert made.reports[0].checks[0].shown == ("$$offset = 7", "$$offset = 7")
    assert (made.ledger.failing, len(made.rows())) == ({"small": 2}, 3)
    whole = check(made, "check_small")
    assert (whole.passed, whole.severity, whole.numbers["failing"]) == (False, "WARN", 2)
    assert whole.numbers["first_failing"] == "$$offset = 7; $$offset = 7"
    before = made.ledger

    source.trades(1, 11)
    with pytest.raises(ChecksFailedError, match="fail check some") as stopped:
        made.derive()

    assert stopped.value.where == "max(twice) < 20: is false for 2 rows; max(twice) is 22."
    results = results_of(made.spec, made.connections.settings, stopped.value.outcomes)
    assert [(r.check, r.failed, r.severity) for r in results] == [
        ("check_small", True, "WARN"), ("check_some", True, "ERROR"),
    ]  # fmt: skip
    assert made.ledger == before
    warning = tuple(each.model_copy(update={"on_failure": "warn"}) for each in made.spec.checks)
    made.spec = made.spec.model_copy(update={"checks": warning})
    assert made.derive().total_rows == 5


@pytest.mark.nightly
def test_checks_of_merged_rows_see_them_as_they_are_written(source: Source, make_table: MakeTable) -> None:
    query = f"SELECT symbol, sum(quantity) AS n, min(at) AS first FROM {source.name.table} GROUP BY symbol"
    made = make_table(query, kind="totals", checks=[own("few", "n < 4", "stop")])
    source.trades(1, 2)
    made.reports.append(made.derive())
    source.trades(1)

    with pytest.raises(ChecksFailedError) as stopped:
        made.derive()

    assert failing_in(made) == {"few": (0, 1)}
    assert stopped.value.where == "n < 4: false for 1 of 1 rows; the first: symbol = ZTEST."
    assert made.rows("n") == [(3,)]
    assert check(made, "check_few").passed
