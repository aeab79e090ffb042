"""What stand-ins share: they work in the round that is played."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kit.model.parts.edges import Edges
    from kit.model.world import World

__all__ = ["StandIns"]


class StandIns(ABC):
    """Of the round that is played."""

    def __init__(self, edges: Edges) -> None:
        self._edges = edges

    @property
    def world(self) -> World:
        """Of the present round."""
        assert self._edges.world
        return self._edges.world

    @abstractmethod
    def each(self) -> Iterator[tuple[Any, str, Any]]:
        """Each with the module and the name whose place it takes."""
