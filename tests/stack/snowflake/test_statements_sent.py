"""How many statements a publication and a look take: at 50 ms each they are most of what Snowflake costs."""

from __future__ import annotations

import pytest

from frazil.checks.drift import find_drift
from frazil.clients import Clients
from frazil.connections import Connections
from frazil.errors import MissingError
from frazil.publishing.snowflake.connection import open_snowflake, rows
from frazil.publishing.snowflake.tables import Snowflake
from frazil.spec.topic import TableSpec
from kit.readers.trades import make_trades
from kit.stack.standin import statement_of
from kit.wires.wire import Wire

INFORMATION, COUNT, GRANTS = "SYSTEM$GET_ICEBERG_TABLE_INFORMATION", "COUNT(*)", "SHOW GRANTS TO ROLE"
COLUMNS, COMMENTS, TAGS, DESCRIBE = "WHERE FALSE", "INFORMATION_SCHEMA", "SYSTEM$GET_TAG", "DESCRIBE TABLE"
WORDS = (INFORMATION, COUNT, GRANTS, COLUMNS, COMMENTS, TAGS, DESCRIBE)


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
    assert looked == [GRANTS, INFORMATION, COLUMNS, INFORMATION, COLUMNS, COMMENTS, DESCRIBE, TAGS]
    assert sessions == 1


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

    assert (before, logins(wire)) == (2, 3)
