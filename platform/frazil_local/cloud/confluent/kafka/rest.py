"""The plane of a cluster, `/kafka/v3`: topics and ACLs, each asked for by a key of this cluster."""

from __future__ import annotations

from collections.abc import Iterator

from frazil_local.cloud.confluent.access import caller, may
from frazil_local.cloud.confluent.bodies import AclBody, NewTopicBody, judged
from frazil_local.cloud.confluent.kind import Answer, Call
from frazil_local.cloud.confluent.organization import CLUSTERS, Json, Organization, StoredObject
from frazil_local.cloud.confluent.refusals import Refusal

_NO_TOPIC = "This server does not host this topic-partition."


def topics(organization: Organization, call: Call) -> Answer:
    """Topics: those that the caller may not describe are not listed."""
    cluster, owner = _entered(organization, call)
    there = organization.of(f"/kafka/v3/clusters/{cluster}/topics")
    if call.method == "POST":
        return 201, _make_topic(organization, call, cluster, owner)
    name = call.params.get("name")
    if name is None:
        seen = [h for n, h in there.items() if may(organization, owner, cluster, "DESCRIBE", "TOPIC", n)]
        return 200, _list(organization, call.path, "KafkaTopicList", [h.body for h in seen])
    operation = "DELETE" if call.method == "DELETE" else "DESCRIBE"
    _allow(organization, owner, cluster, operation, "TOPIC", name)
    if name not in there:
        raise Refusal(404, _NO_TOPIC, number=40403)
    if call.method == "DELETE":
        _drop_topic(organization, cluster, name)
        return 204, None
    return 200, there[name].body


def _make_topic(organization: Organization, call: Call, cluster: str, owner: str) -> Json:
    wanted = judged(NewTopicBody, call.body)
    _allow(organization, owner, cluster, "CREATE", "TOPIC", wanted.topic_name)
    return make_topic(
        organization, cluster, wanted.topic_name, wanted.partitions_count,
        {each.name: each.value or "" for each in wanted.configs},
    )  # fmt: skip


def make_topic(
    organization: Organization, cluster: str, name: str, partitions: int, configs: dict[str, str]
) -> Json:
    """Makes a topic, in the broker too if there is one."""
    path = f"/kafka/v3/clusters/{cluster}/topics"
    if name in organization.of(path):
        raise Refusal(400, f"Topic '{name}' already exists.", number=40002)
    if broker := organization.places.broker:
        broker.make_topic(name, partitions, configs)
    address = f"{organization.places.here}{path}/{name}"
    related = {part: {"related": f"{address}/{part}"} for part in ("partitions", "configs")}
    body: Json = {
        "kind": "KafkaTopic",
        "metadata": {"self": address, "resource_name": f"crn:///kafka={cluster}/topic={name}"},
        "cluster_id": cluster, "topic_name": name, "is_internal": False, "replication_factor": 3,
        "partitions_count": partitions, **related,
        "partition_reassignments": {"related": f"{address}/partitions/-/reassignment"},
    }  # fmt: skip
    topic = organization.add(path, name, body)
    organization.add(f"{path}/configs", name, {"configs": configs})
    return topic.body


def _drop_topic(organization: Organization, cluster: str, name: str) -> None:
    path = f"/kafka/v3/clusters/{cluster}/topics"
    if broker := organization.places.broker:
        broker.drop_topic(name)
    del organization.of(path)[name]
    organization.of(f"{path}/configs").pop(name, None)


def drop_table(organization: Organization, cluster: str, name: str) -> None:
    """Drops a topic, if it is there."""
    if name in organization.of(f"/kafka/v3/clusters/{cluster}/topics"):
        _drop_topic(organization, cluster, name)


def configs(organization: Organization, call: Call) -> Answer:
    """The settings of a topic: asked for, or altered some at a time."""
    cluster, owner = _entered(organization, call)
    name = call.params["name"]
    operation = "ALTER" if call.method == "POST" else "DESCRIBE"
    _allow(organization, owner, cluster, operation, "TOPIC", name)
    topic = organization.of(f"/kafka/v3/clusters/{cluster}/topics/configs").get(name)
    if topic is None:
        raise Refusal(404, _NO_TOPIC, number=40403)
    if call.method == "POST":
        topic.body["configs"] |= {each["name"]: each["value"] for each in call.body["data"]}
        return 204, None
    settings = [
        {"kind": "KafkaTopicConfig", "cluster_id": cluster, "topic_name": name, "name": k, "value": v,
         "is_default": False, "is_read_only": False, "is_sensitive": False,
         "source": "DYNAMIC_TOPIC_CONFIG", "synonyms": [],
         "metadata": {"self": f"{organization.places.here}{call.path}/{k}", "resource_name": k}}
        for k, v in topic.body["configs"].items()
    ]  # fmt: skip
    return 200, _list(organization, call.path, "KafkaTopicConfigList", settings)


_SAID_TO_DELETE = ("resource_type", "pattern_type", "operation", "permission")
"""What the removal of ACLs must say of them."""


def acls(organization: Organization, call: Call) -> Answer:
    """ACLs: the same one twice is one. Who gives them must be an administrator of the cluster."""
    cluster, owner = _entered(organization, call)
    operation = "DESCRIBE" if call.method == "GET" else "ALTER"
    _allow(organization, owner, cluster, operation, "CLUSTER", "kafka-cluster")
    path = f"/kafka/v3/clusters/{cluster}/acls"
    if call.method == "POST":
        wanted = judged(AclBody, call.body).model_dump()
        organization.add(path, "|".join(wanted.values()), wanted)
        return 201, None
    keys = list(_fitting(organization.of(path), call.query))
    if call.method == "DELETE":
        if lacking := [name for name in _SAID_TO_DELETE if name not in call.query]:
            raise Refusal(400, f"query parameter {lacking[0]} is required")
        for key in keys:
            del organization.of(path)[key]
        _settle(organization)
    rules = [{"kind": "KafkaAcl", "cluster_id": cluster, **_acl(key, organization, path)} for key in keys]
    return 200, _list(organization, call.path, "KafkaAclList", rules)


def _settle(organization: Organization) -> None:
    if broker := organization.places.broker:
        broker.settle(organization)


def _acl(key: str, organization: Organization, path: str) -> Json:
    names = ("resource_type", "resource_name", "pattern_type", "principal", "host", "operation", "permission")
    address = f"{organization.places.here}{path}"
    metadata = {"self": address, "resource_name": address}
    return {**dict(zip(names, key.split("|"), strict=True)), "metadata": metadata}


def _fitting(there: dict[str, StoredObject], query: dict[str, str]) -> Iterator[str]:
    for key, stored in list(there.items()):
        if all(
            stored.body.get(name) == value for name, value in query.items() if value not in ("ANY", "MATCH")
        ):
            yield key


def _entered(organization: Organization, call: Call) -> tuple[str, str]:
    """The cluster, and who asks for it."""
    cluster = call.params["cluster"]
    owner = caller(organization, call.authorization, cluster)
    if cluster not in organization.of(CLUSTERS):
        raise Refusal(404, "Cluster not found", number=404)
    return cluster, owner


def _allow(
    organization: Organization, owner: str, cluster: str, operation: str, kind: str, name: str
) -> None:
    if not may(organization, owner, cluster, operation, kind, name):
        raise Refusal(403, f"Not authorized to access {kind.lower()}s: {operation} {name}", number=40301)


def _list(organization: Organization, path: str, kind: str, items: list[Json]) -> Json:
    return {"kind": kind, "metadata": {"self": f"{organization.places.here}{path}"}, "data": items}
