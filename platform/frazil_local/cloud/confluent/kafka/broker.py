"""A real Kafka behind the stand-in's clusters: keys are its users, and roles and ACLs are its ACLs.

All clusters share the broker. What an account may, each of its keys may; an administrator of the cluster may
do everything; a key that was revoked may do nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from frazil.errors import FrazilError
from frazil.kafka.clients import client_config
from frazil.settings.profile import Settings
from frazil_local.cloud.confluent.access import ADMINS, cluster_crn, has_role
from frazil_local.cloud.confluent.flink.job import Jobs, begun, running, selection_of
from frazil_local.cloud.confluent.kafka.users import users
from frazil_local.cloud.confluent.organization import CLUSTERS, KEYS, Json, Organization
from frazil_local.cloud.confluent.refusals import Refusal
from frazil_local.generators.datagen import STOCK_TRADES, USERS
from frazil_local.generators.generator import generate, provide

_SECONDS = 20.0
_SPENT = "/_spent"
_QUICKSTARTS = {"STOCK_TRADES": STOCK_TRADES, "USERS": USERS}
_KINDS = {
    "TOPIC": ResourceType.TOPIC, "GROUP": ResourceType.GROUP, "CLUSTER": ResourceType.BROKER,
    "TRANSACTIONAL_ID": ResourceType.TRANSACTIONAL_ID,
}  # fmt: skip
_PATTERNS = {"LITERAL": ResourcePatternType.LITERAL, "PREFIXED": ResourcePatternType.PREFIXED}


class KafkaBroker:
    """The broker, asked as its administrator.

    Args:
        settings: How administrators get in, and to the registry.
        bootstrap: Where the listener of keys is.
        seed: What the listener's users follow from.
    """

    protocol = "SASL_PLAINTEXT"

    def __init__(self, settings: Settings, bootstrap: str, seed: str) -> None:
        self.bootstrap = bootstrap
        self._settings, self._users = settings, users(seed)
        self._client = AdminClient({**client_config(settings), "log_level": "0"})
        self._settled: frozenset[AclBinding] | None = None
        self._running: dict[str, threading.Event] = {}
        self._jobs = Jobs(settings)

    def next_key(self, organization: Organization) -> tuple[str, str]:
        """A user that nobody ever had."""
        spent = organization.of(_SPENT)
        free = next(((name, secret) for name, secret in self._users.items() if name not in spent), None)
        if free is None:
            raise Refusal(402, "all keys that the broker knows were given out: `frazil down --wipe`")
        organization.add(_SPENT, free[0], {})
        return free

    def make_topic(self, name: str, partitions: int, configs: dict[str, str]) -> None:
        """Makes a topic; one that another cluster left is taken."""
        topic = NewTopic(name, partitions, 1, config={k: v for k, v in configs.items() if v})
        _done(self._client.create_topics([topic])[name], KafkaError.TOPIC_ALREADY_EXISTS)

    def drop_topic(self, name: str) -> None:
        """Drops a topic, if it is there."""
        _done(self._client.delete_topics([name])[name], KafkaError.UNKNOWN_TOPIC_OR_PART)

    def settle(self, organization: Organization) -> None:
        """Makes Kafka's ACLs what the organization says, if that changed; has its statements run."""
        self._jobs.settle(running(organization))
        wanted = frozenset(_all_bindings(organization, self._users))
        if wanted == self._settled:
            return
        there = frozenset(
            each for each in self._acls() if each.principal.removeprefix("User:") in self._users
        )
        for made in self._client.create_acls(list(wanted - there)).values() if wanted - there else ():
            _done(made)
        gone = [_filter_of(binding) for binding in there - wanted]
        for dropped in self._client.delete_acls(gone).values() if gone else ():
            _done(dropped)
        self._settled = wanted

    def trade(self, organization: Organization, connector: str, topic: str, quickstart: str) -> None:
        """Produces records, as many as the delays say, in a thread of its own."""
        self.quit(connector)
        stop = self._running[connector] = threading.Event()
        delays = organization.delays
        provide(_QUICKSTARTS[quickstart], topic, self._settings)  # what follows finds its schema
        arguments = {"topic": topic, "count": delays.trades, "rate": delays.rate, "stop": stop}
        generator = _QUICKSTARTS[quickstart]
        name = f"connector {connector}"
        threading.Thread(
            target=generate, args=(generator, self._settings), kwargs=arguments, daemon=True, name=name
        ).start()  # fmt: skip

    def quit(self, connector: str) -> None:
        """Produces no more."""
        if running := self._running.pop(connector, None):
            running.set()

    def begin(self, sql: str) -> str:
        """Registers the schema of what a statement makes; one that is beyond what is played makes nothing."""
        selection = selection_of(sql)
        try:
            return "" if selection is None else begun(selection, self._settings)
        except (ValueError, FrazilError) as e:
            return str(e)

    def _acls(self) -> list[AclBinding]:
        bindings: list[AclBinding] = self._client.describe_acls(_EVERYTHING).result(_SECONDS)
        return bindings


_EVERYTHING: Any = AclBindingFilter(
    ResourceType.ANY, None, ResourcePatternType.ANY, None, None, AclOperation.ANY, AclPermissionType.ANY  # type: ignore[arg-type]
)  # fmt: skip


def _done(future: Future[Any], *fine: int) -> None:
    try:
        future.result(_SECONDS)
    except KafkaException as e:
        if e.args[0].code() not in fine:
            raise Refusal(500, f"Kafka: {e.args[0].str()}") from None


def _all_bindings(organization: Organization, known: dict[str, str]) -> Iterator[AclBinding]:
    for key, stored in organization.of(KEYS).items():
        if key in known and stored.body["spec"]["resource"]["id"] in organization.of(CLUSTERS):
            yield from _bindings(organization, key, stored.body["spec"])


def _bindings(organization: Organization, key: str, spec: Json) -> Iterator[AclBinding]:
    """What one key may."""
    owner, cluster = spec["owner"]["id"], spec["resource"]["id"]
    if has_role(organization, owner, ADMINS, cluster_crn(organization, cluster)):
        for kind in ("TOPIC", "GROUP", "TRANSACTIONAL_ID"):
            yield _binding(key, kind, "*", "ALL")
        yield _binding(key, "CLUSTER", "kafka-cluster", "ALL")
    for stored in organization.of(f"/kafka/v3/clusters/{cluster}/acls").values():
        acl = stored.body
        if acl["principal"] == f"User:{owner}":
            yield _binding(
                key, acl["resource_type"], acl["resource_name"], acl["operation"], acl["pattern_type"]
            )  # fmt: skip


def _binding(key: str, kind: str, name: str, operation: str, pattern: str = "LITERAL") -> AclBinding:
    return AclBinding(
        _KINDS[kind], name, _PATTERNS[pattern], f"User:{key}", "*",
        AclOperation[operation], AclPermissionType.ALLOW,
    )  # fmt: skip


def _filter_of(binding: AclBinding) -> AclBindingFilter:
    return AclBindingFilter(
        binding.restype, binding.name, binding.resource_pattern_type, binding.principal, binding.host,
        binding.operation, binding.permission_type,
    )  # fmt: skip
