"""Snowflake as a deployment asks it: each statement in a role, and its errors are the reconciler's."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from frazil.errors import ConfigureError, FrazilError, MissingError, NotAllowedError, RepairError
from frazil.publishing.snowflake.login import connection_arguments, log_in
from frazil.quoting import double_quoted
from frazil.settings.profile import Settings
from frazil_cloud.key_pair import KeyPair
from frazil_cloud.resource import AnswerLost, NotYet, RefusedYet, Throttled
from frazil_cloud.secrets import SecretStore

if TYPE_CHECKING:
    from snowflake.connector import SnowflakeConnection

_SECONDS = 60  # the connector itself repeats what got no answer, under the same id
_FIRST, _LONGEST = 0.1, 5.0  # seconds until it does; its own first is a second
_MISSING = (2003, 2043)
_NOT_ALLOWED = (3001, 3013)
_NO_WAREHOUSE = 606
_SOON = {
    3167: RefusedYet,  # assuming the role at S3
    4124: RefusedYet,  # assuming the role at Glue
    4109: NotYet,  # the catalog has no such namespace
    4140: NotYet,  # the catalog does not answer
    94400: NotYet,  # the catalog has no such table
    3540: NotYet,  # still used
}
"""Refusals that waiting may end: IAM is seconds late, and Tableflow's tables take a while."""


@dataclass(frozen=True)
class Login:
    """Who logs in, and where."""

    settings: Settings
    private_key: bytes | None = field(default=None, repr=False)  # in place of the settings' file


class Snowflake:
    """One identity at Snowflake, for all threads; it logs in when first asked, once for each role at a time.

    Args:
        find: Finds out who logs in, when it is first needed.
        seconds: How long a statement may take.
    """

    def __init__(self, find: Callable[[], Login], seconds: int = _SECONDS) -> None:
        self._find, self._seconds = find, seconds
        self._idle: dict[str | None, list[SnowflakeConnection]] = {}
        self._lock = threading.Lock()

    @cached_property
    def login(self) -> Login:
        """Who it is."""
        return self._find()

    def query(self, sql: str, *, role: str | None = None) -> list[tuple[Any, ...]]:
        """All rows of a statement, carried out in a role; by default in the user's own.

        Raises:
            NotYet: Waiting may fix it.
            NotAllowedError: The role may not do it.
            MissingError: What the statement names is not there, or hidden from the role.
        """
        return self._asked(sql, role)[1]

    def shown(self, sql: str, *, role: str | None = None) -> list[dict[str, Any]]:
        """The rows of SHOW or DESC, by names of columns in lower case."""
        columns, rows = self._asked(sql, role)
        return [dict(zip(columns, row, strict=True)) for row in rows]

    def as_user(self, user: str, pair: KeyPair) -> Snowflake:
        """The same account, as another user with its own role and warehouse."""
        login = {"user": user, "login_role": None, "warehouse": None, "token": None}
        settings = self.login.settings.with_changes(snowflake=login)
        return Snowflake(lambda: Login(settings, pair.private_der), self._seconds)

    def close(self) -> None:
        """Logs out."""
        with self._lock:
            idle = [each for of_role in self._idle.values() for each in of_role]
            self._idle.clear()
        for connection in idle:
            connection.close()

    def _asked(self, sql: str, role: str | None) -> tuple[list[str], list[tuple[Any, ...]]]:
        who = f"user {self.login.settings.snowflake.user}, role {role or 'its own'}"
        where = f"{who}: {' '.join(sql.split()[:4])}"  # the rest may hold a secret
        with _refusals(where, role), self._session(role) as connection, connection.cursor() as cursor:
            cursor.execute(sql, timeout=self._seconds)
            columns = [column.name.lower() for column in cursor.description]
            return columns, [tuple(row) for row in cursor.fetchall()]

    @contextmanager
    def _session(self, role: str | None) -> Iterator[SnowflakeConnection]:
        """A connection of the role; one that met more than a refusal is not used again."""
        from snowflake.connector.errors import ProgrammingError

        with self._lock:
            idle = self._idle.setdefault(role, [])
            connection = idle.pop() if idle else None
        connection = connection or self._connect(role)
        try:
            yield connection
        except ProgrammingError:
            self._give_back(connection, role)
            raise
        except BaseException:
            connection.close()
            raise
        self._give_back(connection, role)

    def _give_back(self, connection: SnowflakeConnection, role: str | None) -> None:
        with self._lock:
            self._idle.setdefault(role, []).append(connection)

    def _connect(self, role: str | None) -> SnowflakeConnection:
        return log_in(self._arguments | ({"role": role} if role else {}))

    @cached_property
    def _arguments(self) -> dict[str, Any]:
        """The key is decoded once: a tenth of a second each time, and each role logs in by itself."""
        from cryptography.hazmat.primitives.serialization import load_der_private_key

        known = connection_arguments(self.login.settings, self.login.private_key)
        if isinstance(key := known.get("private_key"), bytes):
            known["private_key"] = load_der_private_key(key, None)
        return {**known, "network_timeout": self._seconds, "backoff_policy": _pauses}


def _pauses() -> Iterator[float]:
    """Seconds between two tries of the connector, each twice the one before."""
    pause = _FIRST
    while True:
        yield pause
        pause = min(2 * pause, _LONGEST)


def administrator(settings: Settings, secrets: SecretStore) -> Snowflake:
    """Who makes deployments: the user of the admin secret, else that of the settings."""
    return Snowflake(lambda: _administrator(settings, secrets))


def _administrator(settings: Settings, secrets: SecretStore) -> Login:
    name = settings.snowflake.admin_secret
    if name is None:
        return Login(settings)
    stored = secrets.get(name)
    if stored is None:
        raise MissingError(
            "There is no secret of Snowflake's administrator.",
            where=name,
            meaning="Nothing was changed.",
            todo="Name it by --admin-service-user-secrets-root-path, or set FRAZIL_SNOWFLAKE__ADMIN_SECRET.",
        )
    number = stored.get("active_key_number", "1")
    user = {"user": stored.get("admin_service_user"), "account": stored.get("snowflake_account_identifier")}
    settings = settings.with_changes(snowflake={k: v for k, v in user.items() if v} | {"token": None})
    pair = KeyPair.from_base64(stored.get(f"snowflake_rsa_private_key_{number}_pem", ""))
    return Login(settings, pair.private_der)


@contextmanager
def _refusals(where: str, role: str | None) -> Iterator[None]:
    from snowflake.connector.errors import Error

    try:
        yield
    except Error as e:
        raise _translated(e, f"{where}: {e.msg}", role) from None


def _translated(error: Any, where: str, role: str | None) -> Exception:
    from snowflake.connector.errors import (
        DatabaseError,
        OperationalError,
        ProgrammingError,
        TooManyRequests,
    )

    if isinstance(error, TooManyRequests):
        return Throttled(where)
    if isinstance(error, ProgrammingError):
        return _refused(error.errno, where, role)
    if isinstance(error, DatabaseError) and not isinstance(error, OperationalError):
        return _not_logged_in(error.errno, where, role)
    return AnswerLost(where)


def _refused(number: int | None, where: str, role: str | None) -> Exception:
    if soon := _SOON.get(number or 0):
        return soon(where)
    if number in _NOT_ALLOWED or number == _NO_WAREHOUSE:
        return NotAllowedError(
            f"Snowflake does not allow {f'the role {role}' if role else 'this user'} to do it.",
            where=where,
            meaning="Nothing was changed.",
            todo="Grant what the statement needs; docs/cloud.md says which roles the administrator has.",
        )
    kind: type[FrazilError] = MissingError if number in _MISSING else RepairError
    return kind(
        "Snowflake refused a statement.",
        where=where,
        meaning="Nothing was changed by it.",
        todo="Fix what the message names, then run it again.",
    )


def _not_logged_in(number: int | None, where: str, role: str | None) -> FrazilError:
    if number == 390189 and role:
        user = where.removeprefix("user ").partition(",")[0]
        return NotAllowedError(
            f"The user may not take the role {role}.",
            where=where,
            meaning="Nothing was changed.",
            todo=f"GRANT ROLE {double_quoted(role)} TO USER {double_quoted(user.upper())};",
        )
    return ConfigureError(
        "Snowflake refuses the login.",
        where=where,
        meaning="Nothing was changed.",
        todo="Check account, user and key: DESC USER shows the fingerprints that Snowflake knows.",
    )
