"""Keys under rotation at the stand-ins: what turns them, and clients that use them all the while."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from frazil.cloud.aws.client import Aws
from frazil.cloud.key_pair import KeyPair, secret_values
from frazil.cloud.resource import RefusedYet
from frazil.cloud.rotation.rsa import RsaKeys
from frazil.cloud.rotation.snowflake_user import ServiceUser
from frazil.cloud.rotation.staged import StagedSecret
from frazil.cloud.rotation.turn import Pace
from frazil.settings.snowflake import SnowflakeSettings
from kit.cloud_aws import CloudAws
from kit.standin import StandIn

T = TypeVar("T")

AT_ONCE = Pace(every=timedelta(days=30), rest=timedelta(0), patience=0.5)
SECRET = "/snowflake_resource/lab"


@dataclass
class Administrator:
    """Speaks to the stand-in as its first user, and is refused where a test wants it."""

    connection: Any
    refuses: str = ""

    def query(self, sql: str, *, role: str | None = None) -> list[tuple[Any, ...]]:
        if self.refuses and self.refuses in sql:
            raise RefusedYet(f"not now: {self.refuses}")
        with self.connection.cursor() as cursor:
            return list(cursor.execute(sql).fetchall())


@dataclass
class RsaLab:
    """One service user with a key in slot 1, and its secret."""

    standin: StandIn
    administrator: Administrator
    aws: CloudAws
    user: str
    secret: str = SECRET
    first: KeyPair = field(default_factory=KeyPair.new)

    def __post_init__(self) -> None:
        self.administrator.query(
            f"create user \"{self.user}\" type = service rsa_public_key = '{self.first.public_line}'"
        )
        told = {"snowflake_service_user": self.user, "active_key_number": "1", **secret_values(1, self.first)}
        self.store.create_secret(Name=self.secret, SecretString=json.dumps(told))

    @property
    def store(self) -> Any:
        return self.aws.client("secretsmanager")

    @property
    def service_user(self) -> ServiceUser:
        where: dict[str, Any] = {"host": "127.0.0.1", "port": self.standin.port, "protocol": "http"}
        return ServiceUser(self.administrator, SnowflakeSettings(account="frazil", **where), self.user)

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


def later(**time_passed: float) -> Callable[[], datetime]:
    """A clock that is ahead."""
    return lambda: datetime.now(UTC) + timedelta(**time_passed)


@dataclass
class Load:
    """What clients met."""

    served: int = 0
    refused: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def met(self, *, served: bool) -> None:
        with self._lock:
            self.served += served
            self.refused += not served


@contextmanager
def under_load(client: Callable[[], Callable[[], bool]], clients: int = 2) -> Iterator[Load]:
    """Clients that log in again and again, as long as the context.

    Args:
        client: Makes one; each call of it is a login, and says whether it was let in.
    """
    load, stop = Load(), threading.Event()

    def work() -> None:
        log_in = client()
        while not stop.is_set():
            load.met(served=log_in())

    threads = [threading.Thread(target=work) for _ in range(clients)]
    for thread in threads:
        thread.start()
    try:
        yield load
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def kept(read: Callable[[], T], seconds: float) -> Callable[[], T]:
    """A secret as clients have it: read, and used for a while."""
    told: list[tuple[float, T]] = []

    def now() -> T:
        if not told or time.monotonic() - told[-1][0] > seconds:
            told.append((time.monotonic(), read()))
        return told[-1][1]

    return now
