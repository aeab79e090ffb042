"""Keys under rotation at the stand-ins: what turns them, and clients that use them all the while."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Generic, TypeVar

from frazil.cloud.aws.client import Aws
from frazil.cloud.confluent import keys
from frazil.cloud.key_pair import KeyPair, secret_values
from frazil.cloud.resource import RefusedYet
from frazil.cloud.rotation.api_keys import ApiKeys
from frazil.cloud.rotation.candidate import StagedSecret
from frazil.cloud.rotation.rsa import RsaKeys
from frazil.cloud.rotation.snowflake_user import ServiceUser
from frazil.cloud.rotation.turn import Pace
from frazil.cloud.snowflake.client import Login, Snowflake
from frazil.settings.profile import Settings
from kit.cloud_aws import CloudAws
from kit.cloud_snowflake import CloudSnowflake
from kit.waiting import wait_for

T = TypeVar("T")

AT_ONCE = Pace(every=timedelta(days=30), rest=timedelta(0), patience=0.5, sync=0.5)
SECRET = "/snowflake_resource/lab"


class Administrator(Snowflake):
    """Who makes deployments; refused where a test wants it."""

    refuses = ""

    @classmethod
    def of(cls, standin: CloudSnowflake) -> Administrator:
        where = {"account": "frazil", "host": "127.0.0.1", "port": standin.port, "protocol": "http"}
        settings = Settings.load(snowflake={**where, "user": "boss"})
        return cls(lambda: Login(settings, standin.key.private_der))

    def query(self, sql: str, *, role: str | None = None) -> list[tuple[Any, ...]]:
        if self.refuses and self.refuses in sql:
            raise RefusedYet(f"not now: {self.refuses}")
        return super().query(sql, role=role)


@dataclass
class RsaLab:
    """One service user with a key in slot 1, and its secret."""

    administrator: Administrator
    aws: CloudAws
    user: str
    secret: str = SECRET
    first: KeyPair = field(default_factory=KeyPair.new)

    def __post_init__(self) -> None:
        self.administrator.query(
            f"create user \"{self.user}\" type = service rsa_public_key = '{self.first.public_line}'",
            role="USERADMIN",
        )
        told = {"snowflake_service_user": self.user, "active_key_number": "1", **secret_values(1, self.first)}
        self.store.create_secret(Name=self.secret, SecretString=json.dumps(told))

    @property
    def store(self) -> Any:
        return self.aws.client("secretsmanager")

    @property
    def service_user(self) -> ServiceUser:
        return ServiceUser(self.administrator, self.user)

    def keys(self, pace: Pace = AT_ONCE, **changed: Any) -> RsaKeys:
        user = self.service_user
        keys = RsaKeys(user, StagedSecret(Aws(self.aws.settings), self.secret), user.prove, pace)
        return replace(keys, **changed)

    def held(self) -> dict[str, str]:
        """What a client reads, which knows of no stages."""
        told: dict[str, str] = json.loads(self.store.get_secret_value(SecretId=self.secret)["SecretString"])
        return told

    def pair_in_use(self) -> KeyPair:
        held = self.held()
        return KeyPair.from_base64(held[f"snowflake_rsa_private_key_{held['active_key_number']}_pem"])

    def logs_in(self, pair: KeyPair) -> bool:
        with suppress(RefusedYet):
            self.service_user.prove(pair)
            return True
        return False


def pair_of(of_use: ApiKeys) -> tuple[str, str]:
    """The key that a secret holds."""
    held = keys.held_pair(of_use.secrets.get(of_use.duty.secret))
    assert held
    return held


def turn_api_keys_as_the_sources_do(of_use: ApiKeys) -> None:
    """All keys destroyed before new ones are made, and the oldest is called active."""
    for old in keys.listed(of_use.confluent, of_use.duty, of_use.known):
        keys.revoke(of_use.confluent, old.id)
    made = [keys.make(of_use.confluent, of_use.duty, of_use.known) for _ in range(2)]
    keys.store(of_use.secrets.put, of_use.duty, made[0], of_use.known)


def later(**time_passed: float) -> Callable[[], datetime]:
    """A clock that is ahead."""
    return lambda: datetime.now(UTC) + timedelta(**time_passed)


KEPT = 2
"""Logins for which a client keeps the secret that it has read."""


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
    """Clients at work."""

    clients: list[Client[Any]]

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
        wait_for(lambda: all(c.logins >= goal for c, goal in zip(self.clients, goals, strict=True)))


@contextmanager
def under_load(read: Callable[[], T], log_in: Callable[[T], bool], clients: int = 2) -> Iterator[Load]:
    """Clients that log in again and again, as long as the context."""
    load, stop = Load([Client(read, log_in) for _ in range(clients)]), threading.Event()
    with ThreadPoolExecutor(clients) as pool:
        working = [pool.submit(client.work, stop) for client in load.clients]
        try:
            load.wait()
            yield load
            load.wait()
        finally:
            stop.set()
        for each in working:
            each.result()
