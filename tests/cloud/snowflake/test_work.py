"""Pipelines work in a deployment's Snowflake as its service user, whose grants suffice."""

from __future__ import annotations

from datetime import datetime

import pytest
from pyiceberg.types import IntegerType, TimestamptzType

from frazil.clients import Clients
from frazil.publishing.snowflake.tables import Snowflake
from frazil.settings.profile import Settings
from frazil.spec.topic import TableSpec
from frazil_cloud.identities import settings_of
from kit.clouds import in_snowflake
from kit.clouds.cloud_aws import allow
from kit.clouds.in_snowflake import ROWS, InSnowflake


def settings(made: InSnowflake) -> Settings:
    """Of somebody who may take the writer's role, and read the secrets with it."""
    place = in_snowflake.settings_of(made.standin).with_changes(aws={"endpoint": made.aws.url})
    values = settings_of(made.spec, made.reconciler.facts(), made.clouds.secrets, place)
    runner = made.aws.user("runner", allow("sts:AssumeRole", values["aws"]["role_arn"]))
    values["aws"] |= {"access_key": runner.key, "secret_key": runner.secret}
    return Settings.load(**values)


@pytest.mark.nightly
def test_a_table_is_shown_and_refreshed_with_the_identities_made(made: InSnowflake) -> None:
    made.aws.turn()
    own_settings = settings(made)
    clients = Clients(own_settings)
    target = Snowflake(TableSpec(topic="trades", namespace=made.spec.names.glue_database), own_settings)

    assert target.sync(clients).rows == ROWS.num_rows
    clients.catalog.load_table(f"{made.spec.names.glue_database}.trades").append(ROWS)
    assert target.read(clients).rows == ROWS.num_rows  # type: ignore[union-attr]
    assert target.sync(clients).rows == 2 * ROWS.num_rows

    # A view of the newest records is replaced where its query changes: its tags and policies go with it.
    table = clients.catalog.load_table(f"{made.spec.names.glue_database}.trades")
    with table.update_schema() as change:
        change.add_column("$$partition", IntegerType()).add_column("$$timestamp", TimestamptzType())
    spec = TableSpec(topic="trades", namespace=made.spec.names.glue_database, current_by=("symbol",))
    first = created(spec, clients)
    table.append(ROWS)
    assert created(spec, clients) == first
    table.append(ROWS)
    assert created(spec.model_copy(update={"current_by": ("price",)}), clients) != first
    made.delete()


def created(spec: TableSpec, clients: Clients) -> datetime:
    """When the view of the newest records was made, after the table was shown."""
    view = Snowflake(spec, clients.settings)
    name = view.sync(clients).name.rpartition(".")[2]
    with clients.snowflake() as connection:
        rows = connection.cursor().execute(f"show views like '{name}_CURRENT' in account").fetchall()
    ((at, *_),) = rows
    return at
