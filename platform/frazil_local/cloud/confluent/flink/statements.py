"""Statements of Flink SQL: a name is taken once, a phase follows, and a right that lacks makes it FAILED.

CREATE TABLE makes the topic, DROP TABLE drops it, and a statement that goes on forever is RUNNING.
Where there is a broker, the simplest of these make records (`flink_job`).
"""

from __future__ import annotations

import re
import time

from frazil_local.cloud.confluent.access import ADMINS, cluster_crn, has_role, region_caller
from frazil_local.cloud.confluent.bodies import StatementBody, judged
from frazil_local.cloud.confluent.kafka.rest import drop_table, make_topic
from frazil_local.cloud.confluent.kind import Answer, Call, paged
from frazil_local.cloud.confluent.management import POOLS
from frazil_local.cloud.confluent.organization import (
    CLUSTERS,
    ENVIRONMENTS,
    REGISTRIES,
    Json,
    Organization,
    StoredObject,
)
from frazil_local.cloud.confluent.refusals import Refusal, forbidden, missing

_WRITERS = ("ResourceOwner", "DeveloperManage")
_TABLE = re.compile(r"\b(CREATE|DROP)\s+TABLE\s+(?:IF\s+(?:NOT\s+)?EXISTS\s+)?`?([\w.-]+)`?", re.IGNORECASE)
_READS = re.compile(r"\b(?:FROM|JOIN)\s+`?([\w.-]+)`?", re.IGNORECASE)
_GOES_ON = re.compile(r"\bAS\s+SELECT\b|\bINSERT\s+INTO\b|^\s*SELECT\b", re.IGNORECASE)


def statements(organization: Organization, call: Call) -> Answer:
    """Made, listed, shown, removed; what is removed stays for a while."""
    owner, environment = _entered(organization, call)
    there = organization.of(_path(call))
    if call.method == "POST":
        return 201, _make(organization, call, owner, environment)
    if "name" not in call.params:
        page, metadata = paged(organization, _path(call), list(there.values()), call.query)
        shown = [_shown(organization, stored) for stored in page]
        return 200, {"api_version": "sql/v1", "kind": "StatementList", "metadata": metadata, "data": shown}
    stored = there.get(call.params["name"])
    if stored is None:
        raise missing("Statement not found")
    if call.method == "PUT":
        _put(stored, call.body)
        return 202, None
    if call.method == "DELETE":
        stored.leaves = stored.leaves or time.time() + organization.delays.provision
        return 202, None
    return 200, _shown(organization, stored)


def _entered(organization: Organization, call: Call) -> tuple[str, str]:
    """Who asks, with a key of the environment's region; the role is that of a developer of Flink."""
    environment = call.params["environment"]
    if environment not in organization.of(ENVIRONMENTS):
        raise missing("environment not found")
    regions = {p.body["spec"]["region"] for p in organization.of(POOLS).values()} or {"us-east-1"}
    owner = _caller(organization, call, environment, regions)
    crn = f"{organization.crn}/environment={environment}"
    if not has_role(organization, owner, (*ADMINS, "FlinkDeveloper", "FlinkAdmin"), crn):
        raise forbidden(f"{owner} needs the role FlinkDeveloper on {crn}")
    return owner, environment


def _caller(organization: Organization, call: Call, environment: str, regions: set[str]) -> str:
    refused = Refusal(401, "Unauthorized")
    for region in regions:
        try:
            return region_caller(organization, call.authorization, f"aws.{region}@{environment}")
        except Refusal as e:
            refused = e
    raise refused


def _make(organization: Organization, call: Call, owner: str, environment: str) -> Json:
    wanted = judged(StatementBody, call.body)
    path = _path(call)
    if wanted.name in organization.of(path):
        location = {"Location": f"{organization.places.here}{path}/{wanted.name}"}
        raise Refusal(409, f"Statement {wanted.name} already exists", headers=location)
    pool = organization.of(POOLS).get(wanted.spec.compute_pool_id)
    if pool is None or pool.body["spec"]["environment"]["id"] != environment:
        raise Refusal(400, f"compute pool {wanted.spec.compute_pool_id} not found")
    crn = f"{organization.crn}/service-account={wanted.spec.principal}"
    if not has_role(organization, owner, ("Assigner", "OrganizationAdmin"), crn):
        raise forbidden(f"{owner} needs the role Assigner on {crn}")
    now = {"self": f"{organization.places.here}{path}/{wanted.name}", "resource_version": "1"}
    body = {"api_version": "sql/v1", "kind": "Statement", "metadata": now, "name": wanted.name,
            "organization_id": organization.id, "environment_id": environment,
            "spec": wanted.spec.model_dump(), "status": {"phase": "PENDING", "detail": ""}}  # fmt: skip
    return organization.add(path, wanted.name, body).body


def _put(statement: StoredObject, body: Json) -> None:
    """Stops it, or lets it go on; nothing else of it can change, and no terminal phase ends."""
    stops = bool(body["spec"].get("stopped"))
    if {**statement.body["spec"], "stopped": stops} != body["spec"]:
        raise Refusal(400, "only `stopped` of a statement can be changed here")
    if body["metadata"].get("resource_version") != statement.body["metadata"]["resource_version"]:
        raise Refusal(409, "the statement was changed meanwhile")
    status = statement.body["status"]
    if status["phase"] in ("FAILED", "COMPLETED"):
        raise Refusal(400, f"a statement that is {status['phase']} can't be stopped or resumed")
    statement.body["spec"]["stopped"] = stops
    statement.body["metadata"]["resource_version"] += "1"
    status["phase"] = "STOPPED" if stops else "RUNNING"


def _shown(organization: Organization, statement: StoredObject) -> Json:
    """As it is now; when it starts, it does what it says."""
    status = statement.body["status"]
    if statement.leaves is not None:
        return {**statement.body, "status": {**status, "phase": "DELETING"}}
    if status["phase"] == "PENDING" and organization.is_older(statement, organization.delays.provision):
        problem = _done(organization, statement.body)
        if organization.knobs.fails("Statement"):
            problem = "an internal error of the stand-in: fail_next asked for it"
        ends = "RUNNING" if _GOES_ON.search(statement.body["spec"]["statement"]) else "COMPLETED"
        status |= {"phase": "FAILED" if problem else ends, "detail": problem}
    return statement.body


def _done(organization: Organization, body: Json) -> str:
    """Does what a statement says; what keeps it from that, if anything does."""
    spec, environment = body["spec"], body["environment_id"]
    cluster = _cluster(organization, environment, spec["properties"].get("sql.current-database", ""))
    if cluster is None:
        return "the current database is no cluster of this environment"
    text = spec["statement"]
    made = {name: verb.upper() for verb, name in _TABLE.findall(text)}
    if problem := _right_that_lacks(organization, cluster, spec["principal"], text, list(made)):
        return problem
    topics = organization.of(f"/kafka/v3/clusters/{cluster}/topics")
    if unknown := [name for name in _READS.findall(text) if name not in topics]:
        return f"Table (or view) '{unknown[0]}' does not exist, may be on a private cluster"
    for name, verb in made.items():
        if verb == "DROP":
            drop_table(organization, cluster, name)
        elif name not in topics:
            make_topic(organization, cluster, name, 6, {})
    broker = organization.places.broker
    return broker.begin(text) if broker else ""


def _right_that_lacks(
    organization: Organization, cluster: str, principal: str, text: str, made: list[str]
) -> str:
    """The first role that a principal lacks, by the name of what it lacks it on."""
    crn = cluster_crn(organization, cluster)
    wanted: list[tuple[tuple[str, ...], str]] = []
    for name in made:
        wanted.append((_WRITERS, f"{crn}/kafka={cluster}/topic={name}"))
        wanted += [
            (_WRITERS, f"{registry}/subject={name}-value") for registry in _registries(organization, crn)
        ]
    for name in _READS.findall(text):
        wanted.append(((*_WRITERS, "DeveloperRead"), f"{crn}/kafka={cluster}/topic={name}"))
    if _GOES_ON.search(text):
        transactions = f"{crn}/kafka={cluster}/transactional-id=_confluent-flink_1"
        wanted.append(((*_WRITERS, "DeveloperWrite"), transactions))
    for roles, place in wanted:
        if not has_role(organization, principal, (*ADMINS, *roles), place):
            return f"{principal} is not authorized: it needs the role {roles[0]} on {place}"
    return ""


def _registries(organization: Organization, crn: str) -> list[str]:
    environment = crn.partition("/cloud-cluster=")[0]
    there = organization.of(REGISTRIES).values()
    return [f"{environment}/schema-registry={r.body['id']}" for r in there
            if environment.endswith(f"={r.body['spec']['environment']['id']}")]  # fmt: skip


def _cluster(organization: Organization, environment: str, wanted: str) -> str | None:
    """A cluster by its name, or by its id."""
    for id_, cluster in organization.of(CLUSTERS).items():
        spec = cluster.body["spec"]
        if spec["environment"]["id"] == environment and wanted in (id_, spec["display_name"]):
            return id_
    return None


def _path(call: Call) -> str:
    organization, environment = call.params["organization"], call.params["environment"]
    return f"/sql/v1/organizations/{organization}/environments/{environment}/statements"
