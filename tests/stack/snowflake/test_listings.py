"""Iceberg tables are listed and described as Snowflake does it: as tables, with Snowflake's types."""

from __future__ import annotations

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import IntegerType, LongType, MapType, NestedField, StringType, TimestamptzType

from frazil.connections import Connections
from frazil.spec.names import things
from frazil.spec.topic import TableSpec
from kit.readers.trades import Trades
from kit.stack.standin import StandIn


@pytest.fixture
def listed(standin: StandIn, trades: Trades) -> str:
    """The name of an Iceberg table, beside which stand a view `..._CLEAN` and a table `..._PLAIN`."""
    name = trades.names.table.table.upper()
    standin.rows(
        trades.create_sql(f"frz.s.{name}"),
        f"create view frz.s.{name}_clean as select symbol from frz.s.{name}",
        f"create table frz.s.{name}_plain (a int)",
    )
    return name


def test_the_information_schema_lists_tables_of_every_kind_and_views(standin: StandIn, listed: str) -> None:
    rows = standin.rows(
        "select table_name, table_type, is_iceberg from frz.information_schema.tables "
        f"where table_schema = 'S' and table_name like '{listed}%' order by table_name"
    )

    assert rows == [
        (listed, "BASE TABLE", "YES"),
        (f"{listed}_CLEAN", "VIEW", "NO"),
        (f"{listed}_PLAIN", "BASE TABLE", "NO"),
    ]


def test_an_iceberg_table_is_no_view(standin: StandIn, listed: str) -> None:
    views = standin.rows(
        f"select table_name from frz.information_schema.views where table_name like '{listed}%'"
    )
    shown = standin.dicts(f"show views like '{listed}%' in schema frz.s")

    assert views == [(f"{listed}_CLEAN",)]
    as_sent = f"create view frz.s.{listed}_clean as select symbol from frz.s.{listed}"
    assert [(row["name"], row["text"]) for row in shown] == [(f"{listed}_CLEAN", as_sent)]


def test_an_iceberg_table_is_shown_among_tables_and_objects(standin: StandIn, listed: str) -> None:
    tables = standin.dicts(f"show tables like '{listed}%' in schema frz.s")
    objects = standin.dicts(f"show objects like '{listed}%' in schema frz.s")

    assert {t["name"]: (t["kind"], t["is_iceberg"]) for t in tables} == {
        listed: ("TABLE", "Y"),
        f"{listed}_PLAIN": ("TABLE", "N"),
    }
    assert {o["name"]: (o["kind"], o["is_iceberg"]) for o in objects} == {
        listed: ("TABLE", "Y"),
        f"{listed}_CLEAN": ("VIEW", "N"),
        f"{listed}_PLAIN": ("TABLE", "N"),
    }


@pytest.mark.parametrize("kind", ["iceberg table", "table"])
def test_columns_are_described_with_snowflakes_types(
    standin: StandIn, connections: Connections, fresh_name: str, kind: str
) -> None:
    counts = MapType(11, StringType(), 12, IntegerType(), value_required=False)
    schema = Schema(
        NestedField(1, "id", IntegerType(), required=True),
        NestedField(2, "total", LongType()),
        NestedField(3, "at", TimestamptzType()),
        NestedField(4, "counts", counts),
    )
    names = things(TableSpec(topic=fresh_name, namespace="snowflake_tests"), connections.settings)
    connections.catalog.create_namespace_if_not_exists(names.table.namespace)
    made = Trades(connections, names, connections.catalog.create_table(names.table.identifier, schema))
    made.show()
    standin.rows(made.create_sql(f"frz.s.{fresh_name}"))

    described = standin.dicts(f"describe {kind} frz.s.{fresh_name}")

    assert [(each["name"], each["type"], each["null?"]) for each in described] == [
        ("id", "NUMBER(10,0)", "N"),
        ("total", "NUMBER(19,0)", "Y"),
        ("at", "TIMESTAMP_LTZ(6)", "Y"),
        ("counts", "MAP(VARCHAR(16777216), NUMBER(10,0))", "Y"),
    ]


def test_a_table_of_snowflakes_own_is_described_as_before(standin: StandIn, listed: str) -> None:
    described = standin.dicts(f"desc table frz.s.{listed}_plain")

    assert [(each["name"], each["type"]) for each in described] == [("A", "NUMBER(38,0)")]
