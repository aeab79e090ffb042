"""What Tableflow has on, and how it tells what it met: as the API has it."""

from __future__ import annotations

import time
from typing import Any

import pytest

from frazil.errors import ConfigureError, FrazilError, NotAllowedError, SuspendedError
from frazil_cloud.confluent.tableflow import sync_problems
from frazil_local.cloud.confluent.organization import Organization, Places, StoredObject
from frazil_local.cloud.confluent.tableflow.customer import INTEGRATIONS
from frazil_local.cloud.confluent.tableflow.materialization import OnTopic, note, topics_on
from frazil_local.cloud.confluent.tableflow.topics import CatalogIntegrations, TableflowTopics

PLACE = "s3://lake/1/1/org/env/lkc-1/v1/uuid"
KINDS = TableflowTopics(), CatalogIntegrations()


@pytest.fixture
def organization() -> Organization:
    """One topic that is on, and a catalog that is connected; AWS is not asked."""
    made = Organization(Places("http://127.0.0.1:1", materializes=True))
    made.knobs.turn(prove_again=3600.0)
    where = {"environment": {"id": "env"}, "kafka_cluster": {"id": "lkc-1", "environment": "env"}}
    made.add(INTEGRATIONS, "cspi-1", {"id": "cspi-1", "config": {"external_id": "a"}, "usages": []})
    storage = {"bucket_name": "lake", "provider_integration_id": "cspi-1", "table_path": PLACE}
    config = {"error_handling": {"mode": "SUSPEND"}}
    topic = {"display_name": "trades", "table_formats": ["ICEBERG"], "storage": storage, "config": config}
    catalog = {"config": {"kind": "AwsGlue", "provider_integration_id": "cspi-1"}}
    kept(made, TableflowTopics.path, "lkc-1/trades", {**topic, **where}, "RUNNING")
    kept(made, CatalogIntegrations.path, "tci-1", {**catalog, **where}, "CONNECTED")
    return made


def kept(organization: Organization, path: str, key: str, spec: dict[str, Any], phase: str) -> None:
    status = {"phase": phase, "failing_table_formats": []}
    stored = organization.add(path, key, {"id": key, "spec": spec, "status": status, "metadata": {}})
    stored.proved = time.time()


def topic_of(organization: Organization) -> StoredObject:
    return organization.of(TableflowTopics.path)["lkc-1/trades"]


def shown(organization: Organization) -> dict[str, Any]:
    return TableflowTopics().shown(organization, topic_of(organization))


def on(organization: Organization) -> OnTopic:
    (topic,) = topics_on(organization)
    return topic


def sync(organization: Organization) -> str:
    (only,) = shown(organization)["status"]["catalog_sync_statuses"]
    return str(only["sync_status"])


def test_a_topic_becomes_a_table_of_its_name_in_the_cluster_s_database(organization: Organization) -> None:
    topic = on(organization)
    assert (str(topic.table), topic.place, topic.spec.metadata) == ("lkc-1.trades", PLACE, "full")


def test_a_catalog_is_in_step_only_when_the_table_is_there(organization: Organization) -> None:
    before = sync(organization)
    note(organization, on(organization), None)
    assert (before, sync(organization)) == ("PENDING", "SYNCED")


DENIED = NotAllowedError("AWS does not allow glue:UpdateTable.", where="AccessDenied")


def test_a_right_of_glue_that_lacks_is_told_of_the_catalog(organization: Organization) -> None:
    note(organization, on(organization), DENIED)
    assert sync(organization) == "FAILED"
    assert "glue:UpdateTable" in sync_problems(shown(organization))
    note(organization, on(organization), None)
    assert sync_problems(shown(organization)) == ""


@pytest.mark.parametrize(
    "error",
    [NotAllowedError("AWS does not allow s3:PutObject."), ConfigureError("no Subject trades-value")],
)
def test_what_keeps_records_from_the_bucket_is_told_of_the_format(
    organization: Organization, error: FrazilError
) -> None:
    note(organization, on(organization), error)
    assert error.what in sync_problems(shown(organization))
    assert shown(organization)["status"]["phase"] == "RUNNING"


def test_a_bad_record_suspends_and_a_resumed_topic_goes_on(organization: Organization) -> None:
    note(organization, on(organization), SuspendedError("A record can't be decoded.", where="0: 7"))
    document = shown(organization)
    assert (document["spec"]["suspended"], document["status"]["phase"]) == (True, "FAILED")
    assert "0: 7" in document["status"]["error_message"]
    assert topics_on(organization) == []
    TableflowTopics().change(organization, topic_of(organization), {"spec": {"suspended": False}})
    assert shown(organization)["spec"]["suspended"] is False
    topic_of(organization).born = 0.0
    assert len(topics_on(organization)) == 1


def test_a_topic_that_is_turned_off_goes_when_nobody_is_at_work_on_it(organization: Organization) -> None:
    stored, topic = topic_of(organization), on(organization)
    stored.body["spec"]["storage"]["provider_integration_id"] = "none that is there"
    TableflowTopics()._remove(organization, stored)
    note(organization, topic, DENIED)  # of the look that was under way
    assert "deleted_at" in shown(organization)["metadata"]
    assert stored.met == {}
    assert topics_on(organization) == []
    assert organization.of(TableflowTopics.path) == {}
