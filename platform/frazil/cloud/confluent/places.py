"""Where everything else is: environment, cluster, registry and compute pool."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from frazil.cloud.confluent.client import Json, awaited, stays
from frazil.cloud.confluent.resource import Listed
from frazil.cloud.resource import Facts, GoesWithAnother, Known, NotYet
from frazil.errors import DifferentError

BINDINGS = "/iam/v2/role-bindings"
_ENVIRONMENT = "confluent/environment"
_ORGANIZATION = re.compile(r"/organization=([^/]+)")


@dataclass(frozen=True, kw_only=True)
class Environment(Listed):
    """The environment, with the package of its registry.

    Confluent's API has a display name for it and no other field, and names are not unique. So a role of a
    service account that bears the deployment's mark says whose it is. One without clusters and pools may
    be one that was begun.

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

    def read(self, known: Known) -> Facts | None:
        """What is there, by its name, and by whose it is."""
        body = self.find(known)
        if body is not None and not self.adopts and not self._is_ours(body, known):
            raise _foreign(self.name, str(body["id"]))
        return None if body is None else self.facts(body, known)

    def _is_ours(self, body: Json, known: Known) -> bool:
        account = known.get(self.account)
        name = str(body.get("metadata", {}).get("resource_name", ""))
        asked = {"principal": f"User:{account['id']}", "crn_pattern": name} if account and name else None
        marked = asked and any(self.confluent.cloud.every(BINDINGS, **asked))
        return bool(marked) or not any(self._inside(str(body["id"])))

    def _inside(self, id_: str) -> Iterator[Json]:
        for path in (Cluster.path, Pool.path):
            yield from filter(stays, self.confluent.cloud.every(path, environment=id_))

    def wanted(self, known: Known) -> Facts:
        """Its package."""
        return {"governance": self.governance}

    def facts(self, body: Json, known: Known) -> Facts:
        """With the organization, which Flink's addresses need."""
        found = _ORGANIZATION.search(body.get("metadata", {}).get("resource_name", ""))
        package = body.get("stream_governance_config", {}).get("package")
        return {"id": body["id"], "organization": found[1] if found else "", "governance": package}

    def body(self, known: Known) -> Json:
        """What it is made of."""
        return {"display_name": self.name, "stream_governance_config": {"package": self.governance}}

    def update(self, there: Facts, known: Known) -> None:
        """Takes another package."""
        told = {"stream_governance_config": {"package": self.governance}}
        self.confluent.cloud.ask("PATCH", f"{self.path}/{there['id']}", told)


@dataclass(frozen=True, kw_only=True)
class InEnvironment(Listed):
    """Something in the environment."""

    def place(self, known: Known) -> dict[str, str]:
        """The environment."""
        return {"environment": known[_ENVIRONMENT]["id"]}


@dataclass(frozen=True, kw_only=True)
class Cluster(InEnvironment):
    """The Kafka cluster."""

    kind: str
    region: str
    path: ClassVar = "/cmk/v2/clusters"
    fixed: ClassVar = frozenset({"kind", "region"})

    def wanted(self, known: Known) -> Facts:
        """Its kind and place, and that it is there."""
        return {"kind": self.kind, "region": self.region, "phase": "PROVISIONED"}

    def facts(self, body: Json, known: Known) -> Facts:
        """With the addresses of brokers and REST."""
        spec = body["spec"]
        phase = awaited(body, "PROVISIONING")
        protocol, _, bootstrap = spec.get("kafka_bootstrap_endpoint", "").rpartition("://")
        return {
            "id": body["id"], "phase": phase, "kind": spec["config"]["kind"], "region": spec["region"],
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
        """Makes one that FAILED anew."""
        self.remade(there, known, "the cluster was not provisioned")


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
class Pool(InEnvironment):
    """The compute pool of Flink."""

    region: str
    max_cfu: int
    path: ClassVar = "/fcpm/v2/compute-pools"
    fixed: ClassVar = frozenset({"region"})

    def wanted(self, known: Known) -> Facts:
        """Its size and place."""
        return {"max_cfu": self.max_cfu, "region": self.region, "phase": "PROVISIONED"}

    def facts(self, body: Json, known: Known) -> Facts:
        """As it is."""
        spec = body["spec"]
        phase = awaited(body, "PROVISIONING")
        return {"id": body["id"], "phase": phase, "max_cfu": spec["max_cfu"], "region": spec["region"]}

    def body(self, known: Known) -> Json:
        """What it is made of."""
        spec = {"display_name": self.name, "cloud": "AWS", "region": self.region, "max_cfu": self.max_cfu}
        return {"spec": {**spec, "environment": {"id": known[_ENVIRONMENT]["id"]}}}

    def update(self, there: Facts, known: Known) -> None:
        """Takes another size; makes one that FAILED anew."""
        if there["phase"] == "FAILED":
            self.remade(there, known, "the pool was not provisioned")
        told = {"max_cfu": self.max_cfu, "environment": {"id": known[_ENVIRONMENT]["id"]}}
        self.confluent.cloud.ask("PATCH", f"{self.path}/{there['id']}", {"spec": told})


def _foreign(name: str, id_: str) -> DifferentError:
    return DifferentError(
        f"An environment {name} is there, and nothing in it says that it is of this deployment.",
        where=id_,
        meaning="It was neither changed nor removed, with all that is in it.",
        todo="Give the deployment another name. If the environment is its own, take it over: --adopt.",
    )
