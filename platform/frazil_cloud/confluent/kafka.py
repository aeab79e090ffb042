"""What is inside the cluster: topics and ACLs, made with the manager's key on the cluster's own plane."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from frazil_cloud.confluent.client import Confluent, settled_key, stored_pair
from frazil_cloud.confluent.plane import Json, Plane
from frazil_cloud.confluent.resource import Thing
from frazil_cloud.resource import Facts, Known, NotYet
from frazil_cloud.secrets import SecretStore

_CLUSTER = "confluent/cluster"
MANAGER = "confluent/key/app_manager"
_RIGHT = "the role CloudClusterAdmin for the manager's account on the cluster"

AclKind = Literal["TOPIC", "GROUP", "CLUSTER"]

MANAGERS_ROLE = "confluent/binding/app_manager-CloudClusterAdmin"
MANAGED = ("confluent/environment", _CLUSTER, MANAGER, MANAGERS_ROLE)
"""The objects that work in the cluster needs first."""


def cluster_plane(confluent: Confluent, secrets: SecretStore, known: Known, key: str = MANAGER) -> Plane:
    """The cluster's plane, with the manager's key or another one.

    Raises:
        NeedMissingError: There is no such key, or the manager lacks its role: it would be refused for long.
    """
    cluster = known[_CLUSTER]
    if key == MANAGER:
        known[MANAGERS_ROLE]
    pair = stored_pair(secrets, known, key)
    name = f"cluster {cluster['id']}"
    return confluent.plane(name, cluster["http_endpoint"], pair, settled_key(known, key))


def topic_is_there(confluent: Confluent, secrets: SecretStore, known: Known, name: str) -> bool:
    """Whether the cluster has a topic."""
    path = f"/kafka/v3/clusters/{known[_CLUSTER]['id']}/topics/{name}"
    return cluster_plane(confluent, secrets, known).get(path) is not None


def mark_of(topic: str) -> str:
    """The address of the ACL that says that a topic is the deployment's.

    Kafka keeps no mark of a topic's own. The manager's account may describe every topic without it, so
    nobody else has a reason to make it.
    """
    return f"confluent/acl/app_manager-DESCRIBE-topic-{topic}"


def marked_topics(plane: Plane, cluster: str, manager: str) -> Iterator[str]:
    """The topics that carry this manager's mark. Name patterns are not topics."""
    asked = {"principal": f"User:{manager}", "resource_type": "TOPIC", "operation": "DESCRIBE"}
    return marks(plane.ask("GET", f"/kafka/v3/clusters/{cluster}/acls", query=asked, right=_RIGHT)["data"])


def marks(acls: Iterable[Json]) -> Iterator[str]:
    """The topics that ACLs of the manager mark."""
    for acl in acls:
        named = str(acl["resource_name"])
        wanted = ("TOPIC", "LITERAL", "DESCRIBE")
        if (acl["resource_type"], acl["pattern_type"], acl["operation"]) == wanted and named != "*":
            yield named


@dataclass(frozen=True, kw_only=True)
class InCluster(Thing):
    """Something in the cluster."""

    secrets: SecretStore = field(repr=False)

    def plane(self, known: Known, key: str = MANAGER) -> Plane:
        """The cluster's, with the manager's key or another one."""
        return cluster_plane(self.confluent, self.secrets, known, key)

    def path(self, known: Known, rest: str) -> str:
        """An address in the cluster."""
        return f"/kafka/v3/clusters/{known[_CLUSTER]['id']}/{rest}"


@dataclass(frozen=True, kw_only=True)
class Topic(InCluster):
    """A topic. Its settings can change, its partitions can't."""

    name: str
    partitions: int
    config: dict[str, str] = field(default_factory=dict)
    fixed: ClassVar = frozenset({"partitions"})

    def wanted(self, known: Known) -> Facts:
        """Partitions and settings."""
        return {"partitions": self.partitions, "config": self.config}

    def read(self, known: Known) -> Facts | None:
        """As it is; of its settings those that are wanted."""
        plane, path = self.plane(known), self.path(known, f"topics/{self.name}")
        body = plane.get(path)
        if body is None:
            return None
        entries = plane.ask("GET", f"{path}/configs")["data"] if self.config else []
        config = {each["name"]: each["value"] for each in entries if each["name"] in self.config}
        return {"id": self.name, "partitions": body["partitions_count"], "config": config}

    def create(self, known: Known) -> None:
        """Makes it."""
        configs = [{"name": name, "value": value} for name, value in self.config.items()]
        body = {"topic_name": self.name, "partitions_count": self.partitions, "configs": configs}
        self.plane(known).post(self.path(known, "topics"), body, _RIGHT)

    def update(self, there: Facts, known: Known) -> None:
        """Alters settings."""
        data = [{"name": n, "value": v} for n, v in self.config.items() if there["config"].get(n) != v]
        path = self.path(known, f"topics/{self.name}/configs:alter")
        self.plane(known).post(path, {"data": data}, _RIGHT)

    def delete(self, there: Facts, known: Known) -> None:
        """Removes it, with all its records."""
        self.plane(known).delete(self.path(known, f"topics/{self.name}"))

    def verify(self, there: Facts, known: Known) -> None:
        """The cluster describes it to the manager."""
        if self.plane(known).get(self.path(known, f"topics/{self.name}")) is None:
            raise NotYet(f"the cluster does not show the topic {self.name}")


@dataclass(frozen=True, kw_only=True)
class Acl(InCluster):
    """One operation that one account may do on one thing, from everywhere.

    Args:
        account: Its address.
        kind: Of the thing.
        name: Of the thing, literally.
        operation: Such as WRITE.
    """

    account: str
    kind: AclKind
    name: str
    operation: str

    def wanted(self, known: Known) -> Facts:
        """Who may what."""
        return {
            "resource_type": self.kind, "resource_name": self.name, "pattern_type": "LITERAL",
            "principal": f"User:{known[self.account]['id']}", "host": "*",
            "operation": self.operation, "permission": "ALLOW",
        }  # fmt: skip

    def read(self, known: Known) -> Facts | None:
        """The very same ACL, if it is there."""
        wanted: Json = dict(self.wanted(known))
        matching = self.plane(known).ask("GET", self.path(known, "acls"), query=wanted, right=_RIGHT)["data"]
        return wanted if matching else None

    def create(self, known: Known) -> None:
        """Makes it; the same one again is no other."""
        self.plane(known).post(self.path(known, "acls"), dict(self.wanted(known)), _RIGHT)

    def delete(self, there: Facts, known: Known) -> None:
        """Removes it."""
        self.plane(known).delete(self.path(known, "acls"), there)

    def verify(self, there: Facts, known: Known) -> None:
        """Who may read or write a topic sees it, by a key of their own."""
        key = self.account.replace("/account/", "/key/")
        if self.kind == "TOPIC" and key in known:
            plane = self.plane(known, key)
            plane.get(
                self.path(known, f"topics/{self.name}"), f"the ACL {self.operation} on the topic {self.name}"
            )
