"""Which statements of Flink are played, and what they make of rows."""

from __future__ import annotations

import json

import pytest

from frazil.formats.registry.wanted import WantedSchema, register
from frazil_local.cloud.confluent.flink.job import Selection, selection_of, types_of
from kit.deployments.tableflow import Registry

TRADE = {
    "type": "record", "name": "trade",
    "fields": [{"name": "quantity", "type": "int"}, {"name": "price", "type": ["null", "int"]}],
}  # fmt: skip
TOTALS = """CREATE TABLE IF NOT EXISTS totals WITH ('changelog.mode' = 'append')
AS SELECT $rowtime AS at, `quantity`, quantity * price AS total FROM trades WHERE quantity > 1"""


def registry(kind: str = "AVRO", text: str = json.dumps(TRADE)) -> Registry:
    fake = Registry()
    register(fake, "trades-value", WantedSchema(kind, text))  # type: ignore[arg-type]
    return fake


def selection() -> Selection:
    selected = selection_of(TOTALS)
    assert selected
    return selected


def test_a_filter_and_columns_of_one_topic_are_played() -> None:
    assert (selection().source, selection().to) == ("trades", "totals")
    made = types_of(selection(), registry()).made  # type: ignore[arg-type]
    moment = {"type": "long", "logicalType": "timestamp-millis"}
    kinds = {field["name"]: field["type"] for field in made["fields"]}
    assert kinds == {"at": ["null", moment], "quantity": ["null", "int"], "total": ["null", "int"]}


@pytest.mark.parametrize(
    "sql",
    [
        "DROP TABLE IF EXISTS totals",
        "CREATE TABLE totals (a INT)",
        "CREATE TABLE totals AS SELECT SUM(price) AS price FROM trades",
        "CREATE TABLE totals AS SELECT price FROM trades GROUP BY price",
        "CREATE TABLE totals AS SELECT a.price FROM trades JOIN others ON a.id = b.id",
        "CREATE TABLE totals AS SELECT price FROM trades UNION ALL SELECT price FROM others",
    ],
)
def test_what_groups_joins_or_unites_is_not(sql: str) -> None:
    assert selection_of(sql) is None


def test_a_column_that_is_not_there_ends_the_statement() -> None:
    selected = selection_of("CREATE TABLE totals AS SELECT weight FROM trades")
    assert selected
    with pytest.raises(ValueError, match='"weight" not found'):
        types_of(selected, registry())  # type: ignore[arg-type]


def test_a_topic_without_a_schema_has_no_columns_to_select() -> None:
    selected = selection_of("CREATE TABLE totals AS SELECT price FROM others")
    assert selected
    with pytest.raises(ValueError, match="has no schema"):
        types_of(selected, Registry())  # type: ignore[arg-type]
