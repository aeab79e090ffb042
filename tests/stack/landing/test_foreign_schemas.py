"""Columns that another engine changes while records are landed: none is lost, and what misfits is named."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from frazil.checks.run import run_check
from frazil.errors import SchemaRefusedError
from frazil.landing.land import land
from frazil.quoting import quoted
from frazil.tables.spark.session import spark_name
from kit.records.topics import Topic


def test_a_type_that_another_engine_widens_is_taken_and_a_name_that_it_changes_is_refused(
    landed: Topic,
) -> None:
    def altered(how: str) -> Callable[[str], None]:
        table = spark_name(landed.things.table)
        alter = f"ALTER TABLE {table} {how}"
        return lambda done: landed.connections.spark.sql(alter).collect() if done == "audited" else None

    for how in ("ALTER COLUMN quantity TYPE BIGINT", "RENAME COLUMN symbol TO sign"):
        landed.trades(3)
        assert land(landed.spec, landed.connections, on_step=altered(how)).records == 3
    landed.trades(3)
    with pytest.raises(SchemaRefusedError, match="field symbol") as raised:
        land(landed.spec, landed.connections)
    refused = len(landed.rows())
    altered("RENAME COLUMN sign TO symbol")("audited")

    assert "rename: {from: sign, to: symbol}" in raised.value.todo
    assert refused == 16
    assert land(landed.spec, landed.connections).records == 3
    assert [(row["quantity"], row["symbol"]) for row in landed.rows()] == [(n, "ZTEST") for n in range(19)]
    assert run_check("row_count_deep", landed.spec, landed.connections).passed


@pytest.mark.each_time("rest-a`b")
@pytest.mark.parametrize("name", ["a note", "a`b", "a.b", "a-b", "🧊"])
def test_a_column_of_any_name_that_another_engine_added_is_dropped_as_the_error_says(
    landed: Topic, name: str
) -> None:
    table, spark = spark_name(landed.things.table), landed.connections.spark
    spark.sql(f"ALTER TABLE {table} ADD COLUMN {quoted(name)} STRING").collect()
    landed.trades(3)
    with pytest.raises(SchemaRefusedError, match="can't be dropped") as raised:
        land(landed.spec, landed.connections)
    before = len(landed.rows())

    alter, _, dropped = raised.value.todo.removesuffix(". Then land again.").partition("ALTER TABLE ...")
    assert alter.endswith("If another engine added it to the table, drop it there: ")
    spark.sql(f"ALTER TABLE {table}{dropped}").collect()

    assert before == 10
    assert land(landed.spec, landed.connections).records == 3
    assert [row["quantity"] for row in landed.rows()] == list(range(13))
