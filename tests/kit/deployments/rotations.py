"""Keys under rotation at the stand-ins: whose they are, and what turns them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from frazil.settings.profile import Settings
from frazil_cloud.aws.client import Aws
from frazil_cloud.confluent.accounts import keys
from frazil_cloud.key_pair import KeyPair, secret_values
from frazil_cloud.resource import RefusedYet
from frazil_cloud.rotation.api_keys import ApiKeys
from frazil_cloud.rotation.candidate import StagedSecret
from frazil_cloud.rotation.rsa import RsaKeys
from frazil_cloud.rotation.snowflake_user import ServiceUser
from frazil_cloud.rotation.turn import Pace
from frazil_cloud.snowflake.client import Login, Snowflake
from kit.clouds.cloud_aws import CloudAws
from kit.clouds.cloud_snowflake import CloudSnowflake
from kit.deployments.key_clients import logs_in, rsa_pair

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
        values = {
            "snowflake_service_user": self.user,
            "active_key_number": "1",
            **secret_values(1, self.first),
        }
        self.store.create_secret(Name=self.secret, SecretString=json.dumps(values))

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

    def stored_values(self) -> dict[str, str]:
        """What a client reads, which knows of no stages."""
        values: dict[str, str] = json.loads(self.store.get_secret_value(SecretId=self.secret)["SecretString"])
        return values

    def pair_in_use(self) -> KeyPair:
        return rsa_pair(self.stored_values())

    def logs_in(self, pair: KeyPair) -> bool:
        return logs_in(self.service_user, pair)


def turn_api_keys_as_the_sources_do(of_use: ApiKeys) -> None:
    """All keys destroyed before new ones are made, and the oldest is called active."""
    for old in keys.listed(of_use.confluent, of_use.duty, of_use.known):
        keys.revoke(of_use.confluent, old.id)
    made = [keys.make(of_use.confluent, of_use.duty, of_use.known) for _ in range(2)]
    keys.store(of_use.secrets.put, of_use.duty, made[0], of_use.known)


def later(**time_passed: float) -> Callable[[], datetime]:
    """A clock that is ahead."""
    return lambda: datetime.now(UTC) + timedelta(**time_passed)
