"""Provider integrations, Tableflow topics and catalog integrations: they take the customer's role at AWS."""

from __future__ import annotations

import math
import time
import uuid
from collections.abc import Iterator
from typing import Any, ClassVar

from frazil_local.cloud.confluent.access import ADMINS, has_role, need
from frazil_local.cloud.confluent.bodies import (
    CatalogBody,
    CatalogChange,
    IntegrationBody,
    TopicBody,
    TopicConfig,
    TopicFormats,
    judged,
)
from frazil_local.cloud.confluent.kind import Call, Kind
from frazil_local.cloud.confluent.organization import CLUSTERS, REGISTRIES, Json, Organization, StoredObject
from frazil_local.cloud.confluent.refusals import Refusal, forbidden, missing
from frazil_local.cloud.confluent.tableflow.customer import (
    INTEGRATIONS,
    drop_own_role,
    own_role,
    problem_as_customer,
)


class Integrations(Kind):
    """Provider integrations never change, and do not go while something uses them."""

    path, name, prefix, body = INTEGRATIONS, "Integration", "cspi-", IntegrationBody
    unique, asks_for = ("display_name",), ("environment",)

    def complete(self, organization: Organization, body: Json, owner: str) -> None:
        """Makes the role in which Confluent comes, and draws the external id."""
        theirs = {"iam_role_arn": own_role(organization, body["id"]), "external_id": str(uuid.uuid4())}
        body["config"] |= theirs
        body["usages"] = []

    def change(self, organization: Organization, stored: StoredObject, body: Json) -> None:
        """Refuses every change."""
        raise Refusal(400, "provider integrations can't be changed")

    def follow(self, organization: Organization, body: Json) -> None:
        """Takes Confluent's role along."""
        if body["usages"]:
            raise Refusal(400, f"{body['id']} is in use by {body['usages'][0]}")
        drop_own_role(organization, body["id"])


class _OfTableflow(Kind):
    """What the two kinds share: the plane, the cluster they belong to, the integration they use."""

    plane = "tableflow"
    unique, status, phases = ("display_name",), 202, ("PENDING", "RUNNING")
    asks_for: ClassVar = ("environment", "spec.kafka_cluster")

    def place(self, organization: Organization, body: Json) -> str:
        """The cluster."""
        spec = body["spec"]
        environment = f"{organization.crn}/environment={spec['environment']['id']}"
        return f"{environment}/cloud-cluster={spec['kafka_cluster']['id']}"

    def integration_of(self, body: Json) -> str:
        """The id of the integration that it uses."""
        spec = body["spec"]
        return str(spec.get("storage", spec["config"])["provider_integration_id"])

    def complete(self, organization: Organization, body: Json, owner: str) -> None:
        """Marks the integration as used; its user must own it."""
        spec = body["spec"]
        if spec["kafka_cluster"]["id"] not in organization.of(CLUSTERS):
            raise forbidden()
        used = organization.of(INTEGRATIONS).get(self.integration_of(body))
        if used is None:
            raise Refusal(400, f"Provider Integration {self.integration_of(body)} not found")
        environment = f"{organization.crn}/environment={spec['environment']['id']}"
        if not organization.is_older(used, organization.delays.role_sync):
            raise Refusal(400, f"Tableflow cannot assume role {used.body['config']['customer_iam_role_arn']}")
        crn = f"{environment}/provider-integration={used.body['id']}"
        if not has_role(organization, owner, (*ADMINS, "ResourceOwner"), crn):
            raise forbidden(f"{owner} may not use provider integration {used.body['id']}")
        used.body["usages"].append(self._mark(organization, body))

    def change(self, organization: Organization, stored: StoredObject, body: Json) -> None:
        """One that FAILED is resumed by `suspended: false`; it can't be suspended."""
        if body.get("spec", {}).get("suspended", False):
            raise Refusal(400, "suspended can only be set to false")
        if stored.body["status"]["phase"] == "FAILED":
            stored.body["spec"]["suspended"] = False
            stored.body["status"].pop("error_message", None)
            stored.body["status"]["phase"] = "PENDING"
            stored.born = time.time()

    def follow(self, organization: Organization, body: Json) -> None:
        """Lets the integration go."""
        if used := organization.of(INTEGRATIONS).get(self.integration_of(body)):
            used.body["usages"].remove(self._mark(organization, body))

    def leave_cluster(self, organization: Organization, cluster: str) -> None:
        """Goes with a cluster."""
        there = organization.of(self.path)
        for id_ in [i for i, h in there.items() if h.body["spec"]["kafka_cluster"]["id"] == cluster]:
            self.follow(organization, there.pop(id_).body)

    def _mark(self, organization: Organization, body: Json) -> str:
        return f"{organization.crn}/{self.name.lower()}={body['spec']['display_name']}"


class TableflowTopics(_OfTableflow):
    """A topic whose rows Confluent writes as an Iceberg table."""

    path, name, body = "/tableflow/v1/tableflow-topics", "TableflowTopic", TopicBody

    def key(self, body: Json) -> str:
        """A topic has no id of its own: its name, in its cluster."""
        return f"{body['spec']['kafka_cluster']['id']}/{body['spec']['display_name']}"

    def sought(self, call: Call) -> str:
        """See `key`."""
        named = call.body.get("spec", {}).get("kafka_cluster", {}).get("id", "")
        cluster = call.query.get("spec.kafka_cluster", named)
        return f"{cluster}/{call.params['id']}"

    def complete(self, organization: Organization, body: Json, owner: str) -> None:
        """Refuses a topic that is not seen yet; says where the table will be."""
        spec, storage = body["spec"], body["spec"]["storage"]
        need(organization, owner, ADMINS, self.place(organization, body))
        cluster, topic = spec["kafka_cluster"]["id"], spec["display_name"]
        topic_there = organization.of(f"/kafka/v3/clusters/{cluster}/topics").get(topic)
        if topic_there is None or not organization.is_older(topic_there, organization.delays.topic_sync):
            raise missing("topic not found")
        for subjects in _subjects(organization, body):
            need(organization, owner, (*ADMINS, "ResourceOwner", "DeveloperRead"), subjects)
        super().complete(organization, body, owner)
        body["id"] = topic
        place = f"{organization.id}/{spec['environment']['id']}/{cluster}/v1/{uuid.uuid4()}"
        storage["table_path"] = f"s3://{storage['bucket_name']}/10011010/11101100/{place}"
        storage["bucket_region"] = "us-east-1"
        _check_retention(spec["config"])
        spec["config"] |= {"enable_compaction": True, "enable_partitioning": True}
        body["status"] |= {"write_mode": "APPEND", "failing_table_formats": []}

    def change(self, organization: Organization, stored: StoredObject, body: Json) -> None:
        """Settings and formats can change; one that FAILED is resumed."""
        if formats := body.get("spec", {}).get("table_formats"):
            stored.body["spec"]["table_formats"] = judged(
                TopicFormats, {"table_formats": formats}
            ).table_formats
        if given := body.get("spec", {}).get("config"):
            changed = {**stored.body["spec"]["config"], **given}
            read_only = {name: changed.pop(name) for name in ("enable_compaction", "enable_partitioning")}
            checked = judged(TopicConfig, changed).model_dump(exclude_none=True)
            _check_retention(checked)
            stored.body["spec"]["config"] = {**checked, **read_only}
        if "suspended" in body.get("spec", {}):
            super().change(organization, stored, body)

    def shown(self, organization: Organization, stored: StoredObject, fresh: bool = False) -> Json:
        """Tableflow topics have no id: the display name is one."""
        document = super().shown(organization, stored, fresh)
        document.pop("id")
        document["status"]["catalog_sync_statuses"] = list(_syncs(organization, stored))
        return document

    def _remove(self, organization: Organization, stored: StoredObject) -> None:
        """One that is on its way into the bucket goes when that is through."""
        super()._remove(organization, stored)
        if organization.places.materializes:
            stored.leaves = math.inf

    def proof(self, organization: Organization, body: Json) -> str | None:
        """Writes, reads and deletes as the customer's role: expiry must delete, too."""
        storage = body["spec"]["storage"]
        probe = {"Bucket": storage["bucket_name"], "Key": storage["table_path"].split("/", 3)[3] + "/probe"}

        def act(s3: Any) -> None:
            s3.put_object(**probe, Body=b"")
            s3.get_object(**probe)
            s3.delete_object(**probe)

        return problem_as_customer(organization, storage["provider_integration_id"], "s3", act)


def _subjects(organization: Organization, body: Json) -> Iterator[str]:
    """The name of a topic's subject, in the registry of its environment."""
    environment, topic = body["spec"]["environment"]["id"], body["spec"]["display_name"]
    for id_, registry in organization.of(REGISTRIES).items():
        if registry.body["spec"]["environment"]["id"] == environment:
            place = f"{organization.crn}/environment={environment}/schema-registry={id_}"
            yield f"{place}/subject={topic}-value"


_SYNC = {"PENDING": "PENDING", "CONNECTED": "SYNCED", "FAILED": "FAILED"}
"""How a catalog's phase shows in the topics that go there."""


def _syncs(organization: Organization, topic: StoredObject) -> Iterator[Json]:
    for id_, integration in organization.of(CatalogIntegrations.path).items():
        if integration.body["spec"]["kafka_cluster"]["id"] == topic.body["spec"]["kafka_cluster"]["id"]:
            status = {"catalog_integration_id": id_, "catalog_type": "AWS_GLUE"}
            yield status | _sync(
                organization, integration.body["status"], topic.met.get("catalogs", {}).get(id_)
            )


def _sync(organization: Organization, catalog: Json, met: str | None) -> Json:
    """How a topic stands in a catalog; `met` is empty where its table is there, else what kept it away."""
    if catalog["phase"] != "CONNECTED" or not organization.places.materializes:
        return {"sync_status": _SYNC[catalog["phase"]]}
    if met is None:
        return {"sync_status": "PENDING"}
    return {"sync_status": "FAILED", "error_message": met} if met else {"sync_status": "SYNCED"}


def _check_retention(config: Json) -> None:
    if int(config["retention_ms"]) < 86_400_000:
        raise Refusal(400, "retention_ms must be at least 86400000")


class CatalogIntegrations(_OfTableflow):
    """A catalog that is kept in step with the tables: Glue, in a database named as the cluster's id."""

    path, name, prefix = "/tableflow/v1/catalog-integrations", "CatalogIntegration", "tci-"
    body, phases = CatalogBody, ("PENDING", "CONNECTED")

    def change(self, organization: Organization, stored: StoredObject, body: Json) -> None:
        """Its name and the database can change; one that FAILED is resumed."""
        spec = body.get("spec", {})
        stored.body["spec"]["display_name"] = spec.get("display_name", stored.body["spec"]["display_name"])
        if given := spec.get("config"):
            changed = judged(CatalogChange, {"config": given}).config.model_dump(exclude_none=True)
            stored.body["spec"]["config"] |= changed
        super().change(organization, stored, body)

    def _mark(self, organization: Organization, body: Json) -> str:
        return f"{organization.crn}/{self.name.lower()}={body['id']}"  # its name can change

    def proof(self, organization: Organization, body: Json) -> str | None:
        """Makes the database as the customer's role."""
        spec = body["spec"]
        database = spec["config"].get("custom_database") or spec["kafka_cluster"]["id"]

        def act(glue: Any) -> None:
            try:
                glue.create_database(DatabaseInput={"Name": database})
            except glue.exceptions.AlreadyExistsException:
                glue.get_database(Name=database)

        return problem_as_customer(organization, spec["config"]["provider_integration_id"], "glue", act)
