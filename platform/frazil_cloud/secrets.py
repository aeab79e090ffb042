"""Where secrets of a deployment are kept. They are written there only, and read there when needed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class SecretStore(Protocol):
    """Secrets by name, each a few texts by key."""

    def put(self, name: str, values: Mapping[str, str], tags: Mapping[str, str]) -> None:
        """Writes a secret; makes it, or restores it, where it is missing."""

    def get(self, name: str) -> dict[str, str] | None:
        """The texts of a secret; None if there is none."""

    def pending(self, name: str) -> dict[str, str] | None:
        """The texts that a rotation wrote, and nobody reads yet; None if there are none."""

    def delete(self, name: str) -> None:
        """Removes a secret at once; gone is fine."""
