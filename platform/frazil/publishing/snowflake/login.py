"""Logging in to Snowflake: with a key or a token, as the settings say, and within a limit."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

from frazil.deadline import call_all
from frazil.errors import ConfigureError, MissingError
from frazil.settings.profile import Settings
from frazil.settings.secret import read_anew, revealed
from frazil.settings.systems.snowflake import SnowflakeSettings

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
    from snowflake.connector import SnowflakeConnection

_LOGIN_SECONDS = 10
_NETWORK_SECONDS = 120


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


def log_in(arguments: Mapping[str, Any]) -> SnowflakeConnection:
    """A connection within the limit of a login: the connector's tries last 35 s where that is 10.

    Several threads may log in with the same arguments: the connector writes what the server says of a session
    into the parameters that it was given, so each login gets its own.

    Raises:
        OperationalError: None came in time; one that comes later is closed.
        DatabaseError: What the connector says.
    """
    from snowflake.connector import connect
    from snowflake.connector.errors import OperationalError

    made: list[SnowflakeConnection] = []
    late = Event()
    own = {**arguments, "session_parameters": dict(arguments.get("session_parameters", {}))}

    def login() -> None:
        connection = connect(**own)
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


def connect_by(settings: Settings) -> SnowflakeConnection:
    """A connection by the settings; by newer ones where a key or a token was replaced."""
    from snowflake.connector.errors import DatabaseError

    access = settings.snowflake
    used = _secrets(access)
    try:
        return log_in(connection_arguments(settings))
    except DatabaseError:
        read_anew(access.private_key, access.private_key_passphrase, access.token)
        if _secrets(access) == used:
            raise
    return log_in(connection_arguments(settings))


def _secrets(access: SnowflakeSettings) -> tuple[str | None, ...]:
    return tuple(
        revealed(secret) for secret in (access.private_key, access.private_key_passphrase, access.token)
    )


def _proof(access: SnowflakeSettings) -> dict[str, Any]:
    """What proves who Frazil is: a token, or a key."""
    if access.token:
        return {"authenticator": "oauth", "token": revealed(access.token)}
    passphrase = revealed(access.private_key_passphrase)
    if access.private_key:
        key = _private_key(revealed(access.private_key) or "", passphrase)
    else:
        key = _private_key_in(access.private_key_path, passphrase)
    return {"authenticator": "SNOWFLAKE_JWT", "private_key": key}


def _private_key(text: str, passphrase: str | None) -> RSAPrivateKey | str:
    """A key from its PEM, or from the base64 of that."""
    try:
        return _loaded(text.encode("ascii") if "-----" in text else base64.b64decode(text), passphrase)
    except (ValueError, TypeError):
        raise _unreadable("FRAZIL_SNOWFLAKE__PRIVATE_KEY") from None


def _key(private_key: bytes) -> dict[str, Any]:
    return {"authenticator": "SNOWFLAKE_JWT", "private_key": private_key}


def _private_key_in(path: Path | None, passphrase: str | None) -> RSAPrivateKey | str:
    """The key of a file: what is wrong with it the connector would say in words of its own."""
    if path is None or not path.is_file():
        raise MissingError(
            "There is no private key to log in to Snowflake with.",
            where=f"snowflake.private_key_path: {path or 'not set'}",
            meaning="Nothing was changed.",
            todo="`frazil up` makes one for the stand-in; for Snowflake, name the PEM file of your user.",
        )
    try:
        return _loaded(path.read_bytes(), passphrase)
    except (OSError, ValueError, TypeError) as e:
        raise _unreadable("FRAZIL_SNOWFLAKE__PRIVATE_KEY_PATH", f"{path}: {e}") from None


@lru_cache(maxsize=2)  # after a rotation, the key before it as well
def _loaded(pem: bytes, passphrase: str | None) -> RSAPrivateKey | str:
    """A key as the connector takes it: RSA's as it is, others as base64 of DER.

    To load an RSA key is to look whether its primes are some: 30 ms or more. A process does so once, not at
    each connection, nor does the connector do it again.
    """
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
        load_pem_private_key,
    )

    key = load_pem_private_key(pem, passphrase.encode() if passphrase else None)
    if isinstance(key, RSAPrivateKey):
        return key
    der = key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
    return base64.b64encode(der).decode()


def _unreadable(setting: str, where: str = "") -> ConfigureError:
    return ConfigureError(
        "The private key for Snowflake can't be read.",
        where=where or setting,
        meaning="Nothing was changed.",
        todo=f"Fix FRAZIL_SNOWFLAKE__PRIVATE_KEY_PASSPHRASE, or {setting}.",
    )


def _stand_in(settings: Settings) -> dict[str, Any]:
    if settings.snowflake.host is None:
        return {}
    return {
        "host": settings.snowflake.host,
        "port": settings.snowflake.port,
        "protocol": settings.snowflake.protocol,
    }
