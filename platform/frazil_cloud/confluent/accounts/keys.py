"""What makes, proves, lists and revokes API keys, for the deployment and for rotation alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from frazil_cloud.confluent.client import Confluent, pair_of
from frazil_cloud.confluent.plane import Json, Missing, Plane
from frazil_cloud.confluent.refusals import Settled
from frazil_cloud.resource import Known, NotYet
from frazil_cloud.spec.confluent import KeyUse
from frazil_cloud.spec.deployment import DeploymentSpec

_PATH = "/iam/v2/api-keys"
_LOGIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
KAFKA_USES: tuple[KeyUse, ...] = ("app_manager", "app_producer", "app_consumer")


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key as it was made: the secret is never shown again."""

    id: str
    secret: str = field(repr=False)

    @property
    def pair(self) -> tuple[str, str]:
        """As planes take it."""
        return self.id, self.secret


@dataclass(frozen=True, slots=True)
class ListedKey:
    """A key as the cloud lists it."""

    id: str
    created: datetime


@dataclass(frozen=True)
class KeyDuty:
    """One use of API keys in one deployment: whose they are, what they are for, where their secret is."""

    spec: DeploymentSpec
    use: KeyUse

    @property
    def address(self) -> str:
        """The address of the resource."""
        return f"confluent/key/{self.use}"

    @property
    def owner(self) -> str:
        """The address of the account that holds them; Tableflow's belong to the manager."""
        return f"confluent/account/{'app_manager' if self.use == 'tableflow' else self.use}"

    @property
    def needs(self) -> tuple[str, ...]:
        """What must be there before a key."""
        more = {"schema_registry": ("confluent/registry",), "flink": ("confluent/pool",)}
        return ("confluent/environment", "confluent/cluster", self.owner, *more.get(self.use, ()))

    @property
    def mark(self) -> str:
        """Stands in the description of each of them."""
        return f"{self.spec.mark}:{self.use}"

    @property
    def secret(self) -> str:
        """The name of the secret."""
        return self.spec.names.secret(self.use)

    @property
    def twin(self) -> str:
        """The name of the same secret in another form; empty: there is none."""
        return self.spec.names.twin(self.use)

    def resource(self, known: Known) -> Json:
        """What a key is for, as the API says it."""
        if self.use == "schema_registry":
            return {"id": known["confluent/registry"]["id"]}
        if self.use == "flink":
            environment = known["confluent/environment"]["id"]
            region = {"id": f"aws.{self.spec.region}", "environment": environment}
            return {**region, "kind": "Region", "api_version": "fcpm/v2"}
        if self.use == "tableflow":
            return {"id": "tableflow", "kind": "Tableflow", "api_version": "tableflow/v1"}
        return {"id": known["confluent/cluster"]["id"], "environment": known["confluent/environment"]["id"]}

    def settings(self, known: Known) -> dict[str, str]:
        """What its secret says besides key and secret."""
        cluster = known["confluent/cluster"]
        if self.use == "schema_registry":
            url = known["confluent/registry"]["http_endpoint"]
            return {"schema.registry.basic.auth.credentials.source": "USER_INFO", "schema.registry.url": url}
        if self.use == "flink":
            pool, principal = known["confluent/pool"]["id"], known[self.owner]["id"]
            return {"compute.pool.id": pool, "principal.id": principal}
        if self.use == "tableflow":
            return {"environment.id": known["confluent/environment"]["id"], "kafka.cluster.id": cluster["id"]}
        return {"bootstrap.servers": cluster["bootstrap"]}

    def values(self, key: ApiKey, known: Known) -> dict[str, str]:
        """The whole secret, in the form that the source systems' clients read."""
        if self.use == "schema_registry":
            login = {"schema.registry.basic.auth.user.info": f"{key.id}:{key.secret}"}
        elif self.use in KAFKA_USES:
            login = {"sasl.username": key.id, "sasl.password": key.secret}
        else:
            login = {"api.key": key.id, "api.key.secret": key.secret}
        return {**login, **self.settings(known)}

    def twin_values(self, key: ApiKey, known: Known) -> dict[str, str]:
        """The twin, in the form that the source systems' Java clients and their Flink application read."""
        if self.use in KAFKA_USES:
            login = f"required username='{key.id}' password='{key.secret}';"
            return {"sasl.jaas.config": f"{_LOGIN_MODULE} {login}", **self.settings(known)}
        if self.use != "flink":
            return self.values(key, known)
        environment, settings = known["confluent/environment"], self.settings(known)
        return {
            "flink.cloud": "AWS", "flink.region": self.spec.region,
            "flink.api.key": key.id, "flink.api.secret": key.secret,
            "organization.id": environment["organization"], "environment.id": environment["id"],
            "flink.compute.pool.id": settings["compute.pool.id"],
            "flink.principal.id": settings["principal.id"],
        }  # fmt: skip

    def plane(
        self, confluent: Confluent, known: Known, pair: tuple[str, str], settled: Settled | None = None
    ) -> Plane:
        """The plane that its keys work on; `settled`: of a key that is not new."""
        if self.use == "tableflow":
            return confluent.tableflow(pair, settled)
        if self.use == "flink":
            return confluent.flink(self.spec.region, pair, settled)
        thing = "confluent/registry" if self.use == "schema_registry" else "confluent/cluster"
        name = f"{thing.rpartition('/')[2]} {known[thing]['id']}"
        return confluent.plane(name, known[thing]["http_endpoint"], pair, settled)


def make(confluent: Confluent, duty: KeyDuty, known: Known) -> ApiKey:
    """A new key. Where the answer is lost, so is its secret: the next one who looks finds a key to revoke."""
    spec = {"display_name": duty.use, "description": duty.mark, "owner": {"id": known[duty.owner]["id"]}}
    made = confluent.cloud.post(_PATH, {"spec": {**spec, "resource": duty.resource(known)}})
    return ApiKey(made["id"], made["spec"]["secret"])


def listed(confluent: Confluent, duty: KeyDuty, known: Known) -> list[ListedKey]:
    """The keys of one duty, the oldest first, by the cloud's own dates."""
    resource = duty.resource(known)
    keys_there = [
        ListedKey(body["id"], datetime.fromisoformat(body["metadata"]["created_at"]))
        for body in _marked(confluent, duty, known)
        if _is_for(body, resource)
    ]
    return sorted(keys_there, key=lambda each: each.created)


def _is_for(body: Json, resource: Json) -> bool:
    """Whether a key is for a resource.

    The list is not filtered by `spec.resource`, which matches exactly: a region of Flink is shown as
    `aws.<region>` or as `<environment>.aws.<region>`
    (https://docs.confluent.io/cloud/current/flink/operate-and-deploy/generate-api-key-for-flink.html).
    """
    id_ = str((body["spec"].get("resource") or {}).get("id", ""))
    return id_ in (resource["id"], f"{resource.get('environment')}.{resource['id']}")


def created(confluent: Confluent, id_: str) -> str:
    """When a key was made; where there is none any more, long ago: it won't work later."""
    try:
        return str(confluent.cloud.ask("GET", f"{_PATH}/{id_}", gone=(403, 404))["metadata"]["created_at"])
    except Missing:
        return datetime.fromtimestamp(0, UTC).isoformat()


def revoke_all(confluent: Confluent, duty: KeyDuty, known: Known) -> None:
    """Ends all keys of one duty, also those for a cluster that is no more."""
    for body in list(_marked(confluent, duty, known)):
        revoke(confluent, body["id"])


def owned(confluent: Confluent, *accounts: str) -> Iterator[Json]:
    """All keys of some accounts, as Confluent lists them."""
    for body in confluent.cloud.by_few(_PATH, "spec.owner", accounts):
        if body["spec"]["owner"]["id"] in accounts:
            yield body


def _marked(confluent: Confluent, duty: KeyDuty, known: Known) -> Iterator[Json]:
    for body in owned(confluent, known[duty.owner]["id"]):
        if body["spec"].get("description") == duty.mark:
            yield body


def revoke(confluent: Confluent, id_: str) -> None:
    """Ends a key at once. It may be gone already."""
    confluent.cloud.delete(f"{_PATH}/{id_}")


def prove(
    confluent: Confluent, duty: KeyDuty, known: Known, pair: tuple[str, str], settled: Settled | None = None
) -> None:
    """Uses a key on its own plane; a new one is refused for a while, one whose secret is settled for good.

    Raises:
        NotYet: It is refused.
    """
    plane = duty.plane(confluent, known, pair, settled)
    for _ in range(2 if duty.use in KAFKA_USES else 1):  # one broker may know it before the next one does
        _PROBES[duty.use](plane, known)


def store(
    put: Callable[[str, Mapping[str, str], Mapping[str, str]], None], duty: KeyDuty, key: ApiKey, known: Known
) -> None:
    """Writes the secret of a key and its twin, by the store's `put`. The first says which key is in use."""
    tags = {"frazil": duty.spec.name}
    put(duty.secret, duty.values(key, known), tags)
    if duty.twin:
        put(duty.twin, duty.twin_values(key, known), tags)


def pair_or_none(stored: Mapping[str, str] | None) -> tuple[str, str] | None:
    """The key that a secret holds, if it holds one."""
    try:
        return pair_of(stored) if stored else None
    except KeyError:
        return None


def _topics(plane: Plane, known: Known) -> None:
    plane.ask("GET", f"/kafka/v3/clusters/{known['confluent/cluster']['id']}/topics")


def _subjects(plane: Plane, _: Known) -> None:
    """The list alone is given to anybody with a key; of a subject that is not there, to readers only."""
    plane.ask("GET", "/subjects")
    plane.get("/subjects/frazil-probe/versions", "the role DeveloperRead on the registry's subjects")


def _statements(plane: Plane, known: Known) -> None:
    plane.ask("GET", statements_path(known), right="the role FlinkDeveloper on the environment")


def _regions(plane: Plane, _: Known) -> None:
    if "data" not in plane.ask("GET", "/tableflow/v1/regions"):
        raise NotYet("Tableflow does not tell its regions")


_PROBES: Mapping[KeyUse, Callable[[Plane, Known], None]] = {
    "app_manager": _topics, "app_producer": _topics, "app_consumer": _topics,
    "schema_registry": _subjects, "flink": _statements, "tableflow": _regions,
}  # fmt: skip


def statements_path(known: Known) -> str:
    """Where the statements of an environment are."""
    environment = known["confluent/environment"]
    return f"/sql/v1/organizations/{environment['organization']}/environments/{environment['id']}/statements"
