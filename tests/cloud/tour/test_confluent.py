"""What somebody changes by hand in Confluent Cloud is named, and healed or explained."""

from __future__ import annotations

import time

import pytest

from kit.deployments.tour import Change, Frazil, Tour, explain, explained, heal, waves
from kit.runs.waiting import wait_for

pytestmark = pytest.mark.nightly

BINDINGS, KEYS, ACCOUNTS = "/iam/v2/role-bindings", "/iam/v2/api-keys", "/iam/v2/service-accounts"
EXTRA = "confluent/extra_rights"
CONNECTOR = "confluent/connector/SampleSource"
READS = "confluent/acl/app_consumer-READ-topic-stock_trades"
WRITES = "confluent/acl/app_connector-WRITE-topic-stock_trades"
BOTH_TABLES = ("confluent/tableflow/stock_trades", "confluent/tableflow/totals")


def take_role(tour: Tour, name: str) -> None:
    tour.cloud("DELETE", f"{BINDINGS}/{tour.id(f'binding/{name}')}")


def take_all_roles_of_the_manager(tour: Tour) -> None:
    known = tour.known
    for name in ("MetricsViewer", "CloudClusterAdmin", "ResourceOwner", "DeveloperRead"):
        tour.cloud("DELETE", f"{BINDINGS}/{known[f'confluent/binding/app_manager-{name}']['id']}")


def give_role(tour: Tour, duty: str, role: str, place: str) -> None:
    tour.clouds.confluent.bind(tour.id(f"account/{duty}"), role, place)


def administer_the_environment(tour: Tour) -> None:
    give_role(tour, "app_consumer", "EnvironmentAdmin", f"/environment={tour.id('environment')}")


def give_acl(tour: Tour, **more: str) -> None:
    """Another ACL of the consumer's."""
    tour.kafka("POST", "acls", {**tour.known[READS], **more})


def take_acl(tour: Tour, address: str) -> None:
    tour.kafka("DELETE", "acls", **tour.known[address])


def own_key(tour: Tour) -> None:
    tour.clouds.confluent.key(tour.id("account/app_consumer"))


def revoke(tour: Tour, use: str) -> None:
    tour.cloud("DELETE", f"{KEYS}/{tour.id(f'key/{use}')}")


def turn(tour: Tour, how: str) -> None:
    tour.connect("PUT", f"connectors/SampleSource/{how}")


def make_users(tour: Tour) -> None:
    config = tour.connect("GET", "connectors/SampleSource/config")
    tour.connect("PUT", "connectors/SampleSource/config", {**config, "quickstart": "USERS"})
    is_in(tour, "RUNNING")


def is_in(tour: Tour, state: str) -> None:
    """Waits until the connector is in a state."""
    wait_for(lambda: tour.connect("GET", "connectors/SampleSource/status")["connector"]["state"] == state)


def break_connector(tour: Tour) -> None:
    """Without its right it fails at the next start."""
    take_acl(tour, WRITES)
    turn(tour, "resume")
    is_in(tour, "FAILED")


def degrade(tour: Tour) -> None:
    """As a connector is that lost some of its tasks; no API does that."""
    (path,) = (path for path in tour.clouds.confluent.organization.objects if path.endswith("/connectors"))
    connector = tour.clouds.confluent.thing(path, "SampleSource")
    connector.body["state"], connector.born = "DEGRADED", time.time() + 5


def stop(tour: Tour) -> None:
    body = tour.flink("GET", "make-totals")
    tour.flink("PUT", "make-totals", {**body, "spec": {**body["spec"], "stopped": True}})


def fail(tour: Tour) -> None:
    """As a statement is that ran out of memory; no API does that."""
    (path,) = (path for path in tour.clouds.confluent.organization.objects if path.endswith("/statements"))
    status = tour.clouds.confluent.thing(path, "make-totals").body["status"]
    status |= {"phase": "FAILED", "detail": "out of memory"}


def begin_anew(tour: Tour, *_: object) -> None:
    """The rows of the table may go."""
    for name in ("make-totals",):
        if name in str(tour.flink("GET", "")):
            tour.flink("DELETE", name)
    tour.kafka("DELETE", "topics/totals")


def break_the_writer(tour: Tour) -> None:
    """Tableflow can't write any more, and says so."""
    iam, role = tour.aws("iam"), tour.spec.names.writer_role
    for policy in iam.list_role_policies(RoleName=role)["PolicyNames"]:
        iam.delete_role_policy(RoleName=role, PolicyName=policy)
    tour.clouds.confluent.delay(prove_again=0.0)
    wait_for(lambda: "FAILED" in str(tour.tableflow("GET", "tableflow-topics")["data"]))
    wait_for(lambda: "FAILED" in str(tour.tableflow("GET", "catalog-integrations")["data"]))
    tour.clouds.confluent.delay(prove_again=5.0)


def skip_bad_records(tour: Tour) -> None:
    config = {"error_handling": {"mode": "SKIP"}}
    tour.tableflow("PATCH", "tableflow-topics/stock_trades", {"config": config})


def forget_soon(tour: Tour) -> None:
    data = {"data": [{"name": "retention.ms", "value": "1000"}]}
    tour.kafka("POST", "topics/stock_trades/configs:alter", data)


def describe(tour: Tour, text: str) -> None:
    tour.cloud("PATCH", f"{ACCOUNTS}/{_account(tour)}", {"description": text})


def _account(tour: Tour) -> str:
    name = tour.spec.names.account("app_producer")
    return next(
        str(each["id"]) for each in tour.cloud("GET", ACCOUNTS, page_size="100")["data"]
        if each["display_name"] == name
    )  # fmt: skip


def raise_package(tour: Tour) -> None:
    body = {"stream_governance_config": {"package": "ADVANCED"}}
    tour.cloud("PATCH", f"/org/v2/environments/{tour.id('environment')}", body)


def rename_environment(tour: Tour, name: str) -> None:
    tour.cloud("PATCH", f"/org/v2/environments/{tour.id('environment')}", {"display_name": name})


def rename_cluster(tour: Tour) -> None:
    spec = {"display_name": "of-others", "environment": {"id": tour.id("environment")}}
    tour.cloud("PATCH", f"/cmk/v2/clusters/{tour.id('cluster')}", {"spec": spec})


def rename_pool(tour: Tour) -> None:
    spec = {"display_name": "of-others", "environment": {"id": tour.id("environment")}}
    tour.cloud("PATCH", f"/fcpm/v2/compute-pools/{tour.id('pool')}", {"spec": spec})


def say_so(tour: Tour, *_: object) -> None:
    tour.write(confluent={**tour.document["confluent"], "governance": "ADVANCED"})


PRODUCERS = tuple(
    f"confluent/{it}"
    for it in ("account/app_producer", "key/app_producer", "acl/app_producer-WRITE-topic-stock_trades")
)

CHANGES = (
    Change("a role is gone", lambda t: take_role(t, "flink-Assigner"), ("confluent/binding/flink-Assigner",)),
    Change(
        "the manager may not administer the cluster",
        lambda t: take_role(t, "app_manager-CloudClusterAdmin"),
        ("confluent/binding/app_manager-CloudClusterAdmin",),
        alone=True,
    ),
    Change(
        "Flink may not run statements",
        lambda t: take_role(t, "flink-FlinkDeveloper"),
        ("confluent/binding/flink-FlinkDeveloper",),
        alone=True,
    ),
    Change(
        "the registry's reader lost its role",
        lambda t: take_role(t, "schema_registry-DeveloperRead"),
        ("confluent/binding/schema_registry-DeveloperRead",),
    ),
    Change(
        "a consumer administers the environment",
        administer_the_environment,
        (EXTRA,),
        ("app_consumer: EnvironmentAdmin",),
    ),
    Change(
        "a connector administers the organization",
        lambda t: give_role(t, "app_connector", "OrganizationAdmin", ""),
        (EXTRA,),
        ("app_connector: OrganizationAdmin",),
    ),
    Change(
        "the environment's mark is gone",
        lambda t: take_role(t, "app_manager-MetricsViewer"),
        ("confluent/binding/app_manager-MetricsViewer",),
        alone=True,
    ),
    Change(
        "nothing marks the environment",
        take_all_roles_of_the_manager,
        advice=("nothing in it says", "--adopt"),
        mended=lambda _, f: f("deploy", "create", "--yes", "--adopt"),
        ends_looks=True,
    ),
    Change(
        "the environment has another name",
        lambda t: rename_environment(t, "of-others"),
        ("confluent/environment",),
        ("name", "of-others"),
    ),
    Change("the cluster has another name", rename_cluster, ("confluent/cluster",), ("name", "of-others")),
    Change("the pool has another name", rename_pool, ("confluent/pool",), ("name", "of-others")),
    Change(
        "Glue's catalog has another name",
        lambda t: t.tableflow(
            "PATCH", f"catalog-integrations/{t.id('glue_sync')}", {"display_name": "of-others"}
        ),
        ("confluent/glue_sync",),
        ("name", "of-others"),
    ),
    Change("an ACL is gone", lambda t: take_acl(t, READS), (READS,)),
    Change(
        "a topic's mark is gone",
        lambda t: take_acl(t, "confluent/acl/app_manager-DESCRIBE-topic-stock_trades"),
        ("confluent/acl/app_manager-DESCRIBE-topic-stock_trades",),
    ),
    Change(
        "a consumer may do all with every topic",
        lambda t: give_acl(t, operation="ALL", resource_name="*"),
        (EXTRA,),
        ("ALL", '"*"'),
    ),
    Change(
        "a consumer may delete the deployment's topic",
        lambda t: give_acl(t, operation="DELETE"),
        (EXTRA,),
        ("DELETE",),
    ),
    Change("a consumer is denied its topic", lambda t: give_acl(t, permission="DENY"), (EXTRA,), ("DENY",)),
    Change("an account has a key that nobody ordered", own_key, (EXTRA,), ("app_consumer, of",)),
    Change("a key is revoked", lambda t: revoke(t, "app_producer"), ("confluent/key/app_producer",)),
    Change(
        "the manager's key is revoked",
        lambda t: revoke(t, "app_manager"),
        ("confluent/key/app_manager",),
        alone=True,
    ),
    Change("the connector is paused", lambda t: turn(t, "pause"), (CONNECTOR,), ("PAUSED",)),
    Change("the connector makes up other records", make_users, (CONNECTOR,), ("USERS",)),
    Change("the connector is gone", lambda t: t.connect("DELETE", "connectors/SampleSource"), (CONNECTOR,)),
    Change("the connector is degraded", degrade, (CONNECTOR,), ("DEGRADED",)),
    Change("the connector failed for a right", break_connector, (CONNECTOR, WRITES), ("FAILED",), alone=True),
    Change("a statement is stopped", stop, ("confluent/statement/make-totals",), ("stopped",)),
    Change(
        "a statement failed beside its table",
        fail,
        ("confluent/statement/make-totals",),
        ("failed",),
        advice=("FAILED, and its table totals is there", "drop the table"),
        mended=begin_anew,
    ),
    Change(
        "a statement is gone, and its table is there",
        lambda t: t.flink("DELETE", "make-totals"),
        ("confluent/statement/make-totals",),
        advice=("its table totals is there", "INSERT INTO `totals`"),
        mended=begin_anew,
    ),
    Change("a bad record is skipped", skip_bad_records, ("confluent/tableflow/stock_trades",), ("SKIP",)),
    Change(
        "a topic is no longer materialized",
        lambda t: t.tableflow("DELETE", "tableflow-topics/totals"),
        ("confluent/tableflow/totals",),
    ),
    Change(
        "Glue is no longer told",
        lambda t: t.tableflow("DELETE", f"catalog-integrations/{t.id('glue_sync')}"),
        ("confluent/glue_sync",),
    ),
    Change(
        "Tableflow failed for a right",
        break_the_writer,
        (*BOTH_TABLES, "confluent/glue_sync", "aws/writer_role"),
        ("FAILED",),
        alone=True,
    ),
    Change("a topic forgets sooner", forget_soon, ("confluent/topic/stock_trades",), ("604800000",)),
    Change(
        "a topic is gone",
        lambda t: t.kafka("DELETE", "topics/stock_trades"),
        ("confluent/topic/stock_trades",),
        alone=True,
    ),
    Change(
        "the pool may take more",
        lambda t: t.cloud(
            "PATCH",
            f"/fcpm/v2/compute-pools/{t.id('pool')}",
            {"spec": {"max_cfu": 50, "environment": {"id": t.id("environment")}}},
        ),
        ("confluent/pool",),
        ("max_cfu",),
    ),
    Change(
        "an account is described otherwise",
        lambda t: describe(t, "of others"),
        advice=("not of this deployment", "describe it as frazil:lab"),
        mended=lambda t, _: describe(t, "frazil:lab"),
        ends_looks=True,
    ),
    Change(
        "an account is gone", lambda t: t.cloud("DELETE", f"{ACCOUNTS}/{_account(t)}"), PRODUCERS, alone=True
    ),
    Change(
        "the registry's package is raised",
        raise_package,
        ("confluent/environment",),
        ("ADVANCED",),
        advice=("nobody can change", "Put the old values into the deployment"),
        mended=say_so,
    ),
)


@pytest.mark.parametrize("wave", waves(CHANGES), ids=lambda wave: f"{wave[0]} and {len(wave) - 1} more")
def test_changes_by_hand_are_named_and_healed(tour: Tour, frazil: Frazil, wave: list[Change]) -> None:
    heal(tour, frazil, wave)


@pytest.mark.parametrize("change", explained(CHANGES), ids=str)
def test_a_change_that_nobody_may_heal_is_explained(tour: Tour, frazil: Frazil, change: Change) -> None:
    explain(tour, frazil, change)
