"""API keys of one use: a new one is made, proved and written before an old one is revoked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from frazil.errors import MissingError
from frazil_cloud.confluent.accounts import keys
from frazil_cloud.confluent.accounts.keys import ApiKey, KeyDuty, ListedKey
from frazil_cloud.confluent.client import Confluent
from frazil_cloud.patience import Patience
from frazil_cloud.resource import Known
from frazil_cloud.rotation.turn import Age, Pace, Turned
from frazil_cloud.secrets import SecretStore


@dataclass(frozen=True)
class ApiKeys:
    """The keys of one use.

    Args:
        known: The facts of what the keys are for.
        clock: Now, as an aware time.
    """

    confluent: Confluent
    secrets: SecretStore
    duty: KeyDuty
    known: Known
    pace: Pace
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)

    def age(self) -> Age:
        """How old the key is that the secret holds, by Confluent's date."""
        used = self._key_in_use()
        created = next((key.created for key in self._listed() if key.id == used), None)
        if used is None or created is None:
            raise MissingError(
                "A secret holds no key that Confluent knows.",
                where=self.duty.secret,
                meaning="Everything that uses it is refused.",
                todo=f"`frazil rotate {self.duty.spec.name} --what {self.duty.use} --now` makes a new one.",
            )
        return Age(self.duty.use, used, created, created + self.pace.every)

    def turn(self) -> Turned:
        """Replaces the key that the secret holds.

        The key that was in use until now goes on working until the next turn. Raises FrazilError where the
        new one does not work, or can't be written; everybody goes on with the old one.
        """
        before, used = self._listed(), self._key_in_use()
        key = self._make({each.id for each in before})
        try:
            proving = self.pace.proving(self.duty.address)
            proving.wait(lambda: keys.prove(self.confluent, self.duty, self.known, key.pair))
            self._patience.wait(lambda: keys.store(self.secrets.put, self.duty, key, self.known))
        except BaseException:
            self._drop(key)
            raise
        old = tuple(self._superfluous(before, used))
        for each in old:
            self._patience.wait(lambda id_=each: keys.revoke(self.confluent, id_))  # type: ignore[misc]
        return Turned(self.duty.use, key.id, used or "", old)

    def _make(self, before: set[str]) -> ApiKey:
        """A new key. One whose secret was lost with the answer of an earlier try goes: nobody can use it."""
        tries = 0

        def once() -> ApiKey:
            nonlocal tries
            lost = [each.id for each in self._listed_once() if each.id not in before] if tries else []
            for each in lost:
                keys.revoke(self.confluent, each)
            tries += 1
            return keys.make(self.confluent, self.duty, self.known)

        return self._patience.wait(once)

    def _superfluous(self, before: Sequence[ListedKey], used: str | None) -> Iterator[str]:
        """The oldest of the keys that were there, beyond the number that is kept.

        The one in use until now stays. So do all others, while clients may still have them.
        """
        last = next((each for each in before if each.id == used), None)
        if last is None or self.clock() - last.created < self.pace.rest:
            return
        others = [each.id for each in before if each.id != used]
        yield from others[: max(0, len(others) - (self.pace.keep - 2))]

    def _drop(self, key: ApiKey) -> None:
        """Revokes a key that does not work, unless the secret sends everybody to it already."""
        if self._key_in_use() != key.id:
            self._patience.wait(lambda: keys.revoke(self.confluent, key.id))

    def _key_in_use(self) -> str | None:
        pair = keys.pair_or_none(self._patience.wait(lambda: self.secrets.get(self.duty.secret)))
        return pair[0] if pair else None

    def _listed(self) -> list[ListedKey]:
        return self._patience.wait(self._listed_once)

    def _listed_once(self) -> list[ListedKey]:
        return keys.listed(self.confluent, self.duty, self.known)

    @property
    def _patience(self) -> Patience:
        return self.pace.waiting(self.duty.address)
