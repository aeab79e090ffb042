"""A catalog-linked database: Snowflake finds the tables, Frazil looks whether it does and keeps the views."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from pyiceberg.types import LongType

from frazil.checks.targets.drift import Drift
from frazil.checks.targets.finding import find_drift, repair_drift
from frazil.clients import Clients
from frazil.connections import Connections
from frazil.errors import MissingError, RepairError, RetryError
from frazil.publishing.snowflake.tables import Snowflake
from frazil.publishing.target import Shown
from frazil.settings.profile import Settings
from frazil.spec.topic import TableSpec
from kit.readers.trades import Trades, make_trades
from kit.stack.standin import ROLE_ARN, StandIn

INTEGRATION = (
    "create catalog integration r catalog_source = iceberg_rest table_format = iceberg "
    "rest_config = (catalog_uri = 'https://glue.eu-west-1.amazonaws.com/iceberg' "
    "catalog_api_type = aws_glue) "
    f"rest_authentication = (type = sigv4 sigv4_iam_role = '{ROLE_ARN}') enabled = true"
)
LINKED = (
    "create database lake linked_catalog = (catalog = 'r', allowed_namespaces = ('{}')) external_volume = 'v'"
)


def pem_of(standin: StandIn) -> str:
    return standin.key.private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


@dataclass
class Linked:
    """A Snowflake with a linked database, and a table that Glue shows."""

    standin: StandIn
    clients: Connections
    trades: Trades

    @property
    def spec(self) -> TableSpec:
        name = self.trades.names.table
        return TableSpec(topic="any", namespace=name.namespace, table=name.table)

    def sync(self) -> Shown:
        return Snowflake(self.spec, self.clients.settings).sync(self.clients)

    def drift(self) -> Drift:
        return next(d for d in find_drift([self.spec], self.clients) if d.target == "snowflake")

    def rows(self, *statements: str) -> list[tuple[Any, ...]]:
        return self.standin.rows(*statements)

    def looks(self, *, on: bool) -> None:
        self.standin.turn(more={"refreshes": on})


@pytest.fixture(scope="module")
def with_rest(standin: StandIn) -> StandIn:
    """With an integration over which databases can be linked."""
    standin.rows(INTEGRATION)
    return standin


@pytest.fixture
def linked(with_rest: StandIn, connections: Connections, fresh_name: str) -> Iterator[Linked]:
    standin = with_rest
    trades = make_trades(connections, fresh_name, namespace=fresh_name)
    standin.rows(LINKED.format(trades.names.table.namespace))
    own = {
        "port": standin.port, "user": "boss", "private_key": pem_of(standin),
        "private_key_path": None, "database": "views", "linked_database": "lake",
    }  # fmt: skip
    yield Linked(standin, Clients(connections.settings.with_changes(snowflake=own)), trades)
    standin.turn(more={"refreshes": True})
    standin.rows(
        "drop database lake",
        "drop database if exists views",
        "alter catalog integration r set enabled = true",
    )


def test_a_linked_table_gets_views_that_plain_sql_reads_and_no_object_of_frazils_own(linked: Linked) -> None:
    first = linked.sync()
    linked.trades.append("ZWZZT")
    with linked.trades.table.update_schema() as change:
        change.add_column("price", LongType())
    linked.trades.show()
    second = linked.sync()

    name = linked.trades.names.table
    view = f"views.{name.namespace}.{name.table}_clean"
    assert first.name == f"LAKE.{name.namespace}.{name.table}"
    assert (first.rows, second.rows) == (1, 2)
    assert second.metadata_location == linked.trades.table.metadata_location
    read = linked.rows(f"select symbol, price from {view} order by symbol")
    assert read == [("ZTEST", None), ("ZWZZT", None)]
    assert linked.rows("show iceberg tables in database views") == []
    assert linked.drift().state == "in step"


def test_one_that_the_link_has_not_found_yet_or_not_refreshed_yet_is_waited_for(
    linked: Linked, connections: Connections, fresh_name: str
) -> None:
    linked.sync()
    linked.looks(on=False)
    late = Linked(linked.standin, linked.clients, make_trades(connections, f"{fresh_name}_late", fresh_name))
    linked.trades.append("ZWZZT")
    linked.trades.show()

    behind, missing, shown = linked.drift(), late.drift(), linked.sync()
    with pytest.raises(RetryError, match="has not found the table in the catalog yet"):
        late.sync()
    linked.looks(on=True)

    assert (behind.state, behind.snapshots) == ("behind", 1)
    assert behind.why == missing.why == "Snowflake's link to the catalog keeps it"
    assert missing.state == "missing"
    assert shown.metadata_location == behind.shown_metadata
    assert late.sync().rows == 1
    assert linked.drift().state == "in step"


def test_a_link_that_fails_and_one_that_is_not_there_are_errors_that_say_why(
    linked: Linked, connections: Connections, fresh_name: str
) -> None:
    linked.sync()
    linked.rows("alter catalog integration r set enabled = false")
    late = Linked(linked.standin, linked.clients, make_trades(connections, f"{fresh_name}_late", fresh_name))
    linked.trades.append("ZWZZT")
    linked.trades.show()
    nowhere = linked.clients.settings.with_changes(snowflake={"linked_database": "nowhere"})

    for each in (linked, late):
        with pytest.raises(RepairError, match=r"(?s)link to the catalog fails.*integration R is not enabled"):
            each.sync()
    with pytest.raises(MissingError, match=r"(?s)no database NOWHERE.*An administrator makes it once"):
        Snowflake(linked.spec, nowhere).sync(Clients(nowhere))
    linked.rows("alter catalog integration r set enabled = true")

    assert (linked.sync().rows, late.sync().rows) == (2, 1)


def test_a_table_whose_own_refresh_is_off_goes_on_by_the_statement_that_the_error_names(
    linked: Linked,
) -> None:
    linked.sync()
    name = linked.trades.names.table
    linked.rows(f'alter iceberg table lake."{name.namespace}"."{name.table}" set auto_refresh = false')

    with pytest.raises(RepairError, match="does not refresh the table by itself") as refused:
        linked.sync()
    drift = linked.drift()
    linked.rows(str(refused.value.todo).partition("then ")[2].rstrip("."))

    assert (drift.state, drift.why) == ("refused", refused.value.what)
    assert linked.sync().rows == 1


def test_a_table_that_snowflake_refuses_is_an_error_with_its_reason(linked: Linked) -> None:
    linked.trades.point_glue("s3://elsewhere/v1.metadata.json")
    linked.rows("drop database lake", LINKED.format(linked.trades.names.table.namespace))

    with pytest.raises(RepairError, match=r"(?s)can't take over the table.*is not below the active storage"):
        linked.sync()
    linked.trades.point_glue(linked.trades.table.metadata_location)

    assert linked.sync().rows == 1


def test_a_view_that_somebody_dropped_is_repaired_and_the_table_is_left_to_the_link(linked: Linked) -> None:
    linked.sync()
    name = linked.trades.names.table
    linked.rows(f"drop view views.{name.namespace}.{name.table}_clean")

    before = linked.drift()
    after, _ = repair_drift(linked.spec, [before], linked.clients)
    Snowflake(linked.spec, linked.clients.settings).drop(linked.clients)

    assert before.state == "columns"
    assert [each.state for each in after if each.target == "snowflake"] == ["in step"]
    assert linked.rows(f'select count(*) from lake."{name.namespace}"."{name.table}"') == [(1,)]
    assert linked.rows("show views in database views") == []


def test_the_standin_makes_nothing_of_its_own_in_a_linked_database_and_none_over_a_glue_integration(
    linked: Linked, stack: Settings
) -> None:
    name = linked.trades.names.table
    refused = linked.standin.refusal(f'create view lake."{name.namespace}".v as select 1 as a')
    not_rest = linked.standin.refusal(
        "create database other linked_catalog = (catalog = 'g') external_volume = 'v'"
    )

    assert "VIEW in a catalog-linked database" in str(refused)
    assert "is not one of an Iceberg REST catalog" in str(not_rest)
