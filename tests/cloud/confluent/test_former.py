"""What is taken out of a deployment's file is shown by the next plan, and removed by the next creation."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from kit.clouds.cloud_confluent import KICKSTARTER, Deployed

NO_FLINK: dict[str, Any] = {"max_cfu": 0, "statements": (), "tableflow": ("stock_trades",)}


def with_less(deployed: Deployed, less: dict[str, Any]) -> None:
    deployed.document = {**KICKSTARTER, "confluent": {**KICKSTARTER["confluent"], **less}}


@pytest.mark.parametrize(
    ("less", "gone"),
    [
        (
            {"connectors": ()},
            {"confluent/connector/SampleSourceConnector", "confluent/account/app_connector"},
        ),
        (
            NO_FLINK,
            {
                "confluent/statement/drop-totals", "confluent/statement/create-totals", "confluent/pool",
                "confluent/account/flink", "confluent/key/flink",
                "confluent/tableflow/stock_trades_with_totals",
            },
        ),
        (
            {"tableflow": ()},
            {
                "confluent/tableflow/stock_trades", "confluent/glue_sync", "confluent/key/tableflow",
                "confluent/provider_integration", "confluent/binding/app_manager-ResourceOwner",
            },
        ),
    ],
)  # fmt: skip
@pytest.mark.each_time("less2-gone2")
def test_what_was_taken_out_is_planned_and_removed(
    deployed: Deployed, less: dict[str, Any], gone: set[str]
) -> None:
    deployed.create()
    with_less(deployed, less)

    planned = {step.address for step in deployed.reconciler().plan().steps if step.action == "delete"}
    deployed.create()

    assert planned >= gone
    assert deployed.reconciler().plan().news == ()
    names = deployed.spec.names
    uses = {address.rpartition("/")[2] for address in gone if address.startswith("confluent/key")}
    assert not [use for use in uses if {names.secret(use), names.twin(use)} & deployed.store.secrets.keys()]
    deployed.delete()
    assert deployed.cloud.inventory() == {}
    assert deployed.store.secrets == {}


def test_a_topic_stays_with_its_records_and_acls_until_somebody_says_otherwise(deployed: Deployed) -> None:
    deployed.create()
    with_less(deployed, {**NO_FLINK, "topics": (), "connectors": (), "tableflow": ()})
    topics = {"confluent/topic/stock_trades", "confluent/topic/stock_trades_with_totals"}
    deployed.create()

    assert {step.address for step in deployed.reconciler().plan().held_back} == topics
    assert deployed.reconciler().plan().news == ()

    reconciler = deployed.reconciler(removes_data=True)
    plan = reconciler.plan()
    reconciler.apply(plan)

    assert topics < {step.address for step in plan.news}
    (left,) = (ids for path, ids in deployed.cloud.inventory().items() if path.endswith("/acls"))
    assert [acl.split("|")[0] for acl in left] == ["GROUP"]
    assert not [path for path in deployed.cloud.inventory() if path.endswith("/topics")]


def test_what_others_made_beside_it_stays(deployed: Deployed) -> None:
    known = deployed.create()
    environment, cluster = (known[f"confluent/{it}"]["id"] for it in ("environment", "cluster"))
    theirs = {
        "name": "theirs", "connector.class": "DatagenSource", "kafka.auth.mode": "SERVICE_ACCOUNT",
        "kafka.service.account.id": deployed.cloud.account(), "kafka.topic": "stock_trades",
        "output.data.format": "AVRO", "quickstart": "USERS", "tasks.max": "1",
    }  # fmt: skip
    path = f"/connect/v1/environments/{environment}/clusters/{cluster}/connectors"
    deployed.cloud.made(path, {"name": "theirs", "config": theirs})

    assert deployed.reconciler().plan().news == ()


def test_a_sink_that_somebody_runs_as_our_account_is_seen_though_it_names_several_topics(
    deployed: Deployed,
) -> None:
    """A sink has `topics` and no `kafka.topic`: the plan ended with a KeyError."""
    known = deployed.create()
    environment, cluster = (known[f"confluent/{it}"]["id"] for it in ("environment", "cluster"))
    connectors = deployed.cloud.organization.of(
        f"/connect/v1/environments/{environment}/clusters/{cluster}/connectors"
    )
    (ours,) = connectors.values()
    sink = copy.deepcopy(ours)
    del sink.body["config"]["kafka.topic"]
    sink.body["name"] = "theirs"
    sink.body["config"] |= {"name": "theirs", "connector.class": "S3_SINK", "topics": "stock_trades"}
    connectors["theirs"] = sink

    assert [step.address for step in deployed.reconciler().plan().news] == ["confluent/connector/theirs"]
    deployed.create()
    assert list(connectors) == ["SampleSourceConnector"]
