"""What the management API refuses: each of these is documented, or was met by those who used it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from kit.clouds.cloud_confluent import KEY, SECRET, CloudConfluent
from kit.runs.waiting import wait_for

ACCOUNTS, ENVIRONMENTS, CLUSTERS = "/iam/v2/service-accounts", "/org/v2/environments", "/cmk/v2/clusters"
KEYS, BINDINGS, POOLS = "/iam/v2/api-keys", "/iam/v2/role-bindings", "/fcpm/v2/compute-pools"
INTEGRATIONS = "/pim/v1/integrations"


@pytest.mark.parametrize("who", [{"key": "nobody"}, {"secret": "wrong"}, {"key": "", "secret": ""}])
def test_strangers_are_unknown(confluent: CloudConfluent, who: dict[str, str]) -> None:
    answer = confluent.ask("GET", ENVIRONMENTS, **who)
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (401, "user_unauthenticated")


def test_a_key_works_on_its_own_plane_alone(confluent: CloudConfluent) -> None:
    environment = confluent.environment()
    cluster = confluent.cluster(environment)
    account = confluent.account(("OrganizationAdmin", ""))
    region = {"id": "aws.us-east-1", "environment": environment, "kind": "Region", "api_version": "fcpm/v2"}
    sql = f"/sql/v1/organizations/{confluent.organization.id}/environments/{environment}/statements"
    registry = confluent.registry(environment)
    planes = {
        ENVIRONMENTS: None,
        f"/kafka/v3/clusters/{cluster}/topics": {"id": cluster},
        f"/registry/{registry}/subjects": {"id": registry},
        sql: region,
        "/tableflow/v1/regions": {"id": "tableflow"},
    }
    keys = {path: confluent.key(account, resource) for path, resource in planes.items()}
    statuses = {
        (of, at): confluent.ask("GET", at, **key).status_code for of, key in keys.items() for at in planes
    }
    assert statuses == {(of, at): 200 if of == at else 401 for of in planes for at in planes}


def test_a_new_key_is_refused_for_a_while(confluent: CloudConfluent) -> None:
    account = confluent.account(("OrganizationAdmin", ""))
    confluent.delay(key_sync=0.4)
    key = confluent.key(account)
    assert confluent.ask("GET", ENVIRONMENTS, **key).status_code == 401
    wait_for(lambda: confluent.ask("GET", ENVIRONMENTS, **key).status_code == 200)


def test_a_secret_is_shown_once(confluent: CloudConfluent) -> None:
    key = confluent.key(confluent.account())
    assert len(key["secret"]) > 40
    assert confluent.ask("GET", f"{KEYS}/{key['key']}").json()["spec"]["secret"] == ""
    assert key["secret"] not in confluent.ask("GET", KEYS).text


def test_a_role_binding_takes_effect_late(confluent: CloudConfluent) -> None:
    account = confluent.account()
    key, made = confluent.key(account), {"display_name": "by the account"}
    confluent.delay(rbac_sync=0.4)
    confluent.bind(account, "OrganizationAdmin", "")
    assert confluent.ask("POST", ENVIRONMENTS, made, **key).status_code == 403
    wait_for(lambda: confluent.ask("POST", ENVIRONMENTS, made, **key).status_code == 201)


def test_who_has_no_role_makes_and_removes_nothing(confluent: CloudConfluent) -> None:
    environment, other = confluent.environment(), confluent.environment()
    key = confluent.key(confluent.account(("EnvironmentAdmin", f"/environment={other}")))
    assert confluent.ask("DELETE", f"{ENVIRONMENTS}/{environment}", **key).status_code == 403
    assert confluent.ask("POST", ENVIRONMENTS, {"display_name": "more"}, **key).status_code == 403
    assert confluent.ask("DELETE", f"{ENVIRONMENTS}/{other}", **key).status_code == 204


@pytest.mark.parametrize("path", [ACCOUNTS, ENVIRONMENTS])
def test_a_name_is_taken_once_and_the_answer_says_by_whom(confluent: CloudConfluent, path: str) -> None:
    first = confluent.made(path, {"display_name": "lab"})
    answer = confluent.ask("POST", path, {"display_name": "lab"})
    assert answer.status_code == 409
    assert answer.headers["Location"] == f"{confluent.url}{path}/{first['id']}"


def test_names_of_clusters_are_not_unique(confluent: CloudConfluent) -> None:
    environment = confluent.environment()
    assert confluent.cluster(environment) != confluent.cluster(environment)


def test_what_is_gone_is_forbidden_or_unknown(confluent: CloudConfluent) -> None:
    environment = confluent.environment()
    cluster, account = confluent.cluster(environment), confluent.account()
    key = confluent.key(account)["key"]
    query = {"environment": environment}
    confluent.ask("DELETE", f"{CLUSTERS}/{cluster}", **query)
    confluent.ask("DELETE", f"{KEYS}/{key}")
    confluent.ask("DELETE", f"{ACCOUNTS}/{account}")
    wait_for(lambda: confluent.ask("GET", f"{CLUSTERS}/{cluster}", **query).status_code == 403)
    assert confluent.ask("GET", f"{KEYS}/{key}").status_code == 403
    assert confluent.ask("GET", f"{POOLS}/lfcp-none", **query).status_code == 403
    assert confluent.ask("GET", f"{ACCOUNTS}/{account}").status_code == 404


def test_an_environment_with_a_cluster_stays_until_that_is_gone(confluent: CloudConfluent) -> None:
    environment = confluent.environment()
    cluster = confluent.cluster(environment)
    assert confluent.ask("DELETE", f"{ENVIRONMENTS}/{environment}").status_code == 409
    confluent.delay(provision=0.4)
    assert confluent.ask("DELETE", f"{CLUSTERS}/{cluster}", environment=environment).status_code == 204
    assert confluent.ask("DELETE", f"{ENVIRONMENTS}/{environment}").status_code == 409
    wait_for(lambda: confluent.ask("DELETE", f"{ENVIRONMENTS}/{environment}").status_code == 204)


def test_a_protected_cluster_is_not_deleted(confluent: CloudConfluent) -> None:
    environment = confluent.environment()
    path = f"{CLUSTERS}/{confluent.cluster(environment)}"
    body = {"spec": {"deletion_protection": True, "environment": {"id": environment}}}
    assert confluent.ask("PATCH", path, body).status_code == 200
    assert confluent.ask("DELETE", path, environment=environment).status_code == 409


def test_one_key_more_than_the_quota_is_402(confluent: CloudConfluent) -> None:
    account = confluent.account()
    confluent.delay(max_keys=2)
    confluent.key(account)
    answer = confluent.ask("POST", KEYS, {"spec": {"owner": {"id": account}}})
    assert answer.status_code == 402


def test_a_clusters_phase_follows_its_age_and_the_registry_comes_with_it(confluent: CloudConfluent) -> None:
    confluent.delay(provision=0.5)
    environment = confluent.environment()
    cluster = confluent.cluster(environment)

    def phase() -> str:
        path = f"{CLUSTERS}/{cluster}"
        return str(confluent.ask("GET", path, environment=environment).json()["status"]["phase"])

    assert phase() == "PROVISIONING"
    assert confluent.ask("GET", "/srcm/v3/clusters", environment=environment).json()["data"] == []
    wait_for(lambda: phase() == "PROVISIONED")
    assert len(confluent.ask("GET", "/srcm/v3/clusters", environment=environment).json()["data"]) == 1


@pytest.mark.parametrize("path", [CLUSTERS, POOLS, "/srcm/v3/clusters", INTEGRATIONS])
def test_lists_want_the_environment(confluent: CloudConfluent, path: str) -> None:
    assert confluent.ask("GET", path).status_code == 400


def test_lists_of_bindings_want_a_pattern(confluent: CloudConfluent) -> None:
    assert confluent.ask("GET", BINDINGS).status_code == 400


def test_a_page_holds_ten_and_says_where_the_next_one_is(confluent: CloudConfluent) -> None:
    accounts = {confluent.account() for _ in range(23)}
    seen, path = [], ACCOUNTS
    while path:
        page = confluent.ask("GET", path).json()
        seen.append([each["id"] for each in page["data"]])
        path = page["metadata"].get("next", "").removeprefix(confluent.url)
    assert [len(page) for page in seen] == [10, 10, 3]
    assert {id_ for page in seen for id_ in page} == accounts


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (ENVIRONMENTS, {"name": "lab"}),
        (ENVIRONMENTS, {"display_name": "lab", "region": "us-east-1"}),
        (CLUSTERS, {"spec": {"display_name": "lab"}}),
        (KEYS, {"spec": {"owner": {"id": "u-admin"}, "resource": {"id": "aws.us-east-1"}}}),
        (BINDINGS, {"principal": "sa-1", "role_name": "ResourceOwner", "crn_pattern": "crn://x"}),
    ],
)
def test_bodies_of_another_shape_are_refused(confluent: CloudConfluent, path: str, body: object) -> None:
    assert confluent.ask("POST", path, body).status_code == 400


def test_a_basic_cluster_takes_no_roles_on_topics(confluent: CloudConfluent) -> None:
    environment = confluent.environment()
    account, crn = confluent.account(), confluent.organization.crn
    for kind, status in (("Basic", 400), ("Standard", 201)):
        cluster = confluent.cluster(environment, kind)
        place = f"{crn}/environment={environment}/cloud-cluster={cluster}/kafka={cluster}/topic=*"
        body = {"principal": f"User:{account}", "role_name": "ResourceOwner", "crn_pattern": place}
        assert confluent.ask("POST", BINDINGS, body).status_code == status


def test_keys_go_with_their_account_and_roles_stay(confluent: CloudConfluent) -> None:
    """Of keys a page says so (Best Practices for Using API Keys); of roles none does."""
    account = confluent.account(("OrganizationAdmin", ""))
    key = confluent.key(account)
    confluent.ask("DELETE", f"{ACCOUNTS}/{account}")
    assert confluent.ask("GET", ENVIRONMENTS, **key).status_code == 401
    (left,) = confluent.ask("GET", BINDINGS, crn_pattern=confluent.organization.crn).json()["data"][1:]
    assert left["principal"] == f"User:{account}"


def test_a_throttled_call_says_when_to_come_again(confluent: CloudConfluent) -> None:
    confluent.delay(retry_after=7)
    confluent.turn(throttle_every=1)
    answer = confluent.ask("GET", ENVIRONMENTS)
    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "7")


def test_errors_have_three_shapes(confluent: CloudConfluent) -> None:
    wrong = {"key": KEY, "secret": SECRET + "x"}
    assert "detail" in confluent.ask("GET", ENVIRONMENTS, **wrong).json()["errors"][0]
    assert set(confluent.ask("GET", "/kafka/v3/clusters/lkc-1/topics", **wrong).json()) == {
        "error_code",
        "message",
    }
    connectors = "/connect/v1/environments/env-1/clusters/lkc-1/connectors"
    assert set(confluent.ask("GET", connectors, **wrong).json()["error"]) == {"code", "message"}


def _refused(cloud: CloudConfluent) -> Iterator[tuple[str, Any]]:
    """Requests that name what is not there."""
    environment = cloud.environment()
    cluster, account = cloud.cluster(environment), cloud.account(("OrganizationAdmin", ""))
    region = {"id": "aws.us-east-1", "environment": environment, "kind": "Region", "api_version": "fcpm/v2"}
    flink, tableflow = cloud.key(account, region), cloud.key(account, {"id": "tableflow"})
    topics = f"/kafka/v3/clusters/{cluster}/topics"
    cloud.made(topics, {"topic_name": "t"}, **cloud.key(account, {"id": cluster}))
    ask, crn = partial(cloud.ask, "POST"), cloud.organization.crn
    stranger = {"principal": "User:sa-none", "role_name": "ResourceOwner", "crn_pattern": crn}
    yield "a binding of nobody", ask(BINDINGS, stranger)
    yield "a key of nobody", ask(KEYS, {"spec": {"owner": {"id": "sa-none"}}})
    yield "a key for nothing", ask(KEYS, {"spec": {"owner": {"id": account}, "resource": {"id": "lkc-none"}}})
    spec = {"statement": "DROP TABLE x", "compute_pool_id": "lfcp-none", "principal": account}
    sql = f"/sql/v1/organizations/{cloud.organization.id}/environments/{environment}/statements"
    yield "a statement in no pool", ask(sql, {"name": "x", "spec": spec}, **flink)
    place = {
        "environment": {"id": environment},
        "kafka_cluster": {"id": cluster, "environment": environment},
    }
    nothing = {"provider_integration_id": "cspi-none"}
    topic = {**place, "display_name": "t", "storage": {"kind": "ByobAws", "bucket_name": "b", **nothing}}
    yield "a table through nothing", ask("/tableflow/v1/tableflow-topics", {"spec": topic}, **tableflow)
    glue = {**place, "display_name": "g", "config": {"kind": "AwsGlue", **nothing}}
    yield "a catalog through nothing", ask("/tableflow/v1/catalog-integrations", {"spec": glue}, **tableflow)
    connectors = f"/connect/v1/environments/{environment}/clusters/lkc-none/connectors"
    yield "a connector in no cluster", ask(connectors, {"name": "S", "config": {}})
    yield "a page of no size", cloud.ask("GET", ENVIRONMENTS, page_size="abc")
    yield "a page that is too large", cloud.ask("GET", ENVIRONMENTS, page_size="1000")
    yield "a page after nothing", cloud.ask("GET", ENVIRONMENTS, page_token="abc")


def test_what_names_nothing_is_refused_by_the_codes_that_the_documents_have(
    confluent: CloudConfluent,
) -> None:
    """They were 404, which no document has for a POST; where the documents are at hand, they judge these."""
    answers = dict(_refused(confluent))
    assert {what: answer.status_code for what, answer in answers.items()} == dict.fromkeys(answers, 400)


def test_an_environment_stays_while_an_integration_is_in_it(confluent: CloudConfluent) -> None:
    environment = confluent.environment()
    role = {"kind": "AwsIntegrationConfig", "customer_iam_role_arn": "arn:aws:iam::123456789012:role/x"}
    body = {"display_name": "x", "provider": "AWS", "environment": {"id": environment}, "config": role}
    made = confluent.made(INTEGRATIONS, body)["id"]
    assert confluent.ask("DELETE", f"{ENVIRONMENTS}/{environment}").status_code == 409
    confluent.ask("DELETE", f"{INTEGRATIONS}/{made}", environment=environment)
    assert confluent.ask("DELETE", f"{ENVIRONMENTS}/{environment}").status_code == 204
