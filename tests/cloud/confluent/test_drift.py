"""What others change in Confluent Cloud is seen and healed; what is not ours is left alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from frazil.errors import ConfigureError, DifferentError, NotAllowedError
from frazil_cloud.confluent.accounts.keys import statements_path
from frazil_cloud.confluent.client import stored_pair
from frazil_cloud.confluent.refusals import Settled
from frazil_cloud.confluent.tableflow import status_text
from frazil_cloud.resource import Known, RefusedYet
from frazil_cloud.spec.confluent import KeyUse
from kit.clouds.cloud_confluent import KICKSTARTER, CloudConfluent, Deployed
from kit.runs.waiting import wait_for

ACCOUNTS = "/iam/v2/service-accounts"


def _lose_acls(cloud: CloudConfluent, known: Known) -> object:
    return cloud.organization.of(f"/kafka/v3/clusters/{known['confluent/cluster']['id']}/acls").clear()


def _statement(cloud: CloudConfluent, known: Known) -> Any:
    environment = known["confluent/environment"]
    path = f"/sql/v1/organizations/{environment['organization']}/environments/{environment['id']}/statements"
    return cloud.thing(path, "create-totals").body


def test_a_statement_that_is_degraded_keeps_what_it_knows_and_verify_says_so(deployed: Deployed) -> None:
    known = deployed.create()
    _statement(deployed.cloud, known)["status"].update(phase="DEGRADED", detail="it restarts often")
    assert deployed.reconciler().plan().news == ()
    deployed.create()
    error = deployed.reconciler(patience=0.5).verify()["confluent/statement/create-totals"]
    assert "DEGRADED: it restarts often" in str(error)


def test_a_statement_that_goes_on_keeps_its_text(deployed: Deployed) -> None:
    deployed.create()
    statements = [dict(each) for each in KICKSTARTER["confluent"]["statements"]]
    statements[1]["sql"] += " WHERE quantity > 1"
    deployed.document = {**KICKSTARTER, "confluent": {**KICKSTARTER["confluent"], "statements": statements}}
    with pytest.raises(DifferentError, match="nobody can change"):
        deployed.create()


def test_a_package_is_raised_and_never_goes_back(deployed: Deployed) -> None:
    known = deployed.create()
    raised = {**KICKSTARTER["confluent"], "governance": "ADVANCED"}
    deployed.document = {**KICKSTARTER, "confluent": raised}
    deployed.create()
    environment = deployed.cloud.thing("/org/v2/environments", known["confluent/environment"]["id"])
    assert environment.body["stream_governance_config"] == {"package": "ADVANCED"}
    deployed.document = KICKSTARTER
    with pytest.raises(DifferentError, match="governance"):
        deployed.create()


ENVIRONMENTS, CLUSTERS = "/org/v2/environments", "/cmk/v2/clusters"
RENAMABLE = {
    "environment": ENVIRONMENTS,
    "cluster": CLUSTERS,
    "pool": "/fcpm/v2/compute-pools",
    "glue_sync": "/tableflow/v1/catalog-integrations",
}
_TABLEFLOW = "confluent/key/tableflow"


def _rename(deployed: Deployed, known: Known, what: str, name: str = "of-others") -> None:
    """As somebody does who administers the organization."""
    environment, cluster = ({"id": known[f"confluent/{it}"]["id"]} for it in ("environment", "cluster"))
    spec = {"display_name": name, "environment": environment}
    who: dict[str, str] = {}
    if what == "glue_sync":
        who = dict(zip(("key", "secret"), stored_pair(deployed.store, known, _TABLEFLOW), strict=True))
        spec["kafka_cluster"] = {**cluster, "environment": environment["id"]}
    body = {"display_name": name} if what == "environment" else {"spec": spec}
    path = f"{RENAMABLE[what]}/{known[f'confluent/{what}']['id']}"
    assert deployed.cloud.ask("PATCH", path, body, **who).ok


@pytest.mark.parametrize("whats", [*((what,) for what in RENAMABLE), tuple(RENAMABLE)])
@pytest.mark.each_time("whats0")
def test_what_somebody_renamed_is_known_by_its_mark_and_never_made_twice(
    deployed: Deployed, whats: tuple[str, ...]
) -> None:
    known = deployed.create()
    for what in whats:
        _rename(deployed, known, what)

    planned = {step.address: step.action for step in deployed.reconciler().plan().news}
    healed = deployed.create()

    assert planned == {f"confluent/{what}": "update" for what in whats}
    for what, path in RENAMABLE.items():
        assert healed[f"confluent/{what}"]["id"] == known[f"confluent/{what}"]["id"]
        assert deployed.cloud.inventory()[path] == [known[f"confluent/{what}"]["id"]]
    assert deployed.reconciler().plan().news == ()


@pytest.mark.parametrize("died_at", ["", "confluent/cluster", "confluent/environment"])
@pytest.mark.each_time("confluent/environment")
def test_what_somebody_renamed_goes_with_the_deployment(deployed: Deployed, died_at: str) -> None:
    """Also where a deletion died on the way: what it is known by goes last."""
    known = deployed.create()
    for what in RENAMABLE:
        _rename(deployed, known, what)

    def dies(address: str, what: str) -> None:
        if (address, what) == (died_at, "deleting"):
            raise InterruptedError

    if died_at:
        reconciler = deployed.reconciler()
        with pytest.raises(InterruptedError):
            reconciler.destroy(reconciler.removal(), dies)
    deployed.delete()

    assert deployed.cloud.inventory() == {}


def test_an_environment_whose_name_another_one_took_is_named(deployed: Deployed) -> None:
    known = deployed.create()
    _rename(deployed, known, "environment")
    other = deployed.cloud.made(ENVIRONMENTS, {"display_name": deployed.spec.name})["id"]

    with pytest.raises(DifferentError, match="another one bears its name") as raised:
        deployed.create()

    assert (
        raised.value.where
        == f"{known['confluent/environment']['id']}: of-others; {other}: {deployed.spec.name}"
    )
    assert deployed.cloud.ask("PATCH", f"{ENVIRONMENTS}/{other}", {"display_name": "elsewhere"}).ok
    deployed.create()
    assert deployed.reconciler().plan().news == ()
    assert deployed.cloud.inventory()[CLUSTERS] == [known["confluent/cluster"]["id"]]


def test_a_cluster_of_the_same_name_beside_the_deployments_own_is_left_alone(deployed: Deployed) -> None:
    """Names of clusters are not unique."""
    known = deployed.create()
    place = known["confluent/environment"]["id"]
    _rename(deployed, known, "cluster")
    other = deployed.cloud.cluster(place, name=deployed.spec.name)

    deployed.create()

    assert deployed.reconciler().facts()["confluent/cluster"]["id"] == known["confluent/cluster"]["id"]
    assert deployed.cloud.ask("GET", f"{CLUSTERS}/{other}", environment=place).json()["spec"]["config"] == {
        "kind": "Standard"
    }


def test_all_acls_that_somebody_removed_come_back(deployed: Deployed) -> None:
    _lose_acls(deployed.cloud, deployed.create())
    assert len(deployed.reconciler().plan().news) == 10
    deployed.create()
    assert deployed.reconciler().plan().news == ()


def test_a_drop_that_the_cloud_forgot_is_not_run_again(deployed: Deployed) -> None:
    """Ended statements are forgotten after 30 days; DROP TABLE again would lose the table that is in use."""
    environment = deployed.create()["confluent/environment"]
    path = f"/sql/v1/organizations/{environment['organization']}/environments/{environment['id']}/statements"
    del deployed.cloud.organization.of(path)["drop-totals"]
    assert deployed.reconciler().plan().news == ()
    deployed.delete()
    assert deployed.cloud.inventory() == {}


def _delete_the_cluster(deployed: Deployed) -> None:
    known = deployed.create()
    path = f"/cmk/v2/clusters/{known['confluent/cluster']['id']}"
    deployed.cloud.ask("DELETE", path, environment=known["confluent/environment"]["id"])
    wait_for(lambda: "/cmk/v2/clusters" not in deployed.cloud.inventory())


def test_a_deployment_whose_cluster_is_gone_is_made_whole_again(deployed: Deployed) -> None:
    _delete_the_cluster(deployed)
    cluster = deployed.create()["confluent/cluster"]
    assert not any(deployed.reconciler().verify().values())
    assert len(deployed.cloud.inventory()["/iam/v2/api-keys"]) == 6
    values = deployed.store.secrets[deployed.spec.names.secret("app_consumer")]
    assert values["bootstrap.servers"] == cluster["bootstrap"]


def test_a_deployment_whose_cluster_is_gone_leaves_nothing(deployed: Deployed) -> None:
    _delete_the_cluster(deployed)
    deployed.delete()
    assert deployed.cloud.inventory() == {}
    assert deployed.store.secrets == {}


def _foreign_environment(deployed: Deployed) -> str:
    """One that somebody made by hand, by the name of the deployment."""
    made = deployed.cloud.made("/org/v2/environments", {"display_name": deployed.spec.name})["id"]
    deployed.cloud.cluster(made, name=deployed.spec.name)
    return str(made)


def test_an_environment_of_the_same_name_is_neither_used_nor_removed(deployed: Deployed) -> None:
    """It was removed, with its cluster, by the deletion of a deployment that never made it."""
    made = _foreign_environment(deployed)
    for act in (deployed.create, deployed.delete):
        with pytest.raises(DifferentError, match="nothing in it says") as raised:
            act()
        assert "--adopt" in raised.value.todo
    assert deployed.cloud.inventory()["/org/v2/environments"] == [made]


@pytest.mark.parametrize("holds_something", [True, False])
def test_an_environment_without_clusters_is_somebody_s_until_an_account_of_ours_is_there(
    deployed: Deployed, holds_something: bool
) -> None:
    """One that held somebody's provider integration alone was taken over, and deletion tried to remove it."""
    made = deployed.cloud.made("/org/v2/environments", {"display_name": deployed.spec.name})["id"]
    if holds_something:
        role = {"kind": "AwsIntegrationConfig", "customer_iam_role_arn": "arn:aws:iam::123456789012:role/x"}
        of_others = {"display_name": "theirs", "provider": "AWS", "config": role, "environment": {"id": made}}
        deployed.cloud.made("/pim/v1/integrations", of_others)
        deployed.cloud.made(
            ACCOUNTS, {"display_name": "tableflow_app_manager", "description": deployed.spec.mark}
        )
    before = deployed.cloud.inventory()
    for act in (deployed.create, deployed.delete):
        with pytest.raises(DifferentError, match="nothing in it says"):
            act()
    assert deployed.cloud.inventory() == before


@pytest.mark.parametrize("goes_on", [Deployed.create, Deployed.delete])
@pytest.mark.each_time("create")
def test_an_environment_of_a_run_that_was_killed_before_it_bore_the_mark_is_ours(
    deployed: Deployed, goes_on: Callable[[Deployed], object]
) -> None:
    begun = deployed.reconciler().part(["confluent/environment"])
    begun.apply(begun.plan())
    goes_on(deployed)
    deployed.delete()
    assert deployed.cloud.inventory() == {}


def test_an_environment_is_taken_over_on_purpose_and_is_known_from_then_on(deployed: Deployed) -> None:
    made = _foreign_environment(deployed)
    deployed.adopts = True
    assert deployed.create()["confluent/environment"]["id"] == made
    deployed.adopts = False
    assert deployed.reconciler().plan().news == ()
    deployed.delete()
    assert deployed.cloud.inventory() == {}


def test_a_topic_that_a_consumer_may_read_is_not_the_deployment_s(deployed: Deployed) -> None:
    known = deployed.create()
    acl = deployed.reconciler().facts()["confluent/acl/app_consumer-READ-topic-stock_trades"]
    path = f"/kafka/v3/clusters/{known['confluent/cluster']['id']}"
    manager = stored_pair(deployed.store, known, "confluent/key/app_manager")
    who = {"key": manager[0], "secret": manager[1]}
    deployed.cloud.made(f"{path}/topics", {"topic_name": "foreign"}, **who)
    for name in ("foreign", "*"):
        deployed.cloud.made(f"{path}/acls", {**acl, "resource_name": name}, **who)

    plan = deployed.reconciler(removes_data=True).plan()
    assert [step.address for step in plan.news] == ["confluent/extra_rights"]
    deployed.create()
    assert deployed.reconciler().plan().news == ()
    assert "foreign" in deployed.cloud.inventory()[f"{path}/topics"]


def test_what_our_accounts_may_besides_costs_few_requests_and_is_found_among_many(deployed: Deployed) -> None:
    known, cloud = deployed.create(), deployed.cloud
    (extra,) = (each for each in deployed.resources if each.address == "confluent/extra_rights")
    before = cloud.calls()
    assert extra.read(known) == extra.wanted(known)
    assert cloud.calls() - before <= 2 + 6  # all roles, all keys, and the ACLs of each account

    account, environment = (known[f"confluent/{it}"]["id"] for it in ("account/app_consumer", "environment"))
    cloud.bind(account, "EnvironmentAdmin", f"/environment={environment}")
    somebody = cloud.account()
    for number in range(100):
        cloud.bind(somebody, "MetricsViewer", f"/environment=env-{number}")
    assert [*(extra.read(known) or {})["roles"].values()] == [
        f"app_consumer: EnvironmentAdmin on /environment={environment}"
    ]


@pytest.mark.nightly
def test_tableflow_s_settings_are_set_and_compared(deployed: Deployed) -> None:
    log = {"retention": "2d", "on_bad_record": "log", "log_topic": "bad_trades"}
    deployed.document = {**KICKSTARTER, "confluent": {**KICKSTARTER["confluent"], "tableflow_settings": log}}
    deployed.create()
    spec = deployed.cloud.thing("/tableflow/v1/tableflow-topics", "stock_trades").body["spec"]
    assert spec["config"]["retention_ms"] == "172800000"
    assert spec["config"]["error_handling"] == {"mode": "LOG", "target": "bad_trades"}
    spec["config"]["error_handling"] = {"mode": "SKIP"}
    assert [step.address for step in deployed.reconciler().plan().news] == [
        "confluent/tableflow/stock_trades"
    ]
    deployed.create()
    assert deployed.reconciler().plan().news == ()


@pytest.mark.nightly
def test_the_formats_of_a_table_follow_the_file_and_come_back(deployed: Deployed) -> None:
    """They were said to be such that nobody can change them; Confluent's PATCH takes them."""
    deployed.create()
    both = {**KICKSTARTER["confluent"], "tableflow_settings": {"formats": ["ICEBERG", "DELTA"]}}
    deployed.document = {**KICKSTARTER, "confluent": both}
    deployed.create()
    spec = deployed.cloud.thing("/tableflow/v1/tableflow-topics", "stock_trades").body["spec"]
    assert spec["table_formats"] == ["ICEBERG", "DELTA"]
    spec["table_formats"] = ["DELTA"]
    assert [step.address for step in deployed.reconciler().plan().news] == [
        "confluent/tableflow/stock_trades"
    ]
    deployed.create()
    assert spec["table_formats"] == ["ICEBERG", "DELTA"]
    assert deployed.reconciler().plan().news == ()


def test_another_database_of_glue_is_named_and_goes_back_to_the_cluster_s(deployed: Deployed) -> None:
    cluster = deployed.create()["confluent/cluster"]["id"]
    (integration,) = deployed.cloud.organization.of("/tableflow/v1/catalog-integrations").values()
    integration.body["spec"]["config"]["custom_database"] = "elsewhere"
    assert [step.address for step in deployed.reconciler().plan().news] == ["confluent/glue_sync"]
    deployed.create()
    assert integration.body["spec"]["config"]["custom_database"] == cluster
    assert deployed.reconciler().plan().news == ()


def test_tableflow_is_turned_on_in_an_empty_bucket_alone(deployed: Deployed) -> None:
    """ "Existing objects in the bucket may cause Tableflow to fail to start or may be lost entirely." """
    deployed.objects = ("warehouse/trades/metadata/v1.metadata.json",)
    with pytest.raises(ConfigureError, match="holds what Tableflow did not write"):
        deployed.create()
    deployed.objects = ()
    deployed.create()
    deployed.objects = ("10011010/a.parquet", "warehouse/b.parquet")
    more = {**KICKSTARTER["confluent"], "topics": [*KICKSTARTER["confluent"]["topics"], {"name": "later"}]}
    more["tableflow"] = [*more["tableflow"], "later"]
    deployed.document = {**KICKSTARTER, "confluent": more}
    deployed.create()
    assert "later" in deployed.cloud.inventory()["/tableflow/v1/tableflow-topics"]


@pytest.mark.nightly
def test_a_lone_topic_that_somebody_turned_off_is_turned_on_beside_what_tableflow_wrote(
    deployed: Deployed,
) -> None:
    """It was refused: Tableflow "was never on" in the bucket."""
    alone = {**KICKSTARTER["confluent"], "tableflow": ("stock_trades",)}
    deployed.document = {**KICKSTARTER, "confluent": alone}
    known = deployed.create()
    path, topic = "/tableflow/v1/tableflow-topics", known["confluent/tableflow/stock_trades"]
    bucket, _, own = str(topic["table_path"]).removeprefix("s3://").partition("/")
    _turn_off(deployed, known)
    others = f"10011010/11101100/{known['confluent/environment']['organization']}/env-1/lkc-1/v1/a"

    deployed.objects = (f"{own}/metadata/v1.metadata.json", others)
    with pytest.raises(ConfigureError, match="holds what Tableflow did not write") as raised:
        deployed.create()
    assert raised.value.where == f"stock_trades: s3://{bucket}/{others}"
    assert path not in deployed.cloud.inventory()

    deployed.objects = (f"{own}/metadata/v1.metadata.json", f"{own}/data/a.parquet")
    deployed.create()
    assert deployed.cloud.inventory()[path] == ["stock_trades"]


def _turn_off(deployed: Deployed, known: Known) -> None:
    """As somebody does who has Tableflow's key."""
    key, secret = stored_pair(deployed.store, known, _TABLEFLOW)
    environment, cluster = (known[f"confluent/{it}"]["id"] for it in ("environment", "cluster"))
    place = {"environment": environment, "spec.kafka_cluster": cluster}
    path = "/tableflow/v1/tableflow-topics/stock_trades"
    assert deployed.cloud.ask("DELETE", path, key=key, secret=secret, **place).ok


def test_a_format_that_fails_is_told_by_verify_though_the_phase_is_well(deployed: Deployed) -> None:
    deployed.create()
    body = deployed.cloud.thing("/tableflow/v1/tableflow-topics", "stock_trades").body
    body["status"]["failing_table_formats"] = [{"format": "ICEBERG", "error_message": "schema refused"}]
    error = deployed.reconciler(patience=0.5).verify()["confluent/tableflow/stock_trades"]
    assert "ICEBERG: schema refused" in str(error)


@pytest.mark.parametrize(
    ("sync", "words"),
    [
        ({"sync_status": "DISCONNECTED"}, "catalog AWS_GLUE: DISCONNECTED"),
        ({"sync_status": "FAILED", "error_message": "no right"}, "catalog AWS_GLUE: no right"),
        ({"sync_status": "FAILED"}, "catalog AWS_GLUE: FAILED"),
        ({"error_message": "no right"}, "catalog AWS_GLUE: no right"),
        ({"sync_status": "SYNCED"}, ""),
        ({"sync_status": "PENDING"}, ""),
        ({}, ""),
    ],
)
@pytest.mark.each_time("sync0-catalog AWS_GLUE: DISCONNECTED", "sync4-")
def test_a_catalog_that_a_table_does_not_reach_is_told_by_verify(
    deployed: Deployed, monkeypatch: pytest.MonkeyPatch, sync: dict[str, str], words: str
) -> None:
    """Confluent's document requires no field of a catalog's state: one without any ended with a KeyError."""
    deployed.create()
    synced = {"catalog_integration_id": "tci-1", "catalog_type": "AWS_GLUE", **sync}
    monkeypatch.setattr("frazil_local.cloud.confluent.tableflow.topics._syncs", lambda *_: iter([synced]))
    assert deployed.reconciler().plan().news == ()
    error = deployed.reconciler(patience=0.5).verify()["confluent/tableflow/stock_trades"]
    assert (words in str(error)) if words else error is None


def test_who_waits_for_a_table_hears_what_tableflow_says_of_its_topic(deployed: Deployed) -> None:
    known = deployed.create()
    asked_of = "stock_trades", deployed.cloud.client, deployed.store, known
    assert "says RUNNING" in status_text(*asked_of)
    body = deployed.cloud.thing("/tableflow/v1/tableflow-topics", "stock_trades").body
    body["status"]["failing_table_formats"] = [{"format": "ICEBERG", "error_message": "no schema"}]
    assert "says ICEBERG: no schema" in status_text(*asked_of)


def _spoil(deployed: Deployed, known: Known, use: KeyUse, field: str) -> str:
    """Somebody changes the password in the secret of a key that was made long ago."""
    secret = str(deployed.spec.names.secret(use))
    deployed.store.secrets[secret][field] = "wrong"
    born = deployed.cloud.thing("/iam/v2/api-keys", known[f"confluent/key/{use}"]["id"]).body["metadata"]
    born["created_at"] = "2026-01-01T00:00:00+00:00"
    return secret


WRONG: list[tuple[KeyUse, str]] = [
    ("app_manager", "sasl.password"), ("tableflow", "api.key.secret"), ("flink", "api.key.secret")
]  # fmt: skip


@pytest.mark.parametrize(("use", "field"), WRONG)
def test_a_secret_with_a_wrong_password_is_named_at_once(deployed: Deployed, use: KeyUse, field: str) -> None:
    secret = _spoil(deployed, deployed.create(), use, field)
    with pytest.raises(ConfigureError, match=secret):
        deployed.reconciler(patience=60.0).plan()


@pytest.mark.parametrize(("use", "field"), WRONG[1:])
def test_so_is_one_that_only_what_was_taken_out_had(deployed: Deployed, use: KeyUse, field: str) -> None:
    """It was waited for, for half an hour."""
    secret = _spoil(deployed, deployed.create(), use, field)
    less = {**KICKSTARTER["confluent"], "max_cfu": 0, "statements": (), "tableflow": ()}
    deployed.document = {**KICKSTARTER, "confluent": less}
    with pytest.raises(ConfigureError, match=secret):
        deployed.reconciler(patience=60.0).plan()


def test_who_waits_for_a_table_hears_of_a_wrong_password_at_once(deployed: Deployed) -> None:
    known = deployed.create()
    secret = _spoil(deployed, known, "tableflow", "api.key.secret")
    key = "confluent/key/tableflow"
    known = {**known, key: {**known[key], "created": "2026-01-01T00:00:00+00:00"}}
    with pytest.raises(ConfigureError, match=secret):
        status_text("stock_trades", deployed.cloud.client, deployed.store, known)


def test_what_flink_does_not_take_is_waited_for_only_while_the_key_is_young(deployed: Deployed) -> None:
    known = deployed.create()
    pair = stored_pair(deployed.store, known, "confluent/key/flink")
    of_no_pool = {"statement": "DROP TABLE x", "compute_pool_id": "lfcp-none", "principal": "sa-none"}
    body = {"name": "x", "spec": of_no_pool}
    for settled, error in ((None, RefusedYet), (Settled("a secret", "flink"), ConfigureError)):
        flink = deployed.cloud.client.flink("us-east-1", pair, settled)
        with pytest.raises(error, match="lfcp-none" if settled is None else "does not take"):
            flink.post(statements_path(known), body)


def test_an_account_of_another_deployment_is_not_touched(deployed: Deployed) -> None:
    body = {"display_name": "tableflow_app_manager", "description": "frazil:another"}
    made = deployed.cloud.made(ACCOUNTS, body)["id"]
    with pytest.raises(DifferentError, match="not of this deployment"):
        deployed.create()
    assert made in deployed.cloud.inventory()[ACCOUNTS]


def test_the_partitions_of_a_topic_do_not_change(deployed: Deployed) -> None:
    deployed.create()
    confluent = {**KICKSTARTER["confluent"], "topics": [{"name": "stock_trades", "partitions": 12}]}
    deployed.document = {**KICKSTARTER, "confluent": confluent}
    with pytest.raises(DifferentError, match="partitions: 6 -> 12"):
        deployed.create()


def test_a_key_that_nobody_knows_and_one_without_a_role_end_at_once(deployed: Deployed) -> None:
    cloud = deployed.cloud
    nobody = cloud.client_of({"key": "NOBODY", "secret": "nothing"})
    with pytest.raises(ConfigureError, match="does not know who asks") as raised:
        Deployed(cloud, confluent=nobody).create()
    assert "FRAZIL_CONFLUENT__API_KEY" in raised.value.todo
    weak = cloud.client_of(cloud.key(cloud.account()))
    with pytest.raises(NotAllowedError) as refused:
        Deployed(cloud, confluent=weak).create()
    assert "OrganizationAdmin" in refused.value.todo


def test_a_quota_ends_at_once_and_says_so(deployed: Deployed) -> None:
    deployed.cloud.delay(max_keys=3)
    with pytest.raises(ConfigureError, match="quota"):
        deployed.create()
