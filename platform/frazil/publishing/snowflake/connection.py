"""Talking to Snowflake: logging in with a key or a token, sending statements, and what its refusals mean."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

from frazil.deadline import call_all
from frazil.errors import (
    MALFORMED,
    ConfigureError,
    FrazilError,
    MissingError,
    NotAllowedError,
    PartDownError,
    RepairError,
)
from frazil.settings.profile import Settings
from frazil.settings.secret import read_anew, revealed
from frazil.settings.snowflake import SnowflakeSettings

if TYPE_CHECKING:
    from snowflake.connector import SnowflakeConnection

_LOGIN_SECONDS = 10
_NETWORK_SECONDS = 120

_MEANING = "The Iceberg table is right; Snowflake shows what it showed before."

_UNKNOWN = "The Iceberg table is right; Snowflake shows it as it is now, or what it showed before."
"""A statement whose answer was lost may have been carried out."""

_MISSING = (2003, 2043)  # object does not exist or not authorized
_NOT_ALLOWED = (3001, 3013)
_EQUALITY_DELETES = 91968

_REFUSALS: dict[int | None, tuple[type[FrazilError], str, str]] = {
    _EQUALITY_DELETES: (
        RepairError,
        "Snowflake does not read equality deletes.",
        "Compact the table, and write its deletes as position deletes.",
    ),
    **dict.fromkeys(_MISSING, (
        MissingError,
        "Snowflake lacks something that the table needs, or hides it from this user.",
        "`frazil sync` makes what is missing; a role must be made by an administrator.",
    )),
    **dict.fromkeys(_NOT_ALLOWED, (
        NotAllowedError,
        "Snowflake does not allow this user to do it.",
        "Volumes and integrations need ACCOUNTADMIN, or CREATE EXTERNAL VOLUME and CREATE INTEGRATION on the "
        "account.",
    )),
}  # fmt: skip
"""By Snowflake's number of the error: ours, what happened, and what to do."""

_ANY_OTHER = (
    RepairError, "Snowflake refused a statement.", "Mend what the message names, then `frazil sync`."
)  # fmt: skip

_LOGIN_REFUSALS: dict[int | None, str] = {
    390144: "Check FRAZIL_SNOWFLAKE__ACCOUNT, FRAZIL_SNOWFLAKE__USER and FRAZIL_SNOWFLAKE__PRIVATE_KEY...; "
    "DESC USER shows the fingerprints of the keys that Snowflake knows.",
    390189: "Grant the role of FRAZIL_SNOWFLAKE__LOGIN_ROLE to the user, or name another one.",
    390303: "Check FRAZIL_SNOWFLAKE__TOKEN, and that a security integration trusts who made it.",
    390318: "Renew FRAZIL_SNOWFLAKE__TOKEN: it has expired.",
}
"""By Snowflake's number of the error: what to do."""


def connection_arguments(settings: Settings, private_key: bytes | None = None) -> dict[str, Any]:
    """What `snowflake.connector.connect` takes.

    Args:
        settings: Where Snowflake is, and who logs in.
        private_key: A key as DER, in place of what the settings prove themselves with.
    """
    if settings.snowflake.account is None:
        raise MissingError(
            "The account of Snowflake is not said.",
            where="snowflake.account",
            todo="Set FRAZIL_SNOWFLAKE__ACCOUNT to <organization>-<account>.",
        )
    given: dict[str, Any] = {
        "account": settings.snowflake.account,
        "user": settings.snowflake.user,
        "role": settings.snowflake.login_role,
        "warehouse": settings.snowflake.warehouse,
        "login_timeout": _LOGIN_SECONDS,
        "network_timeout": _NETWORK_SECONDS,
        # Otherwise each login asks three clouds' metadata addresses for half a second where it runs.
        "platform_detection_timeout_seconds": 0.0,
        "session_parameters": {"CLIENT_OUT_OF_BAND_TELEMETRY_ENABLED": False},
        **(_key(private_key) if private_key else _proof(settings.snowflake)),
        **_stand_in(settings),
    }
    return {name: value for name, value in given.items() if value is not None}


@contextmanager
def open_snowflake(settings: Settings) -> Iterator[SnowflakeConnection]:
    """A connection that closes with the context."""
    with connection_errors(settings):
        connection = _logged_in(settings)
    try:
        yield connection
    finally:
        connection.close()


def log_in(arguments: Mapping[str, Any]) -> SnowflakeConnection:
    """A connection within the limit of a login: the connector's tries last 35 s where that is 10.

    Raises:
        OperationalError: None came in time; one that comes later is closed.
        DatabaseError: What the connector says.
    """
    from snowflake.connector import connect
    from snowflake.connector.errors import OperationalError

    made: list[SnowflakeConnection] = []
    late = Event()

    def login() -> None:
        connection = connect(**arguments)
        if late.is_set():
            connection.close()
        made.append(connection)

    error = call_all({"login": login}, _LOGIN_SECONDS)["login"]
    if made:
        return made[0]
    late.set()
    if isinstance(error, TimeoutError):
        raise OperationalError("no login in time") from None
    assert error, "a connection, or why there is none"
    raise error


def _logged_in(settings: Settings) -> SnowflakeConnection:
    """A connection by the settings; by newer ones where a key or a token was replaced."""
    from snowflake.connector.errors import DatabaseError

    used = connection_arguments(settings)
    try:
        return log_in(used)
    except DatabaseError:
        told = settings.snowflake
        read_anew(told.private_key, told.private_key_passphrase, told.token)
        if (now := connection_arguments(settings)) == used:
            raise
    return log_in(now)


@contextmanager
def connection_errors(settings: Settings) -> Iterator[None]:
    """Turns the connector's errors of logging in, and of losing the server, into clear ones."""
    from snowflake.connector.errors import DatabaseError, HttpError, OperationalError, ProgrammingError

    # The connector lets through what its own copy of requests says of an answer that is cut in its middle.
    from snowflake.connector.vendored.requests.exceptions import RequestException

    try:
        yield
    except ProgrammingError:
        raise
    except (OperationalError, HttpError, RequestException) as e:
        raise PartDownError(
            "Snowflake does not answer.",
            where=_endpoint(settings),
            meaning=_UNKNOWN,
            todo="`frazil status` shows what runs, `frazil up` starts what does not.",
        ) from e
    except DatabaseError as e:
        raise ConfigureError(
            "Snowflake refuses the login.",
            where=f"user {settings.snowflake.user} at {_endpoint(settings)}: {e.msg}",
            meaning="Nothing was changed.",
            todo=_LOGIN_REFUSALS.get(e.errno, "Check FRAZIL_SNOWFLAKE__ACCOUNT and FRAZIL_SNOWFLAKE__USER."),
        ) from e


def rows(connection: SnowflakeConnection, sql: str) -> list[tuple[Any, ...]]:
    """All rows of a statement's result."""
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return [tuple(row) for row in cursor.fetchall()]


def rows_or_none(connection: SnowflakeConnection, sql: str) -> list[tuple[Any, ...]] | None:
    """All rows, or None where the object that the statement names is not there."""
    from snowflake.connector.errors import ProgrammingError

    try:
        return rows(connection, sql)
    except ProgrammingError as e:
        if e.errno in _MISSING:
            return None
        raise


def columns_or_none(connection: SnowflakeConnection, sql: str) -> tuple[tuple[str, int], ...] | None:
    """Names and type codes of a result's columns, or None where its table or view can't be read."""
    from snowflake.connector.errors import ProgrammingError

    with connection.cursor() as cursor:
        try:
            cursor.execute(sql)
        except ProgrammingError:
            return None
        return tuple((column.name, column.type_code) for column in cursor.description)


@contextmanager
def statement_errors(where: str) -> Iterator[None]:
    """Turns refused statements into errors that say what to do."""
    from snowflake.connector.errors import ProgrammingError

    try:
        yield
    except ProgrammingError as e:
        kind, what, todo = _REFUSALS.get(e.errno, _ANY_OTHER)
        raise kind(what, where=f"{where}: {e.msg}", meaning=_MEANING, todo=todo) from e
    except MALFORMED as e:
        raise RepairError(
            "Snowflake answers in another form than is known.",
            where=f"{where}: {type(e).__name__}: {e!s:.300}",
            meaning=_MEANING,
            todo="Try again; if it stays so, Snowflake has changed what it says, and Frazil must learn it.",
        ) from e


def _proof(told: SnowflakeSettings) -> dict[str, Any]:
    """What proves who Frazil is: a token, or a key."""
    if told.token:
        return {"authenticator": "oauth", "token": revealed(told.token)}
    passphrase = revealed(told.private_key_passphrase)
    if told.private_key:
        return {
            "authenticator": "SNOWFLAKE_JWT",
            "private_key": _private_key(revealed(told.private_key) or "", passphrase),
        }
    return {
        "authenticator": "SNOWFLAKE_JWT",
        "private_key_file": _private_key_file(told.private_key_path, passphrase),
        "private_key_file_pwd": passphrase,
    }


def _private_key(text: str, passphrase: str | None) -> str:
    """A key as the connector takes it (base64 of DER), from its PEM or from the base64 of that."""
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
        load_pem_private_key,
    )

    try:
        pem = text.encode("ascii") if "-----" in text else base64.b64decode(text)
        key = load_pem_private_key(pem, passphrase.encode() if passphrase else None)
    except (ValueError, TypeError):
        raise _unreadable("FRAZIL_SNOWFLAKE__PRIVATE_KEY") from None
    der = key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
    return base64.b64encode(der).decode()


def _key(private_key: bytes) -> dict[str, Any]:
    return {"authenticator": "SNOWFLAKE_JWT", "private_key": private_key}


def _private_key_file(path: Path | None, passphrase: str | None) -> str:
    """The file, if its key can be read: the connector would say so in words of its own."""
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    if path is None or not path.is_file():
        raise MissingError(
            "There is no private key to log in to Snowflake with.",
            where=f"snowflake.private_key_path: {path or 'not set'}",
            meaning="Nothing was changed.",
            todo="`frazil up` makes one for the stand-in; for Snowflake, name the PEM file of your user.",
        )
    try:
        load_pem_private_key(path.read_bytes(), passphrase.encode() if passphrase else None)
    except (OSError, ValueError, TypeError) as e:
        raise _unreadable("FRAZIL_SNOWFLAKE__PRIVATE_KEY_PATH", f"{path}: {e}") from None
    return str(path)


def _unreadable(setting: str, where: str = "") -> ConfigureError:
    return ConfigureError(
        "The private key for Snowflake can't be read.",
        where=where or setting,
        meaning="Nothing was changed.",
        todo=f"Mend FRAZIL_SNOWFLAKE__PRIVATE_KEY_PASSPHRASE, or {setting}.",
    )


def _stand_in(settings: Settings) -> dict[str, Any]:
    if settings.snowflake.host is None:
        return {}
    return {
        "host": settings.snowflake.host,
        "port": settings.snowflake.port,
        "protocol": settings.snowflake.protocol,
    }


def _endpoint(settings: Settings) -> str:
    host = settings.snowflake.host or f"{settings.snowflake.account}.snowflakecomputing.com"
    return f"{settings.snowflake.protocol}://{host}:{settings.snowflake.port}"
