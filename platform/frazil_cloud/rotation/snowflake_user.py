"""A Snowflake user as rotation needs it: its two key slots, and whether a key logs in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, Protocol

from frazil.errors import ConfigureError, MissingError
from frazil.quoting import double_quoted, literal
from frazil_cloud.key_pair import KeyPair
from frazil_cloud.resource import RefusedYet

_OPTIONS = {1: "RSA_PUBLIC_KEY", 2: "RSA_PUBLIC_KEY_2"}
_OWNER = "USERADMIN"


class Says(Protocol):
    """Who speaks to Snowflake."""

    def query(self, sql: str, *, role: str | None = None) -> Iterable[Any]:
        """All rows of a statement."""

    def as_user(self, user: str, pair: KeyPair) -> Says:
        """The same account as another user."""

    def close(self) -> None:
        """Logs out."""


@dataclass(frozen=True)
class ServiceUser:
    """A user with two slots for public keys.

    Args:
        client: Speaks as who made the user.
    """

    client: Says = field(repr=False)
    name: str

    def fingerprints(self) -> Mapping[int, str | None]:
        """The fingerprint of the key in each slot; None where it is empty."""
        rows = self.client.query(f"DESC USER {double_quoted(self.name)}", role=_OWNER)
        by_property = {str(row[0]): row[1] for row in rows}
        missing = [option for option in _OPTIONS.values() if f"{option}_FP" not in by_property]
        if missing:
            raise MissingError(
                f"Snowflake does not tell {missing[0]}_FP.",
                where=f"DESC USER {self.name}",
                meaning="Nobody knows which key is in use. Nothing was changed.",
                todo=f"Check that {_OWNER} owns the user.",
            )
        prints = {slot: by_property[f"{option}_FP"] for slot, option in _OPTIONS.items()}
        return {slot: None if text in (None, "", "null") else str(text) for slot, text in prints.items()}

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
        with closing(self.client.as_user(self.name, pair)) as user:
            try:
                user.query("SELECT 1")
            except ConfigureError as e:
                raise RefusedYet(f"{e.what} {e.where}") from None

    def _alter(self, what: str) -> None:
        self.client.query(f"ALTER USER {double_quoted(self.name)} {what}", role=_OWNER)
