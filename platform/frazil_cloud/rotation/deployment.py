"""All keys of a deployment that are rotated, each by its own name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from frazil.errors import FrazilError, MissingError
from frazil.settings.profile import Settings
from frazil_cloud.clouds import Clouds
from frazil_cloud.confluent import objects as confluent
from frazil_cloud.confluent.accounts.keys import KeyDuty
from frazil_cloud.confluent.accounts.rights import Key
from frazil_cloud.deployment import open_clouds
from frazil_cloud.patience import Hear, log_waiting
from frazil_cloud.reconciler import Reconciler
from frazil_cloud.resource import Known, Resource
from frazil_cloud.rotation.api_keys import ApiKeys
from frazil_cloud.rotation.candidate import StagedSecret
from frazil_cloud.rotation.rsa import RsaKeys
from frazil_cloud.rotation.snowflake_user import ServiceUser
from frazil_cloud.rotation.turn import Age, Pace, Turned, What
from frazil_cloud.spec.deployment import DeploymentSpec


class Keys(Protocol):
    """Keys of one kind, of which one is in use."""

    def age(self) -> Age:
        """How old the key in use is."""

    def turn(self) -> Turned:
        """Replaces the key in use."""


@dataclass(frozen=True)
class Outcome:
    """What came of one kind of keys: its age, the turn if there was one, or why not."""

    what: What
    age: Age | None = None
    turned: Turned | None = None
    error: FrazilError | None = None

    @property
    def document(self) -> dict[str, Any]:
        """The same for scripts."""
        age, turned = self.age, self.turned
        return {
            "what": self.what,
            "key": turned.key if turned else age.key if age else None,
            "created": age.created.isoformat() if age else None,
            "due": age.due.isoformat() if age else None,
            "turned": turned is not None,
            "instead_of": turned.instead_of if turned else None,
            "revoked": list(turned.revoked) if turned else [],
            "error": self.error.document if self.error else None,
        }


@dataclass(frozen=True)
class Rotation:
    """What turns the keys of one deployment; asks nobody anything before it is used.

    Args:
        patience: Seconds within which a cloud must answer.
        hear: Hears what is waited for.
    """

    spec: DeploymentSpec
    clouds: Clouds
    patience: float
    hear: Hear = log_waiting

    @property
    def whats(self) -> tuple[What, ...]:
        """All that can be rotated."""
        return (*(duty.use for duty in self._duties), *(("rsa",) if self.spec.snowflake else ()))

    def age(self, what: What) -> Age:
        """How old the key in use is."""
        return self._keys(what).age()

    def turn(self, what: What) -> Turned:
        """Replaces the key in use."""
        return self._keys(what).turn()

    def turn_due(self, whats: Iterable[What] = (), *, now: bool = False) -> Iterator[Outcome]:
        """Replaces the keys that are old enough, one kind after the other; what one meets ends no other.

        Args:
            whats: Those alone; by default all.
            now: Whatever their age.
        """
        for what in tuple(whats) or self.whats:
            try:
                age = None if now else self.age(what)
                turned = self.turn(what) if age is None or age.is_due else None
                yield Outcome(what, age, turned)
            except FrazilError as e:
                yield Outcome(what, error=e)

    def ages(self) -> list[Outcome]:
        """How old all keys in use are; for each that can't be told, why."""
        return [self._aged(what) for what in self.whats]

    def _aged(self, what: What) -> Outcome:
        try:
            return Outcome(what, self.age(what))
        except FrazilError as e:
            return Outcome(what, error=e)

    def _keys(self, what: What) -> Keys:
        if what not in self.whats:
            raise MissingError(
                f"{self.spec.name} has no {what} to rotate.",
                where=f"there are: {', '.join(self.whats) or 'none'}",
                todo="Fix the name.",
            )
        return self._rsa() if what == "rsa" else self._of_confluent(what)

    def _rsa(self) -> RsaKeys:
        user = ServiceUser(self.clouds.snowflake, self.spec.names.snowflake("USER"))
        secret = StagedSecret(self.clouds.aws, self.spec.names.snowflake_secret)
        return RsaKeys(user, secret, user.prove, self._pace)

    def _of_confluent(self, what: What) -> ApiKeys:
        duty = next(duty for duty in self._duties if duty.use == what)
        if missing := [address for address in duty.needs if address not in self._known]:
            raise MissingError(
                f"{self.spec.name} is not made yet.",
                where=", ".join(missing),
                todo=f"`frazil deploy create {self.spec.name}` makes it.",
            )
        return ApiKeys(self.clouds.confluent, self.clouds.secrets, duty, self._known, self._pace)

    @property
    def _pace(self) -> Pace:
        rotation = self.spec.rotation
        return Pace(rotation.every, rotation.rest, rotation.keep, self.patience, hear=self.hear)

    @cached_property
    def _objects(self) -> Mapping[str, Resource]:
        return {each.address: each for each in confluent.objects(self.spec, self.clouds)}

    @property
    def _duties(self) -> list[KeyDuty]:
        return [each.duty for each in self._objects.values() if isinstance(each, Key)]

    @cached_property
    def _known(self) -> Known:
        """The facts of what API keys are for, and of nothing else."""
        needed = {address for duty in self._duties for need in duty.needs for address in self._below(need)}
        objects = [self._objects[address] for address in needed]
        return Reconciler(objects, patience=self.patience, hear=self.hear).facts()

    def _below(self, address: str) -> Iterator[str]:
        yield address
        for need in self._objects[address].needs:
            yield from self._below(need)


def rotation_of(
    spec: DeploymentSpec, settings: Settings, *, patience: float = 180.0, hear: Hear = log_waiting
) -> Rotation:
    """What turns the keys of a deployment, as who made it; asks nobody yet. See `Rotation` for the rest."""
    return Rotation(spec, open_clouds(spec, settings), patience, hear)
