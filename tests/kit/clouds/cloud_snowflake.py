"""The Snowflake stand-in of the clouds as tests have it: grants count, and roles of AWS are assumed."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from snowflake.connector.errors import DatabaseError

from kit.stack.standin import KeyPair, StandIn

NOWHERE = "http://127.0.0.1:9"


@dataclass(frozen=True)
class User:
    """Somebody at the stand-in."""

    standin: StandIn
    name: str
    key: KeyPair

    def says(self, *statements: str, role: str | None = None) -> str:
        """What the last statement answers, in short: `ok`, or Snowflake's number and SQL state."""
        how: dict[str, Any] = {"user": self.name, "private_key": self.key.private_der}
        try:
            with self.standin.connect(**how, **({"role": role} if role else {})) as connection:
                for statement in statements:
                    connection.cursor().execute(statement).fetchall()
        except DatabaseError as e:
            return f"{e.errno:06d} {e.sqlstate or ''}".strip()
        return "ok"


class CloudSnowflake(StandIn):
    """The stand-in, where each role may do what it was granted."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        super().__init__(folder, environment)
        self._sessions: dict[str, Any] = {}
        self._until_the_end = ExitStack()

    def stop(self, how: int = signal.SIGTERM) -> None:
        self._until_the_end.close()
        super().stop(how)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def as_(self, role: str, *statements: str) -> list[tuple[Any, ...]]:
        """The administrator in a role; the rows of the last statement."""
        if role not in self._sessions:
            self._sessions[role] = self._until_the_end.enter_context(self.connect(role=role))
        with self._sessions[role].cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            return list(cursor.fetchall())

    def user(self, name: str, *roles: str, **properties: str) -> User:
        """A new user with roles, the first of them its own."""
        user = User(self, name, self.key)  # a pair of its own would be a second's work
        options = {"DEFAULT_ROLE": roles[0] if roles else "PUBLIC", **properties}
        listed = " ".join(f"{option} = '{value}'" for option, value in options.items())
        self.as_(
            "ACCOUNTADMIN",
            f"create user {name} type = service rsa_public_key = '{user.key.public}' {listed}",
            *(f"grant role {role} to user {name}" for role in roles),
        )
        return user


@contextmanager
def cloud_snowflake(folder: Path, aws: str | None = None) -> Iterator[CloudSnowflake]:
    """The stand-in on a free port; without an AWS it reads no tables."""
    environment = {
        "FRAZIL_SNOWFLAKE_STRICT": "true",
        "FRAZIL_GLUE_ENDPOINT": aws or NOWHERE,
        "FRAZIL_S3_ENDPOINT": aws or NOWHERE,
        "FRAZIL_SNOWFLAKE_PACE": "0.02",  # a minute between two refreshes is a second here
        "AWS_ACCESS_KEY_ID": "none",
        "AWS_SECRET_ACCESS_KEY": "none",
        **({"FRAZIL_SNOWFLAKE_AWS": aws} if aws else {}),
    }
    with CloudSnowflake(folder, environment) as standin:
        yield standin
