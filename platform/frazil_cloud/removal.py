"""What was taken out of a deployment: found in the clouds, planned, and removed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from frazil_cloud.graph import Graph, Report, Times
from frazil_cloud.plan import Step
from frazil_cloud.resource import Known, Resource

FindFormer = Callable[[Known], Iterable[Resource]]
"""Finds objects that may be left of what was taken out, given the facts of what the deployment has."""

_WHY = "(no longer in the deployment)"
_HELD = "(no longer in the deployment, but stays with its data; --remove-data removes it)"
_HOLD_DATA = ("aws/bucket/", "confluent/topic/")


@dataclass(frozen=True, slots=True)
class Former:
    """What is left of it.

    Args:
        graph: The objects that may be there.
        known: The facts of those that are, and of the deployment.
        removes_data: Whether those are removed, too, that hold data.
        only: The cloud that it is about; empty: all.
    """

    graph: Graph
    known: Known
    removes_data: bool = False
    only: str = ""

    @property
    def steps(self) -> tuple[Step, ...]:
        """What would become of each, users before what they use."""
        goes = (Step(address, "delete", why=_WHY) for address in self._goes)
        return (*goes, *(Step(address, "hold", why=_HELD) for address in self._held_back))

    def drop(self, report: Report) -> None:
        """Removes them."""
        self.graph.drop(self._goes, self.known, report)

    @property
    def _there(self) -> list[str]:
        return [a for a in reversed(self.graph.order) if a in self.known and a.startswith(self.only)]

    @property
    def _held_back(self) -> list[str]:
        return [] if self.removes_data else [each for each in self._there if each.startswith(_HOLD_DATA)]

    @property
    def _goes(self) -> list[str]:
        """All but those that hold data, and what these are found by."""
        kept = self.graph.with_needs(self._held_back)
        return [address for address in self._there if address not in kept]


def former_of(find: FindFormer | None, own: Graph, known: Known, times: Times) -> Former:
    """What was taken out of a deployment that has these objects."""
    resources = list(times.of("what was taken out").wait(lambda: find(known))) if find else []
    graph = Graph([each for each in resources if each.address not in own.all], times, given=known)
    return Former(graph, graph.read())
