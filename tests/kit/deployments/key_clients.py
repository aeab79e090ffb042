"""Clients that use the keys of a deployment while these are replaced: by HTTP, by Kafka, at Snowflake."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Generic, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient

from frazil.kafka.clients import client_config
from frazil.settings.profile import Settings
from frazil_cloud.clouds import Clouds
from frazil_cloud.confluent.accounts import keys
from frazil_cloud.confluent.accounts.keys import KAFKA_USES, KeyDuty
from frazil_cloud.key_pair import KeyPair
from frazil_cloud.resource import Known, RefusedYet
from frazil_cloud.rotation.api_keys import ApiKeys
from frazil_cloud.rotation.snowflake_user import ServiceUser
from frazil_cloud.rotation.turn import Pace
from frazil_cloud.spec.confluent import KeyUse
from frazil_cloud.spec.deployment import DeploymentSpec
from kit.runs.waiting import wait_for

T = TypeVar("T")

KEPT = 2
"""Logins for which a client keeps the secret that it has read."""

Pair = tuple[str, str]
"""A key and its secret."""


@dataclass
class Client(Generic[T]):
    """Reads a secret, logs in with it a few times, and reads it again: as real ones do."""

    read: Callable[[], T]
    log_in: Callable[[T], bool]
    served: int = 0
    refused: int = 0

    def work(self, stop: threading.Event) -> None:
        secret = self.read()
        while not stop.is_set():
            if self.logins % KEPT == 0:
                secret = self.read()
            let_in = self.log_in(secret)
            self.served += let_in
            self.refused += not let_in

    @property
    def logins(self) -> int:
        return self.served + self.refused


@dataclass(frozen=True)
class Load:
    """Clients at work, each in a thread of its own."""

    clients: list[Client[Any]]
    threads: list[Future[None]]

    @property
    def served(self) -> int:
        return sum(client.served for client in self.clients)

    @property
    def refused(self) -> int:
        return sum(client.refused for client in self.clients)

    @property
    def logins(self) -> int:
        return self.served + self.refused

    def wait(self) -> None:
        """Until no client uses any more what it read before."""
        goals = [client.logins + 2 * KEPT for client in self.clients]
        wait_for(
            lambda: (
                any(thread.done() for thread in self.threads)
                or all(c.logins >= goal for c, goal in zip(self.clients, goals, strict=True))
            )
        )
        for thread in self.threads:
            if thread.done():
                thread.result()


@contextmanager
def under_load(read: Callable[[], T], log_in: Callable[[T], bool], clients: int = 2) -> Iterator[Load]:
    """Clients that log in again and again, as long as the context."""
    workers, stop = [Client(read, log_in) for _ in range(clients)], threading.Event()
    with ThreadPoolExecutor(clients) as pool:
        load = Load(workers, [pool.submit(client.work, stop) for client in workers])
        try:
            load.wait()
            yield load
            load.wait()
        finally:
            stop.set()
        for thread in load.threads:
            thread.result()


def pair_of(of_use: ApiKeys) -> Pair:
    """The API key that a secret holds."""
    pair = keys.pair_or_none(of_use.secrets.get(of_use.duty.secret))
    assert pair
    return pair


def calls(of_use: ApiKeys, pair: Pair) -> bool:
    """Whether the plane that a key is for takes it, by HTTP."""
    with suppress(RefusedYet):
        keys.prove(of_use.confluent, of_use.duty, of_use.known, pair)
        return True
    return False


def rsa_pair(values: Mapping[str, str]) -> KeyPair:
    """The key pair in use that a secret holds."""
    return KeyPair.from_base64(values[f"snowflake_rsa_private_key_{values['active_key_number']}_pem"])


def logs_in(user: ServiceUser, pair: KeyPair) -> bool:
    """Whether Snowflake lets a user in with a key pair."""
    with suppress(RefusedYet):
        user.prove(pair)
        return True
    return False


def refusal(settings: Settings, topic: str, value: bytes = b"x") -> int | None:
    """The error code that a producer gets for one record, or for its login."""
    answers: list[KafkaError | None] = []
    aside: list[KafkaError] = []
    producer = Producer({**client_config(settings), "log_level": "0", "error_cb": aside.append})
    producer.produce(topic, value, callback=lambda error, _: answers.append(error))
    wait_for(lambda: producer.flush(0.1) == 0 or refused_logins(aside))
    producer.purge()  # librdkafka would log in again and again, until the record's own time limit
    if not answers:
        return refused_logins(aside)[0]
    return answers[0].code() if answers[0] is not None else None


def refused_logins(aside: list[KafkaError]) -> list[int]:
    """The codes of logins that a broker refused: librdkafka reports these to its error callback alone."""
    return [each.code() for each in aside if each.code() == KafkaError._AUTHENTICATION]


def received(settings: Settings, topic: str, group: str, count: int) -> tuple[list[Message], int | None]:
    """The records that a consumer gets, and what ends it early."""
    aside: list[KafkaError] = []
    options = {
        "group.id": group,
        "auto.offset.reset": "earliest",
        "log_level": "0",
        "enable.auto.commit": False,
    }
    consumer = Consumer({**client_config(settings), **options, "error_cb": aside.append})
    consumer.subscribe([topic])
    messages: list[Message] = []

    def errors() -> list[int]:
        return refused_logins(aside) + [error.code() for each in messages if (error := each.error())]

    def is_enough() -> bool:
        messages.extend(consumer.consume(count, 0.5))
        return len(messages) >= count or bool(errors())

    wait_for(is_enough)
    consumer.close()
    return [each for each in messages if not each.error()], next(iter(errors()), None)


def topics_of(settings: Settings) -> Callable[[], list[str]]:
    """Asks which topics a client sees."""
    client = AdminClient({**client_config(settings), "log_level": "0"})
    return lambda: list(client.list_topics(timeout=30).topics)


def kafka_of(bootstrap: str, pair: Pair) -> Settings:
    """As a client with this key is told of the stand-in's Kafka."""
    login = {"username": pair[0], "password": pair[1], "mechanism": "PLAIN"}
    return Settings.load(kafka={"bootstrap_servers": bootstrap, "tls": False, **login})


@dataclass(frozen=True)
class KeyClients:
    """Clients of all keys of a deployment, by use and by how they come.

    Args:
        known: The facts of its objects.
        pace: Of a rotation; clients need none.
        topic: Which producers and consumers share.
    """

    spec: DeploymentSpec
    clouds: Clouds
    known: Known
    pace: Pace
    topic: str

    @cached_property
    def of_uses(self) -> dict[KeyUse, ApiKeys]:
        """Its API keys."""
        assert self.spec.confluent
        uses, clouds = self.spec.confluent.key_uses, self.clouds
        return {
            use: ApiKeys(clouds.confluent, clouds.secrets, KeyDuty(self.spec, use), self.known, self.pace)
            for use in uses
        }

    def secrets(self) -> dict[str, Any]:
        """What all secrets say now."""
        return {**{use: pair_of(keys) for use, keys in self.of_uses.items()}, "rsa": self._rsa().fingerprint}

    @contextmanager
    def at_work(self) -> Iterator[dict[str, Load]]:
        """All of them, as long as the context: one of each kind."""
        with ExitStack() as until_the_end:
            loads = {
                name: until_the_end.enter_context(under_load(read, log_in, clients=1))
                for name, (read, log_in) in self._all().items()
            }
            yield loads

    def _all(self) -> dict[str, tuple[Callable[[], Any], Callable[[Any], bool]]]:
        user = ServiceUser(self.clouds.snowflake, self.spec.names.snowflake("USER"))
        by_http = {
            f"{use} by HTTP": (partial(pair_of, keys), partial(calls, keys))
            for use, keys in self.of_uses.items()
        }
        by_kafka = {
            f"{use} by Kafka": (partial(pair_of, self.of_uses[use]), getattr(self, f"_{use}"))
            for use in KAFKA_USES
        }
        return {**by_http, **by_kafka, "rsa": (self._rsa, partial(logs_in, user))}

    def _rsa(self) -> KeyPair:
        values = self.clouds.secrets.get(self.spec.names.snowflake_secret)
        assert values
        return rsa_pair(values)

    def _app_manager(self, pair: Pair) -> bool:
        with suppress(KafkaException):
            return self.topic in topics_of(self._kafka(pair))()
        return False

    def _app_producer(self, pair: Pair) -> bool:
        return refusal(self._kafka(pair), self.topic, self._value) is None

    def _app_consumer(self, pair: Pair) -> bool:
        return received(self._kafka(pair), self.topic, self.spec.name, 1)[1] is None

    @cached_property
    def _value(self) -> bytes:
        """A record that is there: who reads the topic takes it."""
        pair = pair_of(self.of_uses["app_consumer"])
        (first, *_), _ = received(self._kafka(pair), self.topic, self.spec.name, 1)
        return first.value() or b""

    def _kafka(self, pair: Pair) -> Settings:
        return kafka_of(self.known["confluent/cluster"]["bootstrap"], pair)
