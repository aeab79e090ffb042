"""A bucket that keeps versions keeps what was forgotten: the report says so, and the proof does."""

from __future__ import annotations

from frazil.clients import Clients
from frazil.landing.land import land
from frazil.settings.profile import Settings
from frazil.upkeep.forgetting.condition import condition_of
from frazil.upkeep.forgetting.forget import forget, proofs
from kit.clouds.versioned import remove_versions, versioned_bucket
from kit.readers.opened import table_of
from kit.records.topics import topic_maker


def test_versions_of_forgotten_rows_are_counted_until_they_are_gone(stack: Settings, fresh_name: str) -> None:
    bucket = versioned_bucket(stack, fresh_name)
    glue = stack.glue.model_copy(update={"warehouse": f"s3://{bucket}"})
    settings = stack.model_copy(update={"catalog": "glue", "glue": glue})
    topic = topic_maker(Clients(settings), fresh_name, fresh_name)(publish=[])
    topic.trades(5)
    land(topic.spec, topic.connections)
    condition = condition_of(table_of(topic).schema(), "quantity = 3")

    report = forget(topic.spec, topic.connections, condition, (), after=0.0)
    (before,) = proofs(topic.spec, topic.connections, condition, ())
    removed = remove_versions(stack, bucket)
    (after,) = proofs(topic.spec, topic.connections, condition, ())

    assert report.rows == 1
    assert [text for text in report.in_the_way if "older versions of files" in text]
    assert [each.what for each in before.found] == [
        f"the bucket keeps {removed} older versions of files that went"
    ]
    assert after.found == ()
