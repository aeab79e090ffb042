"""IAM is late: what it refuses may be a right that is given, and not seen everywhere yet."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from frazil.errors import NotAllowedError
from frazil_cloud.resource import RefusedYet


@dataclass
class Lateness:
    """Takes the refusals of one object for lateness at first, and from then on for what they are.

    Args:
        seconds: How long.
    """

    seconds: float = 60.0
    _since: float | None = field(default=None, repr=False)

    @contextmanager
    def borne(self) -> Iterator[None]:
        """Turns a refusal into `RefusedYet` while it may be lateness."""
        try:
            yield
        except NotAllowedError as e:
            self._since = self._since or time.monotonic()
            if time.monotonic() - self._since < self.seconds:
                raise RefusedYet(f"{e.what} {e.todo}") from None
            raise
        self._since = None
