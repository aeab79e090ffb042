"""A Snowflake user as rotation needs it: its two key slots, and whether a key logs in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from frazil.cloud.key_pair import KeyPair
from frazil.cloud.resource import AnswerLost, RefusedYet
from frazil.errors import MissingError
from frazil.quoting import double_quoted, literal
from frazil.settings.snowflake import SnowflakeSettings

_SECONDS = 10
_OPTIONS = {1: "RSA_PUBLIC_KEY", 2: "RSA_PUBLIC_KEY_2"}


class Says(Protocol):
    """Who speaks to Snowflake as the user's owner."""

    def query(self, sql: str, *, role: str | None = None) -> Iterable[Any]:
        """All rows of a statement."""


@dataclass(frozen=True)
class ServiceUser:
    """A user with two slots for public keys.

    Args:
        client: Speaks as who made the user.
        settings: Where Snowflake is.
        role: Owns the user; None: the client's own role.
    """

    client: Says = field(repr=False)
    settings: SnowflakeSettings
    name: str
    role: str | None = None

    def fingerprints(self) -> Mapping[int, str | None]:
        """The fingerprint of the key in each slot; None where it is empty."""
        rows = self.client.query(f"DESC USER {double_quoted(self.name)}", role=self.role)
        told = {str(row[0]): row[1] for row in rows}
        missing = [option for option in _OPTIONS.values() if f"{option}_FP" not in told]
        if missing:
            raise MissingError(f"Snowflake does not tell {missing[0]}_FP.", where=f"DESC USER {self.name}")
        found = {slot: told[f"{option}_FP"] for slot, option in _OPTIONS.items()}
        return {slot: None if text in (None, "", "null") else str(text) for slot, text in found.items()}

    def set(self, slot: int, public_line: str) -> None:
        """Puts a public key into a slot."""
        self._alter(f"SET {_OPTIONS[slot]} = {literal(public_line)}")

    def unset(self, slot: int) -> None:
        """Empties a slot."""
        self._alter(f"UNSET {_OPTIONS[slot]}")

    def prove(self, pair: KeyPair) -> None:
        """Logs in with a pair.

        Raises:
            NotYet: Snowflake refuses it, or does not answer.
        """
        import snowflake.connector
        from snowflake.connector.errors import DatabaseError, HttpError, OperationalError

        try:
            snowflake.connector.connect(**self._login(pair)).close()
        except (OperationalError, HttpError) as e:
            raise AnswerLost(f"Snowflake did not answer the login of {self.name}: {e.msg}") from None
        except DatabaseError as e:
            raise RefusedYet(
                f"Snowflake refuses the login of {self.name} with its new key: {e.msg}"
            ) from None

    def _alter(self, what: str) -> None:
        self.client.query(f"ALTER USER {double_quoted(self.name)} {what}", role=self.role)

    def _login(self, pair: KeyPair) -> dict[str, Any]:
        told = {
            "account": self.settings.account, "user": self.name, "host": self.settings.host,
            "port": self.settings.port, "protocol": self.settings.protocol,
            "private_key": pair.private_der, "authenticator": "SNOWFLAKE_JWT",
            "login_timeout": _SECONDS, "network_timeout": _SECONDS,
            "session_parameters": {"CLIENT_OUT_OF_BAND_TELEMETRY_ENABLED": False},
        }  # fmt: skip
        return {name: value for name, value in told.items() if value is not None}
