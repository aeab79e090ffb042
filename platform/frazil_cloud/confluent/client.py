"""A client of Confluent Cloud's planes: each has an address, a key and a shape of errors of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

import requests

from frazil.errors import ConfigureError
from frazil.settings.systems.confluent import ConfluentSettings
from frazil_cloud.confluent.plane import Json, Plane, Soon, is_400, never
from frazil_cloud.confluent.refusals import (
    Settled,
)
from frazil_cloud.resource import NeedMissingError, NotYet
from frazil_cloud.secrets import SecretStore

_SYNCED = timedelta(minutes=30)  # after which each plane knows a key
_MANAGEMENT = "the management API"
_ENDPOINT = "https://api.confluent.cloud"
_FLINK = "https://flink.{region}.aws.confluent.cloud"


@dataclass(frozen=True)
class Confluent:
    """All planes of one organization."""

    settings: ConfluentSettings

    @cached_property
    def session(self) -> requests.Session:
        """Connections that all planes share."""
        return requests.Session()

    @property
    def endpoint(self) -> str:
        """Where the management API and Tableflow are."""
        return (self.settings.endpoint or _ENDPOINT).rstrip("/")

    @cached_property
    def cloud(self) -> Plane:
        """The management API, asked with the settings' key.

        Raises:
            ConfigureError: The settings have none.
        """
        key, secret = self.settings.api_key, self.settings.api_secret
        if key is None or secret is None:
            raise ConfigureError(
                "There is no key for Confluent Cloud.",
                meaning="Nothing was asked.",
                todo="Set FRAZIL_CONFLUENT__API_KEY and FRAZIL_CONFLUENT__API_SECRET: a Cloud API key.",
            )
        pair = (key.get_secret_value(), secret.get_secret_value())
        return Plane(_MANAGEMENT, self.endpoint, pair, self.session, is_ours=True)

    @cached_property
    def organization(self) -> str:
        """The name of the organization of the settings' key, with which those of all its objects begin."""
        for body in self.cloud.every("/org/v2/organizations"):
            return str(body["metadata"]["resource_name"])
        raise NotYet("Confluent names no organization")

    def plane(self, name: str, base: str, key: tuple[str, str], settled: Settled | None = None) -> Plane:
        """Another plane, with a key that is for it."""
        return Plane(name, base.rstrip("/"), key, self.session, settled=settled)

    def tableflow(self, key: tuple[str, str], settled: Settled | None = None) -> Plane:
        """Tableflow's."""
        return self.plane("Tableflow", self.endpoint, key, settled)

    def flink(self, region: str, key: tuple[str, str], settled: Settled | None = None) -> Plane:
        """Flink's, of a region; another cloud than Confluent's has it where all the rest is.

        A region that does not know a new key yet answers 400, 401 or 404, for minutes. To one that it has
        long known a 400 says that the request is wrong.
        """
        base = (self.settings.endpoint or _FLINK.format(region=region)).rstrip("/")
        soon: Soon = never if settled else is_400
        return Plane("Flink", base, key, self.session, soon=soon, settled=settled)


def stored_pair(
    secrets: SecretStore, known: Mapping[str, Mapping[str, Any]], address: str
) -> tuple[str, str]:
    """A key and its secret, from the store.

    Raises:
        NeedMissingError: The key is not there, or nobody has its secret.
    """
    facts = known[address]
    stored = secrets.get(facts["secret"]) if facts["stored"] else None
    if stored is None:
        raise NeedMissingError(address)
    return pair_of(stored)


def settled_key(known: Mapping[str, Mapping[str, Any]], address: str) -> Settled | None:
    """A key that was made long ago; None where it is young, or not there."""
    facts = known.get(address, {})
    created = facts.get("created")
    if not created or datetime.now(UTC) - datetime.fromisoformat(created) < _SYNCED:
        return None
    return Settled(str(facts["secret"]), address.rpartition("/")[2])


def pair_of(stored: Mapping[str, str]) -> tuple[str, str]:
    """A key and its secret out of any secret of cloud.md's forms."""
    if info := stored.get("schema.registry.basic.auth.user.info"):
        key, _, secret = info.partition(":")
        return key, secret
    if "sasl.username" in stored:
        return stored["sasl.username"], stored["sasl.password"]
    return stored["api.key"], stored["api.key.secret"]


def awaited(body: Json, *phases: str) -> str:
    """The phase of an object; one that is on its way raises NotYet."""
    phase = str(body.get("status", {}).get("phase", ""))
    if phase in phases:
        raise NotYet(f"it is {phase}")
    return phase
