"""How many statements a publication and a look take: at 50 ms each they are most of what Snowflake costs."""

from __future__ import annotations

import time

import pytest
from pyiceberg.types import LongType

from frazil.checks.targets.finding import find_drift
from frazil.cli.selection import Selection
from frazil.cli.work.land import sync_each
from frazil.clients import Clients
from frazil.connections import Connections
from frazil.errors import MissingError
from frazil.publishing.snowflake.connection import open_snowflake, rows
from frazil.publishing.snowflake.tables import Snowflake
from frazil.spec.topic import TableSpec
from kit.readers.trades import Trades, make_trades
from kit.stack.standin import statement_of
from kit.wires.wire import Wire

INFORMATION, COUNT, GRANTS = "SYSTEM$GET_ICEBERG_TABLE_INFORMATION", "COUNT(*)", "SHOW GRANTS TO ROLE"
COLUMNS, COMMENTS, TAGS, DESCRIBE = "WHERE FALSE", "SCHEMA.TABLES", "SYSTEM$GET_TAG", "DESCRIBE TABLE"
LISTED, HISTORY, REFRESH = "INFORMATION_SCHEMA.COLUMNS", "REFRESH_HISTORY", "REFRESH"
WORDS = (INFORMATION, COUNT, GRANTS, COLUMNS, COMMENTS, TAGS, DESCRIBE, LISTED, HISTORY, REFRESH)


def sent(wire: Wire) -> list[str]:
    """The statements since the last time, each by its word; one that has none is told as it is."""
    statements = [statement_of(asked.path, asked.body) for asked in wire.asked]
    wire.asked.clear()
    return [next((word for word in WORDS if word in each), each) for each in statements if each]


def logins(wire: Wire) -> int:
    return sum("/login-request" in asked.path for asked in wire.asked)


@pytest.fixture
def specs(connections: Connections, fresh_name: str) -> list[TableSpec]:
    """Two tables that Glue shows: of one a spec says nothing, of the other all that it can."""
    names = [make_trades(connections, f"{fresh_name}_{end}").names.table for end in ("plain", "rich")]
    plain, rich = (TableSpec(topic="any", namespace=name.namespace, table=name.table) for name in names)
    tags = {f"{fresh_name}_tag": "x"}
    policies = {"symbol": f"FRAZIL.{names[1].namespace}.{fresh_name}_hide"}
    extra = {
        "description": "Trades.",
        "tags": tags,
        "column_tags": {"symbol": tags},
        "column_policies": policies,
    }
    return [plain, rich.model_copy(update=extra)]


def test_tables_at_rest_take_few_statements_and_a_look_at_many_one_session(
    wire_and_clients: tuple[Wire, Connections], specs: list[TableSpec], fresh_name: str
) -> None:
    wire, clients = wire_and_clients
    plain, rich = specs
    with open_snowflake(clients.settings) as connection:
        rows(connection, f"create role {fresh_name}_reader")
        Snowflake(plain, clients.settings).sync(clients)
        Snowflake(rich.model_copy(update={"column_policies": {}}), clients.settings).sync(clients)
        rows(connection, f"create tag frazil.{rich.namespace}.{fresh_name}_tag")
        policy = rich.column_policies["symbol"]
        rows(connection, f"create masking policy {policy} as (v string) returns string -> '*'")
    own = {"role": f"{fresh_name}_reader", "tag_schema": f"frazil.{rich.namespace}"}
    governed = Clients(clients.settings.with_changes(snowflake=own))
    bare, full = Snowflake(plain, clients.settings), Snowflake(rich, governed.settings)
    full.sync(governed)

    wire.asked.clear()
    bare.sync(clients)
    of_bare = sent(wire)
    full.sync(governed)
    of_full = sent(wire)
    Snowflake(plain, governed.settings).sync(governed)
    wire.asked.clear()
    drifts = [each for each in find_drift(specs, governed) if each.target == "snowflake"]
    sessions, looked = logins(wire), sent(wire)

    assert of_bare == [INFORMATION, COLUMNS, COLUMNS, COUNT]
    assert of_full == [INFORMATION, DESCRIBE, TAGS, COLUMNS, COLUMNS, COMMENTS, GRANTS, COUNT]
    assert [each.state for each in drifts] == ["in step", "in step"]
    assert looked == [GRANTS, LISTED, INFORMATION, COMMENTS, TAGS, DESCRIBE]
    assert sessions == 1


@pytest.mark.nightly
def test_many_tables_are_looked_at_by_statements_for_all_of_them_and_those_at_rest_get_none(
    wire_and_clients: tuple[Wire, Connections], connections: Connections, fresh_name: str
) -> None:
    (wire, clients), begun = wire_and_clients, int(time.time())
    made = [make_trades(connections, f"{fresh_name}_{number}") for number in range(7)]
    specs = [_spec_of(each) for each in made]
    selection = Selection(tuple(specs), clients)
    first = sync_each(selection)
    with made[0].table.update_schema() as change:
        change.add_column("price", LongType())
    made[1].append("ZWZZT")
    for each in made[:2]:
        each.show()

    wire.asked.clear()
    second = sync_each(selection)
    of_two = sent(wire)
    third = sync_each(selection)
    sessions, of_none = logins(wire), sent(wire)
    drifts = [each for each in find_drift(specs, clients, counts=True) if each.target == "snowflake"]
    looked = sent(wire)

    assert [first.failed, second.failed, third.failed] == [{}, {}, {}]
    assert of_none == [LISTED, INFORMATION]
    assert sessions == 1
    full = [INFORMATION, REFRESH, COLUMNS, COLUMNS, "CREATE OR REPLACE VIEW", INFORMATION, COUNT]
    assert [each.partition(' "')[0] for each in of_two] == [LISTED, INFORMATION, *full, REFRESH, INFORMATION]
    changed = {name: s[-1] for name, s in second.done.items() if s[-1].changed}
    assert [each.rows for each in changed.values()] == [1, 2]
    assert all(each.metadata_location for each in changed.values())
    spent = [each.spent for each in changed.values() if each.spent]
    assert [(each.statements, each.refreshes) for each in spent] == [(len(full), 1), (2, 1)]
    assert all(0 < each.warehouse_seconds < time.time() - begun for each in spent)
    assert looked == [LISTED, INFORMATION, COUNT, HISTORY]
    times = [each.refreshed for each in drifts]
    assert all(at is not None and begun <= at <= time.time() for at in times)
    assert times[1] >= times[2]
    assert [(each.state, each.rows_shown) for each in drifts] == [("in step", 1 + (n == 1)) for n in range(7)]


def test_where_snowflake_refuses_one_statement_for_many_each_table_is_asked_by_itself(
    wire_and_clients: tuple[Wire, Connections], connections: Connections, fresh_name: str
) -> None:
    """As of a table that was made and that somebody else owns."""
    _, clients = wire_and_clients
    fine, gone = (make_trades(connections, f"{fresh_name}_{end}") for end in ("fine", "gone"))
    for each in (fine, gone):
        Snowflake(_spec_of(each), clients.settings).sync(clients)
    with open_snowflake(clients.settings) as connection:
        name = gone.names.table
        rows(connection, f"drop iceberg table frazil.{name.namespace}.{name.table}")
        rows(connection, f"create table frazil.{name.namespace}.{name.table} (a int)")

    drifts = find_drift([_spec_of(fine), _spec_of(gone)], clients)

    shown = [each.shown_metadata for each in drifts if each.target == "snowflake"]
    assert shown == [fine.table.metadata_location, ""]


def _spec_of(trades: Trades) -> TableSpec:
    name = trades.names.table
    return TableSpec(topic="any", namespace=name.namespace, table=name.table)


def test_tables_that_are_shown_one_after_the_other_share_a_login_until_one_fails(
    wire_and_clients: tuple[Wire, Connections], specs: list[TableSpec]
) -> None:
    wire, clients = wire_and_clients
    plain, refused = (Snowflake(spec, clients.settings) for spec in specs)

    with clients.one_snowflake():
        plain.sync(clients)
        with pytest.raises(MissingError, match="HIDE"):  # the policy that nobody made
            refused.sync(clients)
        for _ in range(3):
            plain.sync(clients)
    before = logins(wire)
    plain.sync(clients)
    one_more = logins(wire)
    kept = Clients(clients.settings, keeps_snowflake=True)
    for _ in range(2):
        plain.sync(kept)

    assert (before, one_more, logins(wire)) == (2, 3, 4)
