"""What clusters, connectors, Flink, Tableflow and registries refuse, each by the rights of whoever asks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from kit.clouds.cloud_confluent import CloudConfluent, awaited
from kit.runs.waiting import wait_for


@dataclass
class Lab:
    """An environment with a cluster, a registry and a topic."""

    cloud: CloudConfluent
    environment: str
    cluster: str
    registry: str

    @property
    def place(self) -> str:
        return f"/environment={self.environment}/cloud-cluster={self.cluster}"

    @property
    def inside(self) -> str:
        return f"{self.place}/kafka={self.cluster}"

    @property
    def manager(self) -> dict[str, str]:
        return self.in_cluster(self.cloud.account(("CloudClusterAdmin", self.place)))

    def in_cluster(self, account: str) -> dict[str, str]:
        return self.cloud.key(account, {"id": self.cluster})

    def kafka(self, method: str, rest: str, body: Any = None, **who: str) -> Any:
        return self.cloud.ask(method, f"/kafka/v3/clusters/{self.cluster}/{rest}", body, **who)

    def topic(self, name: str = "stock_trades") -> Any:
        return self.kafka("POST", "topics", {"topic_name": name}, **self.manager)

    def allow(self, account: str, operation: str, kind: str, name: str) -> Any:
        acl = {
            "resource_type": kind, "resource_name": name, "pattern_type": "LITERAL", "host": "*",
            "principal": f"User:{account}", "operation": operation, "permission": "ALLOW",
        }  # fmt: skip
        return self.kafka("POST", "acls", acl, **self.manager)


@pytest.fixture
def lab(confluent: CloudConfluent) -> Lab:
    environment = confluent.environment()
    cluster = confluent.cluster(environment)
    return Lab(confluent, environment, cluster, confluent.registry(environment))


def test_a_topic_is_made_once_by_who_may(lab: Lab) -> None:
    nobody = lab.in_cluster(lab.cloud.account())
    answer = lab.kafka("POST", "topics", {"topic_name": "stock_trades"}, **nobody)
    assert (answer.status_code, answer.json()["error_code"]) == (403, 40301)
    assert lab.topic().status_code == 201
    twice = lab.topic()
    assert (twice.status_code, twice.json()["error_code"]) == (400, 40002)
    none = lab.kafka("DELETE", "topics/none", **lab.manager)
    assert (none.status_code, none.json()["error_code"]) == (404, 40403)


def test_topics_are_listed_to_those_who_may_describe_them(lab: Lab) -> None:
    lab.topic()
    account = lab.cloud.account()
    key = lab.in_cluster(account)
    assert lab.kafka("GET", "topics", **key).json()["data"] == []
    assert lab.kafka("GET", "topics/stock_trades", **key).status_code == 403
    lab.allow(account, "READ", "TOPIC", "stock_trades")
    assert [t["topic_name"] for t in lab.kafka("GET", "topics", **key).json()["data"]] == ["stock_trades"]
    assert lab.kafka("DELETE", "topics/stock_trades", **key).status_code == 403


def test_acls_are_given_by_administrators_alone_and_removed_by_a_query(lab: Lab) -> None:
    account = lab.cloud.account(("ResourceOwner", f"{lab.inside}/topic=*"))
    key = lab.in_cluster(account)
    acl = {
        "resource_type": "TOPIC", "resource_name": "stock_trades", "pattern_type": "LITERAL", "host": "*",
        "principal": f"User:{account}", "operation": "READ", "permission": "ALLOW",
    }  # fmt: skip
    assert lab.kafka("POST", "acls", acl, **key).status_code == 403
    for _ in range(2):
        assert lab.kafka("POST", "acls", acl, **lab.manager).status_code == 201
    manager = lab.manager
    assert len(lab.kafka("GET", "acls", **manager).json()["data"]) == 1
    path = f"/kafka/v3/clusters/{lab.cluster}/acls"
    assert lab.cloud.ask("DELETE", path, **manager, principal=f"User:{account}").status_code == 400
    assert lab.cloud.ask("DELETE", path, **manager, **acl).status_code == 200
    assert lab.kafka("GET", "acls", **manager).json()["data"] == []


def connector(lab: Lab, account: str, **more: str) -> Any:
    config = {
        "name": "Sample", "connector.class": "DatagenSource", "kafka.auth.mode": "SERVICE_ACCOUNT",
        "kafka.service.account.id": account, "kafka.topic": "stock_trades", "output.data.format": "AVRO",
        "tasks.max": "1", "quickstart": "STOCK_TRADES", **more,
    }  # fmt: skip
    path = f"/connect/v1/environments/{lab.environment}/clusters/{lab.cluster}/connectors"
    return lab.cloud.ask("POST", path, {"name": "Sample", "config": config})


def state(lab: Lab) -> Any:
    path = f"/connect/v1/environments/{lab.environment}/clusters/{lab.cluster}/connectors/Sample/status"
    return awaited(lambda: _unless_provisioning(lab.cloud.ask("GET", path).json()["connector"]))


def _unless_provisioning(body: Any) -> Any:
    return None if body["state"] in ("PROVISIONING", "DEGRADED") else body


@pytest.mark.parametrize(
    ("given", "lacks"),
    [
        ((), "DESCRIBE kafka-cluster"),
        ((("DESCRIBE", "CLUSTER", "kafka-cluster"),), "WRITE topic stock_trades"),
        ((("WRITE", "TOPIC", "stock_trades"),), "DESCRIBE kafka-cluster"),
        ((("DESCRIBE", "CLUSTER", "kafka-cluster"), ("WRITE", "TOPIC", "stock_trades")), ""),
    ],
)
def test_a_connector_fails_where_its_account_may_not_write(lab: Lab, given: Any, lacks: str) -> None:
    lab.topic()
    account = lab.cloud.account()
    for operation, kind, name in given:
        lab.allow(account, operation, kind, name)
    assert connector(lab, account).status_code == 201
    body = state(lab)
    assert body["state"] == ("FAILED" if lacks else "RUNNING")
    assert lacks in body.get("trace", "")


def test_a_connector_without_its_topic_fails_and_wrong_settings_are_counted(lab: Lab) -> None:
    account = lab.cloud.account(("CloudClusterAdmin", lab.place))
    assert connector(lab, account, quickstart="ORDERS").status_code == 400
    path = f"/connect/v1/environments/{lab.environment}/clusters/{lab.cluster}"
    answer = lab.cloud.ask(
        "PUT", f"{path}/connector-plugins/DatagenSource/config/validate", {"quickstart": "X"}
    )
    assert answer.json()["error_count"] == 8
    connector(lab, account)
    assert "UnknownTopic" in state(lab)["trace"]


def statement(lab: Lab, key: dict[str, str], principal: str, sql: str, name: str = "totals") -> Any:
    spec = {"display_name": "pool", "cloud": "AWS", "region": "us-east-1", "max_cfu": 5}
    pool = lab.cloud.made(
        "/fcpm/v2/compute-pools", {"spec": {**spec, "environment": {"id": lab.environment}}}
    )["id"]
    context = {"sql.current-catalog": "x", "sql.current-database": lab.cluster}
    statement_spec = {
        "statement": sql,
        "compute_pool_id": pool,
        "principal": principal,
        "properties": context,
    }
    return lab.cloud.ask("POST", sql_path(lab), {"name": name, "spec": statement_spec}, **key)


def sql_path(lab: Lab) -> str:
    return f"/sql/v1/organizations/{lab.cloud.organization.id}/environments/{lab.environment}/statements"


def flink_rights(lab: Lab, account: str) -> list[tuple[str, str]]:
    registry = f"/environment={lab.environment}/schema-registry={lab.registry}"
    return [
        ("FlinkDeveloper", f"/environment={lab.environment}"),
        ("Assigner", f"/service-account={account}"),
        ("ResourceOwner", f"{lab.inside}/topic=*"),
        ("ResourceOwner", f"{registry}/subject=*"),
        ("ResourceOwner", f"{lab.inside}/transactional-id=*"),
    ]


@pytest.mark.parametrize("left_out", range(6))
def test_each_right_that_a_statement_lacks_is_told(lab: Lab, left_out: int) -> None:
    lab.topic()
    account = lab.cloud.account()
    rights = flink_rights(lab, account)
    for number, (role, place) in enumerate(rights):
        if number != left_out:
            lab.cloud.bind(account, role, place)
    region = {
        "id": "aws.us-east-1",
        "environment": lab.environment,
        "kind": "Region",
        "api_version": "fcpm/v2",
    }
    key = lab.cloud.key(account, region)
    answer = statement(lab, key, account, "CREATE TABLE totals AS SELECT * FROM stock_trades")
    if left_out < 2:
        assert answer.status_code == 403
        assert rights[left_out][0] in answer.text
        return
    status = awaited(lambda: _unless_pending(lab.cloud.ask("GET", f"{sql_path(lab)}/totals", **key).json()))
    assert status["phase"] == ("FAILED" if left_out < 5 else "RUNNING")
    if left_out < 5:
        assert rights[left_out][1].replace("=*", "=") in status["detail"]


def _unless_pending(body: Any) -> Any:
    return None if body["status"]["phase"] == "PENDING" else body["status"]


def test_a_statements_name_is_taken_until_it_has_left(lab: Lab) -> None:
    account = lab.cloud.account(("OrganizationAdmin", ""))
    region = {
        "id": "aws.us-east-1",
        "environment": lab.environment,
        "kind": "Region",
        "api_version": "fcpm/v2",
    }
    key = lab.cloud.key(account, region)
    assert statement(lab, key, account, "DROP TABLE IF EXISTS totals").status_code == 201
    assert statement(lab, key, account, "DROP TABLE IF EXISTS totals").status_code == 409
    assert statement(lab, key, account, "DROP TABLE x", name="Upper_Case").status_code == 400
    lab.cloud.delay(provision=0.4)
    path = f"{sql_path(lab)}/totals"
    assert lab.cloud.ask("DELETE", path, **key).status_code == 202
    assert lab.cloud.ask("GET", path, **key).status_code == 200
    wait_for(lambda: lab.cloud.ask("GET", path, **key).status_code == 404)


def integration(lab: Lab) -> str:
    config = {
        "kind": "AwsIntegrationConfig",
        "customer_iam_role_arn": "arn:aws:iam::123456789012:role/writer",
    }
    body = {
        "display_name": "aws",
        "provider": "AWS",
        "environment": {"id": lab.environment},
        "config": config,
    }
    return str(lab.cloud.made("/pim/v1/integrations", body)["id"])


def tableflow(lab: Lab, id_: str, key: dict[str, str]) -> Any:
    storage = {"kind": "ByobAws", "bucket_name": "lake", "provider_integration_id": id_}
    cluster = {"id": lab.cluster, "environment": lab.environment}
    spec = {"display_name": "stock_trades", "environment": {"id": lab.environment}, "kafka_cluster": cluster}
    return lab.cloud.ask(
        "POST", "/tableflow/v1/tableflow-topics", {"spec": {**spec, "storage": storage}}, **key
    )


def test_tableflow_does_not_find_a_new_topic_at_first(lab: Lab) -> None:
    key = lab.cloud.key(lab.cloud.account(("OrganizationAdmin", "")), {"id": "tableflow"})
    lab.cloud.delay(topic_sync=0.4)
    id_ = integration(lab)
    lab.topic()
    answer = tableflow(lab, id_, key)
    assert (answer.status_code, answer.json()["errors"][0]["detail"]) == (404, "topic not found")
    wait_for(lambda: tableflow(lab, id_, key).status_code == 202)


def test_tableflow_wants_the_cluster_the_integration_and_the_subjects_to_be_its_users(lab: Lab) -> None:
    lab.topic()
    id_ = integration(lab)
    owner = ("ResourceOwner", f"/environment={lab.environment}/provider-integration={id_}")
    reader = ("DeveloperRead", f"/environment={lab.environment}/schema-registry={lab.registry}/subject=*")
    rights = [("CloudClusterAdmin", lab.place), owner, reader]
    lacking = [[each for each in rights if each != one] for one in rights]
    for given, status in (([], 403), *((some, 403) for some in lacking), (rights, 202)):
        key = lab.cloud.key(lab.cloud.account(*given), {"id": "tableflow"})
        assert tableflow(lab, id_, key).status_code == status


def test_an_integration_never_changes_and_stays_while_it_is_used(lab: Lab) -> None:
    lab.topic()
    id_, key = (
        integration(lab),
        lab.cloud.key(lab.cloud.account(("OrganizationAdmin", "")), {"id": "tableflow"}),
    )
    path, query = f"/pim/v1/integrations/{id_}", {"environment": lab.environment}
    assert lab.cloud.ask("PATCH", path, {"display_name": "other"}).status_code == 400
    tableflow(lab, id_, key)
    assert lab.cloud.ask("DELETE", path, **query).status_code == 400
    topic = "/tableflow/v1/tableflow-topics/stock_trades"
    where = {**query, "spec.kafka_cluster": lab.cluster}
    place = {"environment": {"id": lab.environment}, "kafka_cluster": {"id": lab.cluster}}
    assert lab.cloud.ask("PATCH", topic, {"spec": {"suspended": True, **place}}, **key).status_code == 400
    assert lab.cloud.ask("DELETE", topic, **key, **where).status_code == 204
    assert lab.cloud.ask("DELETE", path, **query).status_code == 204


def test_a_registry_asks_for_a_role_on_each_subject(lab: Lab) -> None:
    registry = f"/environment={lab.environment}/schema-registry={lab.registry}"
    reader = lab.cloud.account(("DeveloperRead", f"{registry}/subject=stock_trades-value"))
    key = lab.cloud.key(reader, {"id": lab.registry})
    base = f"/registry/{lab.registry}/subjects"
    assert lab.cloud.ask("GET", base, **key).status_code == 200
    assert lab.cloud.ask("GET", f"{base}/users-value/versions/1", **key).status_code == 403
    assert lab.cloud.ask("GET", f"{base}/stock_trades-value/versions/1", **key).status_code == 404
    assert lab.cloud.ask("POST", f"{base}/stock_trades-value/versions", {}, **key).status_code == 403
