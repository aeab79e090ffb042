"""What an organization holds: every object by the address of its collection and its id."""

from __future__ import annotations

import json
import secrets
import threading
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

from frazil.settings.systems.registry import RegistrySettings
from frazil_local.cloud.confluent.knobs import Delays, Knobs
from frazil_local.home import write_private

Json = dict[str, Any]

ADMIN = "u-admin"
KEYS = "/iam/v2/api-keys"
BINDINGS = "/iam/v2/role-bindings"
CLUSTERS = "/cmk/v2/clusters"
REGISTRIES = "/srcm/v3/clusters"
ENVIRONMENTS = "/org/v2/environments"
ACCOUNTS = "/iam/v2/service-accounts"


@dataclass(slots=True)
class StoredObject:
    """An object: its body as it is shown, when it was made, will be gone, and was proved, and what it met."""

    body: Json
    born: float
    leaves: float | None = None
    proved: float = 0.0
    met: Json = field(default_factory=dict)


class Broker(Protocol):
    """A real Kafka behind the cluster."""

    protocol: str
    bootstrap: str

    def next_key(self, organization: Organization) -> tuple[str, str]:
        """A key that it knows, and nobody has."""

    def make_topic(self, name: str, partitions: int, configs: dict[str, str]) -> None:
        """Makes a topic."""

    def drop_topic(self, name: str) -> None:
        """Drops a topic."""

    def settle(self, organization: Organization) -> None:
        """Takes over who may what, and which statements run."""

    def trade(self, organization: Organization, connector: str, topic: str, quickstart: str) -> None:
        """Produces made-up records."""

    def quit(self, connector: str) -> None:
        """Produces no more."""

    def begin(self, sql: str) -> str:
        """Gets ready for a statement that is to run; what keeps it from that, if anything does."""


@dataclass(slots=True)
class Places:
    """Where the stand-in itself is, and what it leans on; all but the first may be missing."""

    here: str
    aws: str | None = None
    registry: RegistrySettings | None = None
    broker: Broker | None = None
    state: Path | None = None
    materializes: bool = False  # whether somebody writes Tableflow's tables


@dataclass(slots=True)
class Organization:
    """One organization with one administrator. Only its lock's holder reads or changes it."""

    places: Places
    knobs: Knobs = field(default_factory=Knobs)
    id: str = "9bb441c4-edef-46ac-8a41-c49e44a3fd9a"
    objects: dict[str, dict[str, StoredObject]] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def delays(self) -> Delays:
        """How slow it is now."""
        return self.knobs.delays

    @property
    def crn(self) -> str:
        """The name of the organization, with which those of all its objects begin."""
        return f"crn://confluent.cloud/organization={self.id}"

    def admit(self, key: str, secret: str) -> None:
        """Makes the administrator, who may do everything, and the key of theirs."""
        spec = {"owner": {"id": ADMIN}, "display_name": "admin", "secret": secret}
        self.of(KEYS)[key] = StoredObject(
            {"id": key, "kind": "ApiKey", "spec": spec, "metadata": self._metadata(KEYS, key)}, 0.0
        )
        binding = {"principal": f"User:{ADMIN}", "role_name": "OrganizationAdmin", "crn_pattern": self.crn}
        self.of(BINDINGS)["rb-admin"] = StoredObject(
            {"id": "rb-admin", "metadata": self._metadata(BINDINGS, "rb-admin"), **binding}, 0.0
        )

    def _metadata(self, path: str, id_: str) -> Json:
        return {"self": f"{self.places.here}{path}/{id_}", "resource_name": self.crn}

    def of(self, path: str) -> dict[str, StoredObject]:
        """The objects at one address, without those that have left."""
        things = self.objects.setdefault(path, {})
        for id_ in [i for i, t in things.items() if t.leaves is not None and t.leaves <= time.time()]:
            del things[id_]
        return things

    def add(self, path: str, id_: str, body: Json) -> StoredObject:
        """Keeps a new object."""
        new = StoredObject(body, time.time())
        self.of(path)[id_] = new
        return new

    def is_older(self, stored: StoredObject, seconds: float) -> bool:
        """Whether an object has been there so long."""
        return time.time() - stored.born >= seconds

    def new_id(self, prefix: str) -> str:
        """An id that nobody has."""
        return prefix + secrets.token_hex(3)

    def save(self) -> None:
        """Writes everything down, where it is to outlive the process."""
        if self.places.state:
            document = {
                path: {i: asdict(t) for i, t in things.items()} for path, things in self.objects.items()
            }
            write_private(self.places.state, json.dumps(document))

    def recall(self) -> None:
        """Reads what an earlier process wrote down."""
        if self.places.state and self.places.state.is_file():
            document = json.loads(self.places.state.read_text())
            self.objects = {
                p: {i: StoredObject(**t) for i, t in things.items()} for p, things in document.items()
            }
