"""Who may what: service accounts, role bindings, API keys and their secrets."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import ClassVar

from frazil.errors import DifferentError
from frazil_cloud.confluent.accounts import keys
from frazil_cloud.confluent.accounts.keys import KeyDuty
from frazil_cloud.confluent.client import settled_key
from frazil_cloud.confluent.places import BINDINGS
from frazil_cloud.confluent.plane import Json
from frazil_cloud.confluent.resource import Listed, Thing
from frazil_cloud.resource import Facts, GoesWithAnother, Known, NeedMissingError, RefusedYet
from frazil_cloud.secrets import SecretStore


@dataclass(frozen=True, kw_only=True)
class Account(Listed):
    """A service account. Its name is unique in the organization; the description says whose it is."""

    mark: str
    path: ClassVar = "/iam/v2/service-accounts"

    def wanted(self, known: Known) -> Facts:
        """That it is there."""
        return {}

    def facts(self, body: Json, known: Known) -> Facts:
        """As it is; one of another deployment is not touched."""
        if body.get("description") != self.mark:
            raise DifferentError(
                f"A service account {self.name} is there, and it is not of this deployment.",
                where=f"{body['id']}, description {body.get('description', '')!r}",
                meaning="It was not touched.",
                todo="Give the deployment another prefix or name. If it is the deployment's own, describe it "
                f"as {self.mark}.",
            )
        return {"id": body["id"]}

    def body(self, known: Known) -> Json:
        """What it is made of."""
        return {"display_name": self.name, "description": self.mark}

    def delete(self, there: Facts, known: Known) -> None:
        """Removes it, with the roles that it has left: no page of Confluent's says that they go along."""
        cloud = self.confluent.cloud
        asked = {"principal": f"User:{there['id']}", "crn_pattern": self.confluent.organization}
        for body in list(cloud.every(BINDINGS, **asked)):
            cloud.delete(f"{BINDINGS}/{body['id']}")
        super().delete(there, known)


@dataclass(frozen=True, kw_only=True)
class Binding(Thing):
    """One role of one account on one pattern of names.

    Args:
        account: Its address.
        role: Such as ResourceOwner.
        pattern: The name of what the role is given on, from the facts of what is needed.
        marks: Whether it says whose that is; so it stays until the account goes.
    """

    account: str
    role: str
    marks: bool = False
    pattern: Callable[[Known], str] = field(repr=False)
    path: ClassVar = BINDINGS

    def wanted(self, known: Known) -> Facts:
        """Who may what."""
        principal = f"User:{known[self.account]['id']}"
        return {"principal": principal, "role": self.role, "pattern": self._crn(known)}

    def read(self, known: Known) -> Facts | None:
        """The very same binding, if it is there."""
        wanted = self.wanted(known)
        asked = {"principal": wanted["principal"], "role_name": self.role, "crn_pattern": wanted["pattern"]}
        for body in self.confluent.cloud.every(self.path, **asked):
            if body["crn_pattern"] == wanted["pattern"]:
                return {**wanted, "id": body["id"]}
        return None

    def create(self, known: Known) -> None:
        """Gives the role."""
        wanted = self.wanted(known)
        body = {"principal": wanted["principal"], "role_name": self.role, "crn_pattern": wanted["pattern"]}
        self.confluent.cloud.post(self.path, body)

    def delete(self, there: Facts, known: Known) -> None:
        """Takes it away."""
        if self.marks:
            raise GoesWithAnother
        self.confluent.cloud.delete(f"{self.path}/{there['id']}")

    def _crn(self, known: Known) -> str:
        return f"crn://confluent.cloud/organization={known['confluent/environment']['organization']}{self.pattern(known)}"


@dataclass(frozen=True, kw_only=True)
class Key(Thing):
    """An API key whose secret goes straight into the store; the keys of one duty bear its mark."""

    duty: KeyDuty
    secrets: SecretStore = field(repr=False)

    def wanted(self, known: Known) -> Facts:
        """That its secret is stored, and says the right places; so its twin."""
        settings = self.duty.settings(known)
        return {"secret": self.duty.secret, "stored": True, "settings": settings, "twin": self.duty.twin}

    def read(self, known: Known) -> Facts | None:
        """The key that the secret holds, if the cloud knows it.

        The secret is read first: a rotation in between revokes older keys than that one. A secret that
        outlived its cluster is something, too: it must go.
        """
        secret = self.secrets.get(self.duty.secret)
        try:
            there = {each.id: each.created for each in keys.listed(self.confluent, self.duty, known)}
            named = set(self.duty.settings(known))
        except NeedMissingError:
            if secret is None:
                raise
            there, named = {}, set()
        if not there and secret is None:
            return None
        pair = keys.pair_or_none(secret)
        stored = pair is not None and pair[0] in there
        settings = {name: value for name, value in (secret or {}).items() if name in named}
        id_ = pair[0] if pair and stored else list(there)[-1] if there else ""
        created = there[id_].isoformat() if id_ else ""
        twin = self.duty.twin if stored and self._is_twin(pair, known) else ""
        return {
            "id": id_, "created": created, "secret": self.duty.secret, "stored": stored,
            "settings": settings, "twin": twin,
        }  # fmt: skip

    def create(self, known: Known) -> None:
        """Makes a key and stores its secret; one whose secret can't be stored is revoked."""
        made = keys.make(self.confluent, self.duty, known)
        try:
            keys.store(self.secrets.put, self.duty, made, known)
        except BaseException:
            keys.revoke(self.confluent, made.id)
            raise

    def update(self, there: Facts, known: Known) -> None:
        """Revokes keys whose secret was lost, and makes one anew; or fixes what the secret says besides."""
        there = self.read(known) or there  # a rotation may have stored a key since
        if there["stored"]:
            stored_key = keys.pair_or_none(self.secrets.get(self.duty.secret))
            if stored_key is None:
                raise RefusedYet("its secret went away a moment ago")
            keys.store(self.secrets.put, self.duty, keys.ApiKey(*stored_key), known)
            return
        keys.revoke_all(self.confluent, self.duty, known)
        self.create(known)

    def delete(self, there: Facts, known: Known) -> None:
        """Revokes all keys of the duty, those of rotation too, and deletes the secret and its twin."""
        with suppress(NeedMissingError):  # they went with their account
            keys.revoke_all(self.confluent, self.duty, known)
        if self.duty.twin:  # before the secret, by which this object is found
            self.secrets.delete(self.duty.twin)
        self.secrets.delete(self.duty.secret)

    def verify(self, there: Facts, known: Known) -> None:
        """Uses it on its own plane."""
        pair = keys.pair_or_none(self.secrets.get(self.duty.secret))
        if pair is None:
            raise RefusedYet(f"the secret {self.duty.secret} holds no key")
        keys.prove(self.confluent, self.duty, known, pair, settled_key(known, self.address))

    def _is_twin(self, pair: tuple[str, str] | None, known: Known) -> bool:
        """Whether the twin, if there is to be one, says the same as the secret."""
        if pair is None or not self.duty.twin:
            return False
        return self.secrets.get(self.duty.twin) == self.duty.twin_values(keys.ApiKey(*pair), known)
