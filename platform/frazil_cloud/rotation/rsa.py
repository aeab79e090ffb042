"""RSA keys of a Snowflake user, turned in two slots: one is in use, the other gets the next key.

The next key is written to the secret, set at the user and proved by a login. Only then the secret sends
everybody to it. A rotation that is killed in between leaves the key in use as it was; the next starts over.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol, TypeVar

from frazil.errors import ConfigureError, DifferentError, RetryError
from frazil_cloud.key_pair import KeyPair, secret_values
from frazil_cloud.patience import Patience
from frazil_cloud.rotation.candidate import StagedSecret, Version
from frazil_cloud.rotation.turn import Age, Pace, Turned

T = TypeVar("T")

_ACTIVE = "active_key_number"
_OTHER = {1: 2, 2: 1}


class KeySlots(Protocol):
    """The two places for public keys that a Snowflake user has. What they hold is the truth."""

    def fingerprints(self) -> Mapping[int, str | None]:
        """The fingerprint of the key in each slot; None where it is empty."""

    def set(self, slot: int, public_line: str) -> None:
        """Puts a public key into a slot."""

    def unset(self, slot: int) -> None:
        """Empties a slot."""


@dataclass(frozen=True)
class RsaKeys:
    """The keys of one user.

    Args:
        slots: Where Snowflake keeps the public halves.
        secret: Where everybody finds the private one.
        prove: Logs in as the user with a pair, or raises `NotYet` or FrazilError.
        clock: Now, as an aware time.
    """

    slots: KeySlots
    secret: StagedSecret
    prove: Callable[[KeyPair], None]
    pace: Pace
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)

    def age(self) -> Age:
        """How old the key in use is."""
        current = self._wait(self.secret.current)
        pair = _pair(current, self._number(current))
        return Age("rsa", pair.fingerprint, current.created, current.created + self.pace.every)

    def turn(self) -> Turned:
        """Replaces the key in use.

        Raises:
            RetryError: Clients may still use what is in the other slot.
            FrazilError: The new key does not work, or a cloud refused; the key in use works as before.
        """
        current, there = self._wait(self.secret.current), self._wait(self.slots.fingerprints)
        number = self._number(current)
        pair, old = KeyPair.new(), _pair(current, number)
        idle = _OTHER[
            next((slot for slot, print_there in there.items() if print_there == old.fingerprint), number)
        ]
        self._check_rest(current, there[idle])
        values = {**current.values, **secret_values(idle, pair), _ACTIVE: str(idle)}
        pending = self.secret.write_pending(values, self._patience)
        try:
            self._wait(lambda: self.slots.set(idle, pair.public_line))
            self._wait(lambda: self.prove(pair))
        except BaseException:
            self._wait(lambda: self.slots.unset(idle))
            raise
        try:
            self.secret.make_current(pending, current.id, self._patience)
        except DifferentError:
            self._give_back(idle)
            raise
        return Turned("rsa", pair.fingerprint, old.fingerprint)

    def _number(self, current: Version) -> int:
        """Under which number the secret holds the key in use."""
        number = current.values.get(_ACTIVE, "1")
        if number not in ("1", "2"):
            raise _no_number(self.secret.name, number)
        return int(number)

    def _check_rest(self, current: Version, idle: str | None) -> None:
        """Clients that read the secret just before the last turn use the other slot for a while."""
        turned = current.created + timedelta(seconds=2 * self.pace.patience)  # at the latest: set, and proved
        until = turned + self.pace.rest
        if self.pace.rest and idle is not None and self.clock() < until:
            raise RetryError(
                "The key that was replaced last may still be in use.",
                where=f"{self.secret.name}: the other slot of the user",
                meaning="Nothing was changed; the key in use works.",
                todo=f"Try again after {until:%Y-%m-%d %H:%M:%S} UTC; `rotation.rest` of the deployment says "
                "how long clients keep a key.",
            )

    def _give_back(self, slot: int) -> None:
        """Another rotation was quicker: if everybody was sent to this slot, it gets the key of theirs."""
        current = self._wait(self.secret.current)
        if current.values.get(_ACTIVE) == str(slot):
            line = _pair(current, slot).public_line
            self._wait(lambda: self.slots.set(slot, line))

    @property
    def _patience(self) -> Patience:
        return self.pace.waiting(self.secret.name)

    def _wait(self, once: Callable[[], T]) -> T:
        return self._patience.wait(once)


def _pair(version: Version, number: int) -> KeyPair:
    return KeyPair.from_base64(version.values.get(f"snowflake_rsa_private_key_{number}_pem", ""))


def _no_number(name: str, number: str) -> ConfigureError:
    return ConfigureError(
        "A secret does not tell which key is in use.",
        where=f"{name}: {_ACTIVE} is {number!r:.20}",
        meaning="Nothing was changed.",
        todo="Set it to 1 or 2: the number of the key in the secret whose fingerprint DESC USER shows.",
    )
