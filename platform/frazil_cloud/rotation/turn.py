"""What one rotation is told, and what it tells: never a secret."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Literal, get_args

from frazil.errors import UsageError
from frazil_cloud.patience import Hear, Patience, log_waiting
from frazil_cloud.spec.confluent import KeyUse

What = KeyUse | Literal["rsa"]
"""What is rotated: API keys of one use, or the RSA keys of Snowflake's user."""

WHATS: tuple[What, ...] = (*get_args(KeyUse), "rsa")


def what_of(word: str) -> What:
    """What a word stands for; UsageError where it stands for nothing."""
    for what in WHATS:
        if what == word:
            return what
    raise UsageError(
        f"{word} is nothing that is rotated.", where=f"there are: {', '.join(WHATS)}", todo="Fix the name."
    )


@dataclass(frozen=True)
class Age:
    """How old the key in use is, by the cloud's own date."""

    what: What
    key: str
    """The id of an API key, or the fingerprint of an RSA key."""
    created: datetime
    due: datetime

    @property
    def is_due(self) -> bool:
        """Whether it is old enough to be replaced."""
        return datetime.now(UTC) >= self.due


@dataclass(frozen=True)
class Turned:
    """One key that took another's place."""

    what: What
    key: str
    """The new one: the id of an API key, or the fingerprint of an RSA key."""
    instead_of: str
    revoked: tuple[str, ...] = ()
    """Older keys that work no more."""


@dataclass(frozen=True)
class Pace:
    """How keys are replaced, and how long the clouds may take for it.

    Args:
        every: Age at which a key is replaced.
        rest: How long a key may still be in use after another took its place.
        keep: API keys of one use that work at the same time.
        patience: Seconds within which a cloud must answer, and a new key of Snowflake's must work.
        sync: Seconds within which a new key of Confluent's must work: two minutes are usual, twenty possible.
        hear: Hears what is waited for.
    """

    every: timedelta
    rest: timedelta
    keep: int = 2
    patience: float = 180.0
    sync: float = 1200.0
    hear: Hear = field(default=log_waiting, repr=False, compare=False)
    stop: threading.Event = field(default_factory=threading.Event, repr=False, compare=False)

    def waiting(self, address: str) -> Patience:
        """For one object."""
        return Patience(address, self.patience, 2.0, self.stop, self.hear)

    def proving(self, address: str) -> Patience:
        """For a new key of Confluent's to work."""
        return Patience(address, max(self.sync, self.patience), 2.0, self.stop, self.hear)
