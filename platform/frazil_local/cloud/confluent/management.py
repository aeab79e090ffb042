"""The management API: environments, clusters, registries, accounts, bindings, keys, compute pools."""

from __future__ import annotations

import secrets
from typing import ClassVar

from frazil_local.cloud.confluent.bodies import (
    AccountBody,
    BindingBody,
    Body,
    ClusterBody,
    EnvironmentBody,
    KeyBody,
    PoolBody,
)
from frazil_local.cloud.confluent.kind import Kind, spec_of
from frazil_local.cloud.confluent.organization import (
    ACCOUNTS,
    ADMIN,
    BINDINGS,
    CLUSTERS,
    ENVIRONMENTS,
    KEYS,
    REGISTRIES,
    Json,
    Organization,
    StoredObject,
)
from frazil_local.cloud.confluent.refusals import Refusal
from frazil_local.cloud.confluent.tableflow.customer import INTEGRATIONS
from frazil_local.cloud.confluent.tableflow.topics import CatalogIntegrations, TableflowTopics

POOLS = "/fcpm/v2/compute-pools"
ROLES = (
    "OrganizationAdmin", "EnvironmentAdmin", "CloudClusterAdmin", "ResourceOwner", "DeveloperRead",
    "DeveloperWrite", "DeveloperManage", "FlinkDeveloper", "FlinkAdmin", "Assigner", "MetricsViewer",
)  # fmt: skip


class Environments(Kind):
    """An environment goes when no cluster and no pool is left in it; its registry goes with it."""

    path, name, prefix, body = ENVIRONMENTS, "Environment", "env-", EnvironmentBody
    unique: ClassVar = ("display_name",)

    def place(self, organization: Organization, body: Json) -> str:
        """The organization for a new one, itself for one that is there."""
        return f"{organization.crn}/environment={body['id']}" if "id" in body else organization.crn

    def change(self, organization: Organization, stored: StoredObject, body: Json) -> None:
        """The name can change; the package can be raised, and never goes back."""
        package = body.get("stream_governance_config", {}).get("package")
        if package == "ESSENTIALS" and stored.body["stream_governance_config"]["package"] == "ADVANCED":
            raise Refusal(400, "the stream governance package can't be downgraded")
        if package:
            stored.body["stream_governance_config"] = {"package": package}
        super().change(organization, stored, {k: v for k, v in body.items() if k == "display_name"})

    def follow(self, organization: Organization, body: Json) -> None:
        """Takes the registry and the statements along."""
        for path in (CLUSTERS, POOLS, INTEGRATIONS):
            for other in organization.of(path).values():
                if spec_of(other.body)["environment"]["id"] == body["id"]:
                    raise Refusal(409, f"environment {body['id']} still has {other.body['id']}")
        for path in [p for p in organization.objects if f"/environments/{body['id']}/" in p]:
            organization.objects.pop(path)
        registries = organization.of(REGISTRIES)
        for id_ in [i for i, r in registries.items() if r.body["spec"]["environment"]["id"] == body["id"]]:
            del registries[id_]


class Clusters(Kind):
    """A cluster brings the registry along, if it is the first one of its environment."""

    path, name, prefix, body = CLUSTERS, "Cluster", "lkc-", ClusterBody
    status, phases, after_life, lingers = 202, ("PROVISIONING", "PROVISIONED"), 403, True
    asks_for: ClassVar = ("environment",)

    def complete(self, organization: Organization, body: Json, owner: str) -> None:
        """Says where the cluster will be."""
        spec, broker = body["spec"], organization.places.broker
        host = (
            f"{broker.bootstrap}"
            if broker
            else f"pkc-{secrets.token_hex(3)}.{spec['region']}.aws.confluent.cloud:9092"
        )
        spec["kafka_bootstrap_endpoint"] = f"{broker.protocol if broker else 'SASL_SSL'}://{host}"
        spec["http_endpoint"] = organization.places.here
        environment = spec["environment"]["id"]
        there = organization.of(REGISTRIES).values()
        if not any(r.body["spec"]["environment"]["id"] == environment for r in there):
            _bring_registry(organization, environment, spec["region"])

    def change(self, organization: Organization, stored: StoredObject, body: Json) -> None:
        """The name and the protection from deletion can change."""
        protection = spec_of(body).pop("deletion_protection", None)
        super().change(organization, stored, body)
        if protection is not None:
            stored.body["spec"]["deletion_protection"] = protection

    def follow(self, organization: Organization, body: Json) -> None:
        """Takes along what is inside, and what Tableflow has of it; keys stay until they are deleted."""
        if body["spec"]["deletion_protection"]:
            raise Refusal(409, f"cluster {body['id']} is protected from deletion")
        _end_statements(organization, body)
        for kind in (TableflowTopics(), CatalogIntegrations()):
            kind.leave_cluster(organization, body["id"])
        for path in [p for p in organization.objects if f"/clusters/{body['id']}/" in p]:
            if path.endswith("/topics") and (broker := organization.places.broker):
                for topic in organization.of(path):
                    broker.drop_topic(topic)
            organization.objects.pop(path)


def _end_statements(organization: Organization, cluster: Json) -> None:
    """What runs on a cluster FAILED when that goes."""
    spec = cluster["spec"]
    path = f"/sql/v1/organizations/{organization.id}/environments/{spec['environment']['id']}/statements"
    for statement in organization.of(path).values():
        status, database = (
            statement.body["status"],
            statement.body["spec"]["properties"].get("sql.current-database"),
        )
        if status["phase"] == "RUNNING" and database in (cluster["id"], spec["display_name"]):
            status |= {"phase": "FAILED", "detail": f"the cluster {cluster['id']} is gone"}


def _bring_registry(organization: Organization, environment: str, region: str) -> None:
    id_ = organization.new_id("lsrc-")
    here = organization.places.here
    spec = {
        "display_name": "Stream Governance Package", "package": "ESSENTIALS", "cloud": "AWS",
        "region": region, "environment": {"id": environment}, "http_endpoint": f"{here}/registry/{id_}",
    }  # fmt: skip
    metadata = {"self": f"{here}{REGISTRIES}/{id_}"}
    body = {"api_version": "srcm/v3", "kind": "Cluster", "id": id_, "metadata": metadata, "spec": spec}
    organization.add(REGISTRIES, id_, {**body, "status": {"phase": "PROVISIONING"}})


class Registries(Kind):
    """Nobody makes one: it comes with the first cluster, and is seen some time later."""

    path, name, body = REGISTRIES, "Cluster", Body
    phases: ClassVar = ("PROVISIONING", "PROVISIONED")
    asks_for: ClassVar = ("environment",)

    def is_seen(self, organization: Organization, stored: StoredObject) -> bool:
        """A new one is not listed at first."""
        return organization.is_older(stored, organization.delays.provision / 2)


class Accounts(Kind):
    """Service accounts; their keys go with them. Their role bindings stay: no page says that they go."""

    path, name, prefix, body = ACCOUNTS, "ServiceAccount", "sa-", AccountBody
    unique: ClassVar = ("display_name",)

    def follow(self, organization: Organization, body: Json) -> None:
        """Takes the keys along."""
        keys = organization.of(KEYS)
        for id_ in [i for i, k in keys.items() if k.body["spec"]["owner"]["id"] == body["id"]]:
            del keys[id_]


class Bindings(Kind):
    """Role bindings: each gives one role to one principal on one pattern of names."""

    path, name, prefix, body = BINDINGS, "RoleBinding", "rb-", BindingBody
    unique: ClassVar = ("principal", "role_name", "crn_pattern")
    removed, lists_by = 200, ("crn_pattern",)

    def place(self, organization: Organization, body: Json) -> str:
        """What the role is given on."""
        return str(body["crn_pattern"]).replace("*", "_")

    def fits(self, body: Json, query: dict[str, str]) -> bool:
        """A pattern asks for bindings on all that is below it, too."""
        wanted = query.get("crn_pattern", "")
        rest = {k: v for k, v in query.items() if k != "crn_pattern"}
        return str(body["crn_pattern"]).startswith(wanted) and super().fits(body, rest)

    def complete(self, organization: Organization, body: Json, owner: str) -> None:
        """Refuses roles that nobody has, strangers, and topics of a Basic cluster."""
        if body["role_name"] not in ROLES:
            raise Refusal(400, f"role {body['role_name']} is not known")
        principal = body["principal"].removeprefix("User:")
        if principal != ADMIN and principal not in organization.of(ACCOUNTS):
            raise Refusal(400, f"principal {principal} not found")
        for id_, cluster in organization.of(CLUSTERS).items():
            if f"/kafka={id_}/" in body["crn_pattern"] and cluster.body["spec"]["config"]["kind"] == "Basic":
                raise Refusal(400, "Basic clusters take no role bindings on topics, groups and transactions")


class Keys(Kind):
    """API keys. The secret is in the answer to the POST, and never again."""

    path, name, body = KEYS, "ApiKey", KeyBody
    status, after_life = 202, 403

    def place(self, organization: Organization, body: Json) -> str:
        """Keys belong to the organization."""
        return organization.crn

    def complete(self, organization: Organization, body: Json, owner: str) -> None:
        """Draws the key and its secret."""
        if len(organization.of(KEYS)) >= organization.delays.max_keys:
            raise Refusal(402, "the quota of API keys per organization is reached")
        holder = body["spec"]["owner"]["id"]
        if holder != ADMIN and holder not in organization.of(ACCOUNTS):
            raise Refusal(400, f"service account {holder} not found")
        self._refuse_stranger(organization, body["spec"].get("resource") or {"id": "cloud"})
        drawn = secrets.token_hex(8).upper(), "cflt" + secrets.token_urlsafe(45)
        if (body["spec"].get("resource") or {}).get("id") in organization.of(CLUSTERS):
            broker = organization.places.broker
            drawn = broker.next_key(organization) if broker else drawn
        body["id"], body["spec"]["secret"] = drawn

    def _refuse_stranger(self, organization: Organization, resource: Json) -> None:
        id_ = resource["id"]
        if id_.startswith("aws.") and (resource.get("kind"), resource.get("api_version")) != (
            "Region",
            "fcpm/v2",
        ):
            raise Refusal(400, "a key for Flink names kind Region of fcpm/v2, and its environment")
        if id_ in ("cloud", "tableflow") or (id_.startswith("aws.") and resource.get("environment")):
            return
        if id_ not in organization.of(CLUSTERS) and id_ not in organization.of(REGISTRIES):
            raise Refusal(400, f"resource {id_} not found")

    def fits(self, body: Json, query: dict[str, str]) -> bool:
        """By the resource as it is shown, exactly."""
        wanted = query.get("spec.resource")
        rest = {k: v for k, v in query.items() if k != "spec.resource"}
        return wanted in (None, _shown_id(body)) and super().fits(body, rest)

    def shown(self, organization: Organization, stored: StoredObject, fresh: bool = False) -> Json:
        """Without the secret, but for the first time."""
        document = super().shown(organization, stored, fresh)
        if resource := document["spec"].get("resource"):
            resource["id"] = _shown_id(stored.body)
        if not fresh:
            document["spec"]["secret"] = ""
        return document


def _shown_id(key: Json) -> str:
    """What a key is for, as lists show it: a region of Flink with its environment before it."""
    resource = key["spec"].get("resource") or {}
    id_ = str(resource.get("id", "cloud"))
    return f"{resource['environment']}.{id_}" if id_.startswith("aws.") else id_


class Pools(Kind):
    """Compute pools."""

    path, name, prefix, body = POOLS, "ComputePool", "lfcp-", PoolBody
    status, phases, after_life = 202, ("PROVISIONING", "PROVISIONED"), 403
    asks_for: ClassVar = ("environment",)

    def complete(self, organization: Organization, body: Json, owner: str) -> None:
        """Nothing runs in a new one."""
        body["status"]["current_cfu"] = 0
