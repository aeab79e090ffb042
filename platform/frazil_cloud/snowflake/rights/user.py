"""The service user that a deployment works as, and the secret with its keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from frazil.errors import MissingError
from frazil.publishing.snowflake.statements import text
from frazil.quoting import double_quoted
from frazil_cloud.key_pair import KeyPair, secret_values
from frazil_cloud.resource import Facts, Known
from frazil_cloud.secrets import SecretStore
from frazil_cloud.snowflake.client import Snowflake
from frazil_cloud.snowflake.ownership import ACCOUNT, USERS, Marked

_SLOTS = {"1": "RSA_PUBLIC_KEY", "2": "RSA_PUBLIC_KEY_2"}
_ITS_OWN = "that of the secret"


@dataclass(frozen=True)
class Keys:
    """The secret with both key pairs of a user; the names in it are those of the source systems."""

    store: SecretStore = field(repr=False)
    name: str
    user: str
    tags: Mapping[str, str]

    def active(self) -> tuple[str, KeyPair] | None:
        """The number of the key in use, and the pair; None where there is none."""
        stored = self.store.get(self.name) or {}
        number = stored.get("active_key_number", "1")
        private = stored.get(f"snowflake_rsa_private_key_{number}_pem")
        return (number, KeyPair.from_base64(private)) if private and number in _SLOTS else None

    def fingerprints(self) -> list[str]:
        """Of all pairs of ours: those of the secret, and the one that a rotation is about to put in use."""
        versions = (self.store.get(self.name), self.store.pending(self.name))
        privates = [
            values[name]
            for values in versions if values
            for name in (f"snowflake_rsa_private_key_{number}_pem" for number in _SLOTS) if values.get(name)
        ]  # fmt: skip
        return [KeyPair.from_base64(each).fingerprint for each in privates]

    def made(self, account: str) -> tuple[str, KeyPair]:
        """The same; makes two pairs, of which the first is in use, where there is none."""
        if active := self.active():
            return active
        first, second = KeyPair.new(), KeyPair.new()
        values = {
            "snowflake_account_identifier": account,
            "snowflake_service_user": self.user,
            "secrets_path": self.name,
            "active_key_number": "1",
        }
        self.store.put(self.name, values | secret_values(1, first) | secret_values(2, second), self.tags)
        return "1", first


@dataclass(frozen=True)
class ServiceUser(Marked):
    """A user of TYPE = SERVICE. Only the key in use is set; the other slot is for the next one."""

    keys: Keys = field(kw_only=True)
    defaults: Mapping[str, str] = field(kw_only=True)

    kind: ClassVar[str] = "USER"
    role: ClassVar[str] = USERS

    def wanted(self, known: Known) -> Facts:
        """See `Resource`."""
        own = {"type": "SERVICE", "disabled": "false", "key": _ITS_OWN, "foreign_keys": []}
        return {**super().wanted(known), **own, **self.defaults}

    def facts(self, row: dict[str, Any]) -> Facts:
        """See `Marked`."""
        described = self.snowflake.shown(f"DESC USER {double_quoted(*self.name)}", role=ACCOUNT)
        by_property = {each["property"]: each["value"] for each in described}
        active, known = self.keys.active(), self.keys.fingerprints()
        prints = {slot: by_property.get(f"{slot}_FP") for slot in _SLOTS.values()}
        key = _ITS_OWN if active and active[1].fingerprint in prints.values() else "another, or none"
        foreign = [slot for slot, value in prints.items() if value not in (None, "", "null", *known)]
        return {
            "type": by_property.get("TYPE"),
            "disabled": str(by_property.get("DISABLED")).lower(),
            "key": key,
            "foreign_keys": [] if key != _ITS_OWN else foreign,
            **{name: by_property.get(name.upper()) for name in self.defaults},
        }

    def options(self, known: Known) -> str:
        """See `Marked`."""
        return f"{double_quoted(*self.name)} TYPE = SERVICE {self._properties()} {self.comment}"

    def update(self, there: Facts, known: Known) -> None:
        """See `Resource`. A public key that is of no pair of ours lets somebody else in: it goes."""
        user = double_quoted(*self.name)
        self.say(f"ALTER USER {user} SET TYPE = SERVICE DISABLED = FALSE {self._properties()}")
        for slot in there["foreign_keys"]:
            self.say(f"ALTER USER {user} UNSET {slot}")

    def delete(self, there: Facts, known: Known) -> None:
        """See `Resource`: the secret goes with the user."""
        super().delete(there, known)
        self.keys.store.delete(self.keys.name)

    def verify(self, there: Facts, known: Known) -> None:
        """Logs in with the key of the secret."""
        service = logged_in(self.snowflake, self.keys)
        try:
            service.query("SELECT 1")
        finally:
            service.close()

    def _properties(self) -> str:
        number, pair = self.keys.made(str(self.snowflake.login.settings.snowflake.account))
        properties = {
            _SLOTS[number]: pair.public_line,
            **{name.upper(): value for name, value in self.defaults.items()},
        }
        return " ".join(f"{name} = {text(value)}" for name, value in properties.items())


def logged_in(snowflake: Snowflake, keys: Keys) -> Snowflake:
    """The same account as the service user; MissingError where its secret is gone."""
    if (active := keys.active()) is None:
        raise MissingError(
            "The secret of Snowflake's service user holds no key.",
            where=keys.name,
            meaning="Nobody can log in as that user.",
            todo="`frazil deploy create` makes a new one.",
        )
    return snowflake.as_user(keys.user, active[1])
