"""Datagen connectors, which make records up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar
from urllib.parse import quote

from frazil.errors import ConfigureError
from frazil_cloud.confluent.resource import Thing
from frazil_cloud.resource import WHY, Facts, Known, NotYet, RefusedYet
from frazil_cloud.spec.confluent import Connector

_ACCOUNT = "confluent/account/app_connector"
_ON_ITS_WAY = ("NONE", "PROVISIONING")
"""DEGRADED is on the way to RUNNING, too (terraform-provider-confluent, `utils_wait.go`), but may last."""


@dataclass(frozen=True, kw_only=True)
class Datagen(Thing):
    """A connector that runs as the connectors' account."""

    spec: Connector
    plugin: ClassVar = "DatagenSource"

    def wanted(self, known: Known) -> Facts:
        """Its settings, and that it runs."""
        return {"config": self._config(known), "state": "RUNNING"}

    def read(self, known: Known) -> Facts | None:
        """As it is; of its settings those that are wanted."""
        body = self.confluent.cloud.get(self._path(known, self.spec.name))
        if body is None:
            return None
        connector = self.confluent.cloud.ask("GET", self._path(known, self.spec.name) + "/status")[
            "connector"
        ]
        if connector["state"] in _ON_ITS_WAY:
            raise NotYet(f"the connector is {connector['state']}")
        config = {k: v for k, v in body["config"].items() if k in self._config(known)}
        why = f"the connector was {connector['state']}: {connector.get('trace') or 'no reason was told'}"
        return {
            "config": config,
            "state": connector["state"],
            WHY: "" if connector["state"] == "RUNNING" else why,
        }

    def create(self, known: Known) -> None:
        """Has its settings checked, and makes it."""
        config = self._config(known)
        self._check(config, known)
        self.confluent.cloud.post(self._path(known), {"name": self.spec.name, "config": config})

    def update(self, there: Facts, known: Known) -> None:
        """Writes settings that differ; they also start one again that FAILED. One that PAUSED is resumed."""
        config, state, path = self._config(known), there["state"], self._path(known, self.spec.name)
        if there["config"] != config or state == "FAILED":
            self._check(config, known)
            self.confluent.cloud.ask("PUT", f"{path}/config", config)
        elif state == "PAUSED":
            self.confluent.cloud.ask("PUT", f"{path}/resume")

    def delete(self, there: Facts, known: Known) -> None:
        """Removes it; its records stay."""
        self.confluent.cloud.delete(self._path(known, self.spec.name))

    def verify(self, there: Facts, known: Known) -> None:
        """A task of it runs."""
        status = self.confluent.cloud.ask("GET", self._path(known, self.spec.name) + "/status")
        if not any(task["state"] == "RUNNING" for task in status["tasks"]):
            raise RefusedYet(f"no task of the connector runs: {status['connector'].get('trace', '')}")

    def _check(self, config: dict[str, str], known: Known) -> None:
        path = f"{self._base(known)}/connector-plugins/{self.plugin}/config/validate"
        validation = self.confluent.cloud.ask("PUT", path, config)
        if validation["error_count"]:
            errors = [error for each in validation["configs"] for error in each["value"].get("errors", [])]
            raise ConfigureError(
                f"Confluent Cloud does not take the connector {self.spec.name}.",
                where="; ".join(errors),
                meaning="It was not made.",
                todo="Fix its `config` in the deployment.",
            )

    def _config(self, known: Known) -> dict[str, str]:
        return {
            "connector.class": self.plugin, "name": self.spec.name,
            "kafka.auth.mode": "SERVICE_ACCOUNT", "kafka.service.account.id": known[_ACCOUNT]["id"],
            "kafka.topic": self.spec.topic, "output.data.format": "AVRO",
            "quickstart": self.spec.quickstart, "tasks.max": str(self.spec.tasks), **self.spec.config,
        }  # fmt: skip

    def _base(self, known: Known) -> str:
        environment, cluster = known["confluent/environment"]["id"], known["confluent/cluster"]["id"]
        return f"/connect/v1/environments/{environment}/clusters/{cluster}"

    def _path(self, known: Known, name: str = "") -> str:
        path = f"{self._base(known)}/connectors"
        return f"{path}/{quote(name, safe='')}" if name else path
