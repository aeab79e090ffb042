"""One object in a cloud: what it should be, what is there, and how the one becomes the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol

Facts = Mapping[str, Any]
"""What is known of one object: JSON values by field. Never a secret; the name of a secret is a fact."""

WHY = "why"
"""The fact that says, where there is one, what keeps an object from being as it is wanted."""

Known = Mapping[str, Facts]
"""The facts of objects, by their addresses."""


class NotYet(Exception):
    """Something is on its way, such as a phase. The text is the reason, for people."""

    weight: ClassVar[int] = 1
    """How much the reason tells: of all that was met, the first of the weightiest is kept."""


class RefusedYet(NotYet):
    """A refusal that waiting may end: a right that is not seen everywhere yet, a phase that FAILED."""

    weight = 2


class Throttled(NotYet):
    """The cloud wants to be asked again later.

    Args:
        reason: What it said.
        after: Seconds until then.
    """

    weight = 0

    def __init__(self, reason: str, after: float = 1.0) -> None:
        super().__init__(reason)
        self.after = after


class AnswerLost(NotYet):
    """Nobody knows whether a call was done: a 5xx, or a connection that dropped."""

    weight = 0


class GoesWithAnother(Exception):
    """Nobody can delete it: it goes when another object does, later."""


class NeedMissingError(KeyError):
    """The facts of something that an object needs are not known, for it is not there."""


class Resource(Protocol):
    """One object in a cloud, which reads itself back by a name or a mark that it can compute.

    A field of `wanted` that differs from the same field of `read` is a change. A phase belongs in both, so
    that one that FAILED is a change, too. Each method makes one try; the reconciler tries again.

    Raises:
        NotYet: Waiting may fix it.
        FrazilError: Waiting can't fix it: a missing right, somebody else's object of the same name.
    """

    @property
    def address(self) -> str:
        """`<cloud>/<thing>` or `<cloud>/<thing>/<name>`, such as `confluent/topic/stock_trades`."""

    @property
    def needs(self) -> tuple[str, ...]:
        """The addresses whose facts it takes, or that must be there before it."""

    @property
    def fixed(self) -> frozenset[str]:
        """The wanted fields that nobody can change once it is there."""

    def wanted(self, known: Known) -> Facts:
        """Its fields as they should be, given the facts of what it needs."""

    def read(self, known: Known) -> Facts | None:
        """What is there, ids included; None if it is not."""

    def create(self, known: Known) -> None:
        """Makes it."""

    def update(self, there: Facts, known: Known) -> None:
        """Brings the fields that differ to what is wanted."""

    def delete(self, there: Facts, known: Known) -> None:
        """Removes it. It may be gone already.

        Raises:
            GoesWithAnother: Nobody needs to.
        """

    def verify(self, there: Facts, known: Known) -> None:
        """Proves that it works by using it; that it exists is no proof."""
