"""Tables in a bucket of one's own: below a prefix, or encrypted by a key. docs/settings.md says how."""

from __future__ import annotations

import time
from typing import Any

import pytest

from frazil.clients import Clients
from frazil.landing.land import land
from frazil.publishing.snowflake.statements import volume_of
from frazil.settings.profile import Settings
from frazil.upkeep.compaction.run import Order, compact
from kit.readers.stored import files_under
from kit.records.topics import topic_maker
from kit.storage.client import storage_client

KEY = "arn:aws:kms:eu-central-1:123456789012:key/0a1b2c3d"


def test_tables_that_glue_owns_lie_below_the_warehouse_that_was_set(stack: Settings, fresh_name: str) -> None:
    storage_client(stack).create_bucket(Bucket=fresh_name)
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


@pytest.mark.nightly
def test_all_that_landings_and_upkeep_write_is_encrypted_by_the_key(stack: Settings, fresh_name: str) -> None:
    """SeaweedFS has no keys here: S3 is the one of the AWS stand-in."""
    settings = stack.with_changes(
        catalog="glue",
        glue={"warehouse": f"s3://{fresh_name}/lake"},
        s3={"endpoint": stack.glue.endpoint, "kms_key": KEY},
    )
    s3 = storage_client(settings)
    s3.create_bucket(Bucket=fresh_name)
    make_topic = topic_maker(Clients(settings), fresh_name, "landing_tests")
    appended, upserted = make_topic(), make_topic(mode="upsert")
    for topic in (appended, upserted):
        for _ in range(2):
            topic.trades(3)
            land(topic.spec, topic.connections)
    compact(appended.spec, appended.connections, time.time(), Order(everything=True))

    assert len(appended.rows()) == 6
    assert len(upserted.rows()) == 1
    assert {*encryptions(s3, fresh_name)} == {("aws:kms", KEY)}


def encryptions(s3: Any, bucket: str) -> list[tuple[str | None, str | None]]:
    """How each object of a bucket is encrypted, and by which key."""
    names = [each["Key"] for each in s3.list_objects_v2(Bucket=bucket)["Contents"]]
    heads = [s3.head_object(Bucket=bucket, Key=name) for name in names]
    return [(head.get("ServerSideEncryption"), head.get("SSEKMSKeyId")) for head in heads]
