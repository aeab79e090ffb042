"""Tables in a bucket and below a prefix of one's own: docs/settings.md says how."""

from __future__ import annotations

import boto3

from frazil.clients import Clients
from frazil.landing.land import land
from frazil.publishing.snowflake.statements import volume_of
from frazil.settings.profile import Settings
from kit.stored import files_under
from kit.topics import topic_maker


def test_tables_that_glue_owns_lie_below_the_warehouse_that_was_set(stack: Settings, fresh_name: str) -> None:
    make_bucket(stack, fresh_name)
    warehouse = f"s3://{fresh_name}/lake/bronze"
    settings = stack.with_changes(catalog="glue", glue={"warehouse": warehouse})
    topic = topic_maker(Clients(settings), fresh_name, "landing_tests")()
    topic.trades(3)

    land(topic.spec, topic.connections)

    table = topic.connections.catalog.load_table(topic.things.table.identifier)
    assert table.location().startswith(f"{warehouse}/")
    assert len(table.scan().to_arrow()) == 3
    assert all(path.startswith(f"{warehouse}/") for path in files_under(table))
    assert volume_of(settings).base_url == f"{warehouse}/"


def make_bucket(settings: Settings, name: str) -> None:
    assert settings.aws.access_key
    assert settings.aws.secret_key
    boto3.client(
        "s3",
        endpoint_url=settings.s3.endpoint,
        region_name=settings.aws.region,
        aws_access_key_id=settings.aws.access_key.get_secret_value(),
        aws_secret_access_key=settings.aws.secret_key.get_secret_value(),
    ).create_bucket(Bucket=name)
