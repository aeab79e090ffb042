"""Connectors: Datagen alone. It runs as a service account, and fails where that may not write."""

from __future__ import annotations

import time

from frazil_local.cloud.confluent.access import ADMINS, CLOUD, caller, cluster_crn, may, need
from frazil_local.cloud.confluent.bodies import ConnectorBody, judged
from frazil_local.cloud.confluent.kind import Answer, Call
from frazil_local.cloud.confluent.organization import ACCOUNTS, CLUSTERS, Json, Organization, StoredObject
from frazil_local.cloud.confluent.refusals import Refusal, missing

_CHOICES = {
    "connector.class": ("DatagenSource",), "kafka.auth.mode": ("SERVICE_ACCOUNT", "KAFKA_API_KEY"),
    "output.data.format": ("AVRO", "JSON", "JSON_SR", "PROTOBUF"), "quickstart": ("STOCK_TRADES", "USERS"),
}  # fmt: skip
_WANTED = (*_CHOICES, "name", "kafka.topic", "tasks.max", "kafka.service.account.id")
_STATES = ("PROVISIONING", "DEGRADED", "RUNNING")
"""One after the other, each for as long as the delays say, the second for half of it."""


def connectors(organization: Organization, call: Call) -> Answer:
    """Made, listed, shown, removed."""
    cluster = _entered(organization, call)
    there = organization.of(_path(call))
    if call.method == "POST":
        return 201, _make(organization, call, there)
    if "name" not in call.params:
        return 200, list(there)  # type: ignore[return-value]  # names alone
    connector = _connector(organization, call)
    if call.method == "DELETE":
        if broker := organization.places.broker:
            broker.quit(call.params["name"])
        del there[call.params["name"]]
        return 200, {}
    _grow(organization, cluster, connector)
    return 200, _described(connector)


def status(organization: Organization, call: Call) -> Answer:
    """Where a connector is, and what keeps it from running."""
    cluster = _entered(organization, call)
    connector = _connector(organization, call)
    _grow(organization, cluster, connector)
    name, state = call.params["name"], connector.body["state"]
    connector_status = {"state": state, "worker_id": name, "trace": connector.body["trace"]}
    tasks = [{"id": 0, "state": state, "worker_id": name, "msg": ""}] if state == "RUNNING" else []
    return 200, {"name": name, "type": "source", "connector": connector_status, "tasks": tasks}


def config(organization: Organization, call: Call) -> Answer:
    """A connector's settings; new ones start it again, and what the cloud added stays."""
    cluster = _entered(organization, call)
    connector = _connector(organization, call)
    if call.method == "GET":
        return 200, dict(connector.body["config"])
    _refuse_mistakes(call.body)
    changes = {name: str(value) for name, value in call.body.items()}
    connector.body["config"] |= changes
    _start(organization, cluster, connector)
    return 200, _described(connector)


def turn(organization: Organization, call: Call) -> Answer:
    """Pauses a connector, or resumes it."""
    cluster = _entered(organization, call)
    connector = _connector(organization, call)
    if call.path.endswith("/resume"):
        _start(organization, cluster, connector)
    else:
        if broker := organization.places.broker:
            broker.quit(call.params["name"])
        connector.body["state"] = "PAUSED"
    return 202, None


def _start(organization: Organization, cluster: str, connector: StoredObject) -> None:
    connector.body |= {"state": _STATES[0], "trace": ""}
    connector.born = time.time()
    _grow(organization, cluster, connector)


def _described(connector: StoredObject) -> Json:
    tasks = [{"connector": connector.body["name"], "task": 0}]
    return {**{name: connector.body[name] for name in ("name", "type", "config")}, "tasks": tasks}


def validate(organization: Organization, call: Call) -> Answer:
    """What is wrong with settings, before a connector is made of them."""
    _entered(organization, call)
    mistakes = _mistakes(call.body)
    configs = [{"value": {"name": name, "value": call.body.get(name, ""), "errors": mistakes.get(name, []),
                       "recommended_values": list(_CHOICES.get(name, ())), "visible": True}}
            for name in sorted({*_WANTED, *call.body})]  # fmt: skip
    count = sum(map(len, mistakes.values()))
    return 200, {"name": call.params["plugin"], "groups": [], "error_count": count, "configs": configs}


def _make(organization: Organization, call: Call, there: dict[str, StoredObject]) -> Json:
    wanted = judged(ConnectorBody, call.body)
    _refuse_mistakes(wanted.config)
    if wanted.name in there:
        raise Refusal(400, f"Connector {wanted.name} already exists")
    account = wanted.config["kafka.service.account.id"]
    if account not in organization.of(ACCOUNTS):
        raise Refusal(400, f"Service account {account} not found")
    body: Json = {
        "name": wanted.name,
        "type": "source",
        "config": {**wanted.config, **_completed(organization, call, wanted.name)},
        "tasks": [],
    }
    return _described(organization.add(_path(call), wanted.name, {**body, "state": _STATES[0], "trace": ""}))


def _completed(organization: Organization, call: Call, name: str) -> dict[str, str]:
    """What the cloud adds to a connector's settings."""
    cluster = organization.of(CLUSTERS)[call.params["cluster"]].body["spec"]
    return {
        "name": name, "cloud.environment": "prod", "cloud.provider": "aws",
        "kafka.endpoint": cluster["kafka_bootstrap_endpoint"], "kafka.region": cluster["region"],
        "kafka.api.key": "", "kafka.api.secret": "****************",
    }  # fmt: skip


def _grow(organization: Organization, cluster: str, connector: StoredObject) -> None:
    state, wait = connector.body["state"], organization.delays.provision
    if state == _STATES[0] and organization.is_older(connector, wait):
        problem = _problem(organization, cluster, connector.body["config"])
        if organization.knobs.fails("Connector"):
            problem = "an internal error of the stand-in: fail_next asked for it"
        connector.body |= {"state": "FAILED" if problem else _STATES[1], "trace": problem}
    elif state == _STATES[1] and organization.is_older(connector, 1.5 * wait):
        connector.body["state"] = _STATES[2]
        _produce(organization, connector)


def _produce(organization: Organization, connector: StoredObject) -> None:
    if broker := organization.places.broker:
        settings = connector.body["config"]
        broker.trade(organization, connector.body["name"], settings["kafka.topic"], settings["quickstart"])


def _problem(organization: Organization, cluster: str, settings: dict[str, str]) -> str:
    """What the connector meets when it starts to work."""
    account, topic = settings["kafka.service.account.id"], settings["kafka.topic"]
    if topic not in organization.of(f"/kafka/v3/clusters/{cluster}/topics"):
        return f"org.apache.kafka.common.errors.UnknownTopicOrPartitionException: {topic}"
    if not may(organization, account, cluster, "DESCRIBE", "CLUSTER", "kafka-cluster"):
        return (
            f"org.apache.kafka.common.errors.ClusterAuthorizationException: DESCRIBE kafka-cluster: {account}"
        )
    if not may(organization, account, cluster, "WRITE", "TOPIC", topic):
        return f"org.apache.kafka.common.errors.TopicAuthorizationException: WRITE topic {topic}: {account}"
    return ""


def _mistakes(settings: Json) -> dict[str, list[str]]:
    problems = {name: [f'"{name}" is required'] for name in _WANTED if not settings.get(name)}
    for name, choices in _CHOICES.items():
        if settings.get(name) and settings[name] not in choices:
            problems[name] = [f'"{settings[name]}" is none of {", ".join(choices)}']
    return problems


def _refuse_mistakes(settings: Json) -> None:
    if problems := _mistakes(settings):
        raise Refusal(400, "; ".join(text for texts in problems.values() for text in texts))


def _entered(organization: Organization, call: Call) -> str:
    owner = caller(organization, call.authorization, CLOUD)
    cluster = call.params["cluster"]
    if cluster not in organization.of(CLUSTERS):
        raise missing() if call.method != "POST" else Refusal(400, f"cluster {cluster} not found")
    need(organization, owner, ADMINS, cluster_crn(organization, cluster))
    return cluster


def _path(call: Call) -> str:
    environment, cluster = call.params["environment"], call.params["cluster"]
    return f"/connect/v1/environments/{environment}/clusters/{cluster}/connectors"


def _connector(organization: Organization, call: Call) -> StoredObject:
    if (connector := organization.of(_path(call)).get(call.params["name"])) is None:
        raise missing(f"Connector {call.params['name']} not found")
    return connector
