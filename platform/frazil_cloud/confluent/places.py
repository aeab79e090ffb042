"""Where everything else is: environment, cluster, registry and compute pool."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from frazil.errors import DifferentError
from frazil_cloud.confluent.client import awaited
from frazil_cloud.confluent.plane import Json, stays
from frazil_cloud.confluent.resource import Listed, Renamable
from frazil_cloud.resource import Facts, GoesWithAnother, Known, NotYet
from frazil_cloud.secrets import SecretStore

BINDINGS = "/iam/v2/role-bindings"
INTEGRATIONS = "/pim/v1/integrations"
_ENVIRONMENT = "confluent/environment"
_ORGANIZATION = re.compile(r"/organization=([^/]+)")
ENVIRONMENT_ROLE, CLUSTER_ROLE = "MetricsViewer", "CloudClusterAdmin"
"""The manager's roles on both. Its account bears the deployment's mark: by them both are known as ours."""


@dataclass(frozen=True, kw_only=True)
class Environment(Listed):
    """The environment, with the package of its registry.

    Confluent's API has a display name for it and no other field. So a role of a service account that bears
    the deployment's mark says whose it is, though somebody gave it another name. Where that account is there
    and the environment holds nothing that somebody made, it is one that was begun, or nearly removed.

    Args:
        account: The address of that account.
        adopts: Whether one without such a role is taken over.
    """

    governance: str
    account: str
    adopts: bool = False
    path: ClassVar = "/org/v2/environments"

    @property
    def fixed(self) -> frozenset[str]:  # type: ignore[override]
        """A package can be raised to ADVANCED, and never goes back."""
        return frozenset({"governance"} if self.governance == "ESSENTIALS" else ())

    def find(self, known: Known) -> Json | None:
        """By its name, where it is ours; then the one that is ours by another name."""
        there = [each for each in self.confluent.cloud.every(self.path) if stays(each)]
        named = next((each for each in there if each["display_name"] == self.name), None)
        if (seen := known.get(self.address)) is not None:  # its name and its mark may have gone since
            return next((each for each in there if each["id"] == seen["id"]), None)
        if named is not None and any(self._roles(known, _resource_name(named))):
            return named
        return self._renamed(there, known) or named

    def _renamed(self, there: list[Json], known: Known) -> Json | None:
        """The one that bears the mark."""
        roles = self._roles(known, self.confluent.organization) if there and self.account in known else ()
        marked = {each["crn_pattern"] for each in roles if each["role_name"] == ENVIRONMENT_ROLE}
        return next((each for each in there if _resource_name(each) in marked), None)

    def read(self, known: Known) -> Facts | None:
        """What is there, and whose it is."""
        body = self.find(known)
        if body is not None and not self.adopts and not self._is_ours(body, known):
            raise _foreign(self.name, str(body["id"]))
        return None if body is None else self.facts(body, known)

    def _is_ours(self, body: Json, known: Known) -> bool:
        if known.get(self.account) is None:
            return False
        return any(self._roles(known, _resource_name(body))) or not any(self._inside(str(body["id"])))

    def _roles(self, known: Known, below: str) -> Iterator[Json]:
        """The roles of the account that bears the mark, on something and all that is in it."""
        if (account := known.get(self.account)) and below:
            asked = {"principal": f"User:{account['id']}", "crn_pattern": below}
            yield from self.confluent.cloud.every(BINDINGS, **asked)

    def _inside(self, id_: str) -> Iterator[Json]:
        """What somebody made in it; the registry comes with a cluster, and outlives it."""
        for path in (Cluster.path, Pool.path, INTEGRATIONS):
            yield from filter(stays, self.confluent.cloud.every(path, environment=id_))

    def wanted(self, known: Known) -> Facts:
        """Its name and its package."""
        return {"name": self.name, "governance": self.governance}

    def facts(self, body: Json, known: Known) -> Facts:
        """With the organization, which Flink's addresses need."""
        match = _ORGANIZATION.search(_resource_name(body))
        package = body.get("stream_governance_config", {}).get("package")
        own = {"id": body["id"], "name": body["display_name"], "governance": package}
        return {**own, "organization": match[1] if match else ""}

    def body(self, known: Known) -> Json:
        """What it is made of."""
        return {"display_name": self.name, "stream_governance_config": {"package": self.governance}}

    def update(self, there: Facts, known: Known) -> None:
        """Takes its name back; takes another package."""
        changes: Json = {}
        if there["name"] != self.name:
            self._refuse_taken(there)
            changes["display_name"] = self.name
        if there["governance"] != self.governance:
            changes["stream_governance_config"] = {"package": self.governance}
        self.confluent.cloud.ask("PATCH", f"{self.path}/{there['id']}", changes)

    def _refuse_taken(self, there: Facts) -> None:
        """No two may have one name."""
        for body in self.confluent.cloud.every(self.path):
            if body["display_name"] == self.name and stays(body):
                raise _taken(self.name, there, str(body["id"]))


@dataclass(frozen=True, kw_only=True)
class InEnvironment(Listed):
    """Something in the environment."""

    def place(self, known: Known) -> dict[str, str]:
        """The environment."""
        return {"environment": known[_ENVIRONMENT]["id"]}


@dataclass(frozen=True, kw_only=True)
class Cluster(Renamable, InEnvironment):
    """The Kafka cluster. Names are not unique: where several are there, the manager's role says which it is.

    Args:
        account: The address of the manager's account.
    """

    account: str
    kind: str
    region: str
    path: ClassVar = "/cmk/v2/clusters"
    fixed: ClassVar = frozenset({"kind", "region"})

    def wanted(self, known: Known) -> Facts:
        """Its name, kind and place, and that it is there."""
        return {"name": self.name, "kind": self.kind, "region": self.region, "phase": "PROVISIONED"}

    def marked(self, there: Collection[Json], known: Known) -> Collection[str]:
        """Those that the manager's account administers."""
        if (account := known.get(self.account)) is None:
            return set()
        environment = known[_ENVIRONMENT]
        place = f"/organization={environment['organization']}/environment={environment['id']}"
        inside = f"crn://confluent.cloud{place}"
        asked = {"principal": f"User:{account['id']}", "crn_pattern": inside}
        return {
            str(each["crn_pattern"]).removeprefix(f"{inside}/cloud-cluster=")
            for each in self.confluent.cloud.every(BINDINGS, **asked)
            if each["role_name"] == CLUSTER_ROLE
        }

    def facts(self, body: Json, known: Known) -> Facts:
        """With the addresses of brokers and REST."""
        spec = body["spec"]
        phase = awaited(body, "PROVISIONING")
        protocol, _, bootstrap = spec.get("kafka_bootstrap_endpoint", "").rpartition("://")
        return {
            "id": body["id"], "name": spec["display_name"], "phase": phase,
            "kind": spec["config"]["kind"], "region": spec["region"],
            "bootstrap": bootstrap, "protocol": protocol or "SASL_SSL",
            "http_endpoint": spec.get("http_endpoint", ""),
        }  # fmt: skip

    def body(self, known: Known) -> Json:
        """What it is made of."""
        return {
            "spec": {
                "display_name": self.name, "availability": "SINGLE_ZONE", "cloud": "AWS",
                "region": self.region, "config": {"kind": self.kind},
                "environment": {"id": known[_ENVIRONMENT]["id"]},
            }
        }  # fmt: skip

    def update(self, there: Facts, known: Known) -> None:
        """Makes one that FAILED anew; gives one its name back."""
        if there["phase"] == "FAILED":
            self.remade(there, known, "the cluster was not provisioned")
        changes = {"display_name": self.name, "environment": {"id": known[_ENVIRONMENT]["id"]}}
        self.confluent.cloud.ask("PATCH", f"{self.path}/{there['id']}", {"spec": changes})


@dataclass(frozen=True, kw_only=True)
class Registry(InEnvironment):
    """The schema registry: it comes with the first cluster, and goes with the environment."""

    path: ClassVar = "/srcm/v3/clusters"

    def wanted(self, known: Known) -> Facts:
        """That it is there."""
        return {"phase": "PROVISIONED"}

    def read(self, known: Known) -> Facts:
        """The only one of the environment. Once there is a cluster, it is on its way."""
        cluster = known["confluent/cluster"]["id"]
        for body in self.confluent.cloud.every(self.path, **self.place(known)):
            phase = awaited(body, "PROVISIONING")
            return {"id": body["id"], "phase": phase, "http_endpoint": body["spec"]["http_endpoint"]}
        raise NotYet(f"the registry comes some minutes after the cluster {cluster}")

    def create(self, known: Known) -> None:
        """Nobody makes one."""

    def delete(self, there: Facts, known: Known) -> None:
        """The environment takes it along."""
        raise GoesWithAnother


@dataclass(frozen=True, kw_only=True)
class Pool(Renamable, InEnvironment):
    """The compute pool of Flink.

    Args:
        secret: The name of the secret of Flink's key, which says the id of the pool.
    """

    region: str
    max_cfu: int
    secret: str
    secrets: SecretStore = field(repr=False)
    path: ClassVar = "/fcpm/v2/compute-pools"
    fixed: ClassVar = frozenset({"region"})

    def wanted(self, known: Known) -> Facts:
        """Its name, size and place."""
        return {"name": self.name, "max_cfu": self.max_cfu, "region": self.region, "phase": "PROVISIONED"}

    def marked(self, there: Collection[Json], known: Known) -> Collection[str]:
        """The one that the secret names."""
        return {(self.secrets.get(self.secret) or {}).get("compute.pool.id", "")}

    def facts(self, body: Json, known: Known) -> Facts:
        """As it is."""
        spec = body["spec"]
        own = {"id": body["id"], "name": spec["display_name"], "phase": awaited(body, "PROVISIONING")}
        return {**own, "max_cfu": spec["max_cfu"], "region": spec["region"]}

    def body(self, known: Known) -> Json:
        """What it is made of."""
        return {"spec": {**self._changeable(known), "cloud": "AWS", "region": self.region}}

    def update(self, there: Facts, known: Known) -> None:
        """Takes its name back, and another size; makes one that FAILED anew."""
        if there["phase"] == "FAILED":
            self.remade(there, known, "the pool was not provisioned")
        body = {"spec": self._changeable(known)}
        self.confluent.cloud.ask("PATCH", f"{self.path}/{there['id']}", body)

    def _changeable(self, known: Known) -> Json:
        environment = {"id": known[_ENVIRONMENT]["id"]}
        return {"display_name": self.name, "max_cfu": self.max_cfu, "environment": environment}


def _resource_name(body: Json) -> str:
    return str(body.get("metadata", {}).get("resource_name", ""))


def _taken(name: str, there: Facts, other: str) -> DifferentError:
    return DifferentError(
        f"The deployment's environment was renamed, and another one bears its name {name} now.",
        where=f"{there['id']}: {there['name']}; {other}: {name}",
        meaning="Neither was changed.",
        todo=f"Give {other} another name, or remove it if it is nobody's; then run the same again: "
        f"{there['id']} gets its name back.",
    )


def _foreign(name: str, id_: str) -> DifferentError:
    return DifferentError(
        f"An environment {name} is there, and nothing in it says that it is of this deployment.",
        where=id_,
        meaning="It was neither changed nor removed, with all that is in it.",
        todo="Give the deployment another name. If the environment is its own, take it over: --adopt.",
    )
