"""Each right of the deployment is needed: what lacks one says which."""

from __future__ import annotations

from typing import Any

import pytest

from frazil.errors import CloudSlowError
from frazil_cloud.reconciler import Reconciler
from frazil_cloud.resource import RefusedYet
from frazil_cloud.spec.deployment import DeploymentSpec
from kit.clouds.cloud_confluent import KICKSTARTER, Deployed, Given

BINDINGS = {
    "app_manager-CloudClusterAdmin": "CloudClusterAdmin",
    "app_manager-ResourceOwner": "ResourceOwner on the provider integration",
    "app_manager-DeveloperRead": "DeveloperRead on the registry's subjects",
    "flink-FlinkDeveloper": "FlinkDeveloper",
    "flink-Assigner": "Assigner",
    "flink-ResourceOwner-1": "subject=",
    "flink-ResourceOwner-2": "topic=",
    "flink-ResourceOwner-3": "transactional-id=",
}
ACLS = {
    "app_connector-DESCRIBE-cluster-kafka-cluster": "DESCRIBE kafka-cluster",
    "app_connector-WRITE-topic-stock_trades": "WRITE topic stock_trades",
}


def without(deployed: Deployed, address: str) -> Reconciler:
    """All but one, which is said to be there."""
    resources: list[Any] = [
        Given(r.address, r.needs) if r.address == address else r for r in deployed.resources
    ]
    assert address in [r.address for r in resources]
    return Reconciler(resources, patience=1.5, margin=0.2, pause=0.1)


@pytest.mark.parametrize(
    ("address", "named"),
    [
        *((f"confluent/binding/{name}", named) for name, named in BINDINGS.items()),
        *((f"confluent/acl/{name}", named) for name, named in ACLS.items()),
    ],
)
@pytest.mark.each_time(
    "confluent/binding/app_manager-CloudClusterAdmin-CloudClusterAdmin",
    "confluent/acl/app_connector-WRITE-topic-stock_trades-WRITE topic stock_trades",
)
def test_a_right_that_is_missing_is_named(deployed: Deployed, address: str, named: str) -> None:
    reconciler = without(deployed, address)
    with pytest.raises(CloudSlowError) as raised:
        reconciler.apply(reconciler.plan())
    assert named in str(raised.value)


def test_a_reader_of_the_registry_that_lost_its_role_is_found_by_verify(deployed: Deployed) -> None:
    known = deployed.create()
    role = known["confluent/binding/schema_registry-DeveloperRead"]["id"]
    deployed.cloud.ask("DELETE", f"/iam/v2/role-bindings/{role}")
    broken = without(deployed, "confluent/binding/schema_registry-DeveloperRead").verify()
    assert "DeveloperRead" in str(broken["confluent/key/schema_registry"])


@pytest.mark.parametrize(("duty", "operation"), [("app_producer", "WRITE"), ("app_consumer", "READ")])
def test_a_client_that_lost_its_acl_is_found_by_verify(deployed: Deployed, duty: str, operation: str) -> None:
    address = f"confluent/acl/{duty}-{operation}-topic-stock_trades"
    known = deployed.create()
    path = f"/kafka/v3/clusters/{known['confluent/cluster']['id']}/acls"
    deployed.cloud.organization.of(path).pop("|".join(known[address].values()))
    (acl,) = [each for each in deployed.resources if each.address == address]
    with pytest.raises(RefusedYet, match=f"the ACL {operation} on the topic stock_trades"):
        acl.verify(known[address], known)


def test_flink_develops_in_its_environment_alone(deployed: Deployed) -> None:
    """The source systems gave the role on the whole organization (D17)."""
    known = deployed.create()
    environment = known["confluent/environment"]["id"]
    pattern = known["confluent/binding/flink-FlinkDeveloper"]["pattern"]
    assert pattern == f"{deployed.cloud.organization.crn}/environment={environment}"


def test_secrets_stand_in_the_store_alone(deployed: Deployed) -> None:
    plan = deployed.reconciler().plan()
    known = deployed.create()
    secrets = [
        key.body["spec"]["secret"] for key in deployed.cloud.organization.of("/iam/v2/api-keys").values()
    ]
    shown = f"{plan} {plan.document} {known} {deployed.resources!r} {deployed.reconciler().plan()}"
    assert len(secrets) == 7
    assert not [secret for secret in secrets if secret in shown]
    names = deployed.spec.names
    twins = {names.twin(use) for use in ALL_USES} - {""}
    assert set(deployed.store.secrets) == twins | {names.secret(use) for use in ALL_USES}
    assert set(deployed.store.secrets[names.secret("flink")]) == {
        "api.key", "api.key.secret", "compute.pool.id", "principal.id",
    }  # fmt: skip
    assert "://" not in deployed.store.secrets[names.secret("app_consumer")]["bootstrap.servers"]


ALL_USES: tuple[Any, ...] = (
    "app_manager", "app_producer", "app_consumer", "schema_registry", "flink", "tableflow"
)  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "missing"),
    [
        (
            {"tableflow": ()},
            ["confluent/provider_integration", "confluent/key/tableflow", "confluent/glue_sync"],
        ),
        ({"tableflow": (), "max_cfu": 0, "statements": ()}, ["confluent/pool", "confluent/account/flink"]),
        ({"connectors": ()}, ["confluent/account/app_connector"]),
        ({"kind": "Basic"}, ["confluent/binding/flink-ResourceOwner-2"]),
    ],
)
@pytest.mark.each_time("changes0-missing0")
def test_smaller_deployments_have_only_what_they_use(
    deployed: Deployed, changes: dict[str, Any], missing: list[str]
) -> None:
    whole = set(deployed.reconciler().addresses)
    deployed.document = {**KICKSTARTER, "confluent": {**KICKSTARTER["confluent"], **changes}}
    DeploymentSpec.model_validate(deployed.document)
    deployed.create()
    assert not any(deployed.reconciler().verify().values())
    assert whole - set(deployed.reconciler().addresses) >= set(missing)
    deployed.delete()
    assert deployed.cloud.inventory() == {}
