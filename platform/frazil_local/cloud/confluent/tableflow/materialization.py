"""Which topics Tableflow has on, and how it stands with each: told as Confluent's API tells it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal

from frazil.errors import FrazilError, NotAllowedError, SuspendedError
from frazil.spec.names import TableName
from frazil.spec.topic import TableSpec
from frazil_local.cloud.confluent.organization import Json, Organization, StoredObject
from frazil_local.cloud.confluent.tableflow.customer import INTEGRATIONS
from frazil_local.cloud.confluent.tableflow.topics import CatalogIntegrations, TableflowTopics

_BAD: dict[str, Literal["suspend", "skip"]] = {"SUSPEND": "suspend", "SKIP": "skip", "LOG": "skip"}
"""What a bad record does. LOG's topic is not written here."""
_FORMAT = "ICEBERG"


@dataclass(frozen=True, slots=True)
class OnTopic:
    """A topic that is on, and the catalog that shows its table."""

    key: str  # cluster and topic
    cluster: str
    topic: str
    place: str  # of the table
    database: str
    catalog: str  # id of its integration
    on_bad_record: Literal["suspend", "skip"]
    role: Json = field(repr=False)  # how the customer's role is taken

    @property
    def table(self) -> TableName:
        """As Tableflow names it."""
        return TableName(self.database, self.topic)

    @property
    def spec(self) -> TableSpec:
        """As Frazil's engine is told of it; names of Tableflow's are no legal ones of a user's."""
        spec = TableSpec(topic=self.topic, metadata="full", publish=(), on_bad_record=self.on_bad_record)
        return spec.model_copy(update={"namespace": self.database, "table": self.topic})


def topics_on(organization: Organization) -> list[OnTopic]:
    """All that run and have a catalog; those that were turned off leave, for nobody is at work on them."""
    there = organization.of(TableflowTopics.path)
    for stored in there.values():
        if stored.leaves is not None:
            stored.leaves = time.time()
    catalogs = list(_connected(organization))
    topics = (
        _on(organization, key, stored, catalogs) for key, stored in there.items() if stored.leaves is None
    )
    return [each for each in topics if each]


def _connected(organization: Organization) -> Iterator[StoredObject]:
    for integration in list(organization.of(CatalogIntegrations.path).values()):
        if _phase(organization, CatalogIntegrations(), integration) == "CONNECTED":
            yield integration


def _on(
    organization: Organization, key: str, stored: StoredObject, catalogs: list[StoredObject]
) -> OnTopic | None:
    spec = stored.body["spec"]
    if _FORMAT not in spec["table_formats"] or _phase(organization, TableflowTopics(), stored) != "RUNNING":
        return None
    cluster, storage = spec["kafka_cluster"]["id"], spec["storage"]
    for catalog in catalogs:
        own = catalog.body["spec"]
        if own["kafka_cluster"]["id"] == cluster:
            return OnTopic(
                key=key, cluster=cluster, topic=spec["display_name"], place=storage["table_path"],
                database=own["config"].get("custom_database") or cluster, catalog=catalog.body["id"],
                on_bad_record=_BAD[spec["config"]["error_handling"]["mode"]],
                role=organization.of(INTEGRATIONS)[storage["provider_integration_id"]].body["config"],
            )  # fmt: skip
    return None


def _phase(
    organization: Organization, kind: TableflowTopics | CatalogIntegrations, stored: StoredObject
) -> str:
    """As it is now; one on its way comes to rest here too, though nobody asks for it."""
    document = (
        stored.body if stored.body["status"]["phase"] != "PENDING" else kind.shown(organization, stored)
    )
    return str(document["status"]["phase"])


def note(organization: Organization, topic: OnTopic, error: Exception | None) -> None:
    """Notes what a look at a topic came to, unless it was turned off, or made anew, meanwhile."""
    stored = organization.of(TableflowTopics.path).get(topic.key)
    if (
        stored is None
        or stored.leaves is not None
        or stored.body["spec"]["storage"]["table_path"] != topic.place
    ):
        return
    before = dict(stored.met), dict(stored.body["status"])
    status = stored.body["status"]
    if error is None:
        status["failing_table_formats"] = []
        stored.met = {"catalogs": {topic.catalog: ""}}
        if catalog := organization.of(CatalogIntegrations.path).get(topic.catalog):
            catalog.body["status"]["last_sync_at"] = datetime.now(UTC).isoformat()
    elif isinstance(error, SuspendedError):
        stored.body["spec"]["suspended"] = True
        status |= {"phase": "FAILED", "error_message": _message(error)}
    elif isinstance(error, NotAllowedError) and "glue:" in error.what:
        stored.met = {"catalogs": {topic.catalog: _message(error)}}
    else:
        status["failing_table_formats"] = [{"format": _FORMAT, "error_message": _message(error)}]
    if (stored.met, status) != before:
        organization.save()


def _message(error: Exception) -> str:
    return f"{error.what} {error.where}".strip() if isinstance(error, FrazilError) else str(error)
