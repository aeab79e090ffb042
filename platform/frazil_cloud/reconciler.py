"""Desired state without a state file: read the clouds, show a plan, do it in parallel, prove it, remove it.

Each object reads itself back by a name or a mark that it can compute. So nothing is remembered between
runs, and a run that died is continued by running again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial

from frazil.errors import FrazilError, MissingError, PlanStaleError, explain
from frazil_cloud.graph import Graph, KnownFacts, Report, Times
from frazil_cloud.patience import Hear, Patience, log_waiting
from frazil_cloud.plan import Plan, Step, differences, step_of, unchangeable
from frazil_cloud.removal import FindFormer, Former, former_of
from frazil_cloud.resource import WHY, AnswerLost, Facts, Known, NotYet, RefusedYet, Resource

_DEEDS = 5
"""How often one object is made or changed in one run: what is not seen then is not made again and again."""
_LOST = 10
"""How often its answer may be lost in one run: each time it may have been done."""


class Reconciler:
    """The objects of one deployment.

    Args:
        resources: All of them; each address once, and each need among them.
        former: Finds what may be left of objects that were taken out of the deployment.
        removes_data: Whether `apply` removes what was taken out and holds data, too.
        patience: See `Times`, as for the next three.
    """

    def __init__(
        self,
        resources: Iterable[Resource],
        *,
        former: FindFormer | None = None,
        removes_data: bool = False,
        patience: float = 1800.0,
        margin: float = 20.0,
        pause: float = 5.0,
        hear: Hear = log_waiting,
    ) -> None:
        self._times = Times(patience, margin, pause, hear)
        self._graph = Graph(resources, self._times)
        self._find_former, self._removes_data = former, removes_data

    @property
    def addresses(self) -> tuple[str, ...]:
        """All objects, each after those that it needs."""
        return self._graph.order

    def needs(self, address: str) -> tuple[str, ...]:
        """The addresses that an object needs."""
        return self._graph.needs[address]

    def part(self, addresses: Iterable[str]) -> Reconciler:
        """The same for some objects only, and for all that they need."""
        resources, times = self._graph.with_needs(addresses).values(), self._times
        return Reconciler(
            resources, patience=times.patience, margin=times.margin, pause=times.pause, hear=times.hear
        )  # fmt: skip

    def facts(self) -> Known:
        """What is there now."""
        return self._graph.read()

    def plan(self) -> Plan:
        """What would be made or changed; also how drift is found."""
        known = self._graph.read()
        steps = (step_of(self._graph.all[each], known, known.unread.get(each, "")) for each in self.addresses)
        return Plan((*steps, *self._former(known, removes_data=self._removes_data).steps))

    def removal(self, only: str = "") -> Plan:
        """What would be deleted, users before what they use; if so wanted, in one cloud only."""
        known = self._graph.read()
        return self._removal(known, self._former(known, only), only)

    def apply(self, plan: Plan, report: Report = lambda *_: None) -> Known:
        """Does what a plan says, and returns what is there then.

        Raises:
            PlanStaleError: The clouds are no longer as the plan saw them.
            DifferentError: A field differs that nobody can change.
            FrazilError: A cloud refused, or took longer than the patience. What was made stays; the next
                run goes on from there.
        """
        self._agree(plan, self.plan())
        if plan.blocked:
            raise unchangeable(plan.blocked)
        known = KnownFacts()

        def settle(address: str, patience: Patience) -> None:
            known[address] = self._settled(self._graph.all[address], known, patience, report)

        self._graph.walk(self._graph.needs, settle)
        self._former(known, removes_data=self._removes_data).drop(report)
        return known

    def destroy(self, plan: Plan, report: Report = lambda *_: None, only: str = "") -> None:
        """Deletes what a removal plan says, in its order; what is gone already is no error.

        Raises:
            PlanStaleError: Other things are there than the plan saw.
            FrazilError: A cloud refused, or took longer than the patience.
        """
        known = self._graph.read()
        former = self._former(known, only)
        self._agree(plan, self._removal(known, former, only))
        former.drop(report)
        self._graph.drop(self._those(known, only), known, report)

    def verify(self, report: Report = lambda *_: None) -> Mapping[str, FrazilError | None]:
        """Uses every object; by address what does not work, or None where all is well."""
        known = self._graph.read()
        outcomes: dict[str, FrazilError | None] = {}

        def prove(address: str, patience: Patience) -> None:
            report(address, "verifying")
            outcomes[address] = _proof(self._graph.all[address], known, patience)
            report(address, "does not work" if outcomes[address] else "works")

        self._graph.walk(dict.fromkeys(self.addresses, ()), prove)
        return {address: outcomes[address] for address in self.addresses}

    def _former(self, known: Known, only: str = "", *, removes_data: bool = True) -> Former:
        """What was removed. Deleting a deployment deletes its data, too."""
        former = former_of(self._find_former, self._graph, known, self._times)
        return replace(former, only=only, removes_data=removes_data)

    def _removal(self, known: Known, former: Former, only: str) -> Plan:
        own = (Step(address, "delete") for address in self._those(known, only))
        return Plan((*former.steps, *own))

    def _those(self, known: Known, only: str) -> list[str]:
        return [each for each in reversed(self.addresses) if each in known and each.startswith(only)]

    def _settled(self, resource: Resource, known: Known, patience: Patience, report: Report) -> Facts:
        address, looked_for, tries = resource.address, 0.0, _Tries()

        def attempt(doing: str, deed: Callable[[], None]) -> None:
            nonlocal looked_for
            tries.refuse_more()
            report(address, doing)
            looked_for = 0.0  # an update may remove what it makes anew
            tries.make(deed)
            looked_for = time.monotonic() + self._times.margin

        def once() -> Facts:
            if (there := resource.read(known)) is None:
                if time.monotonic() < looked_for:
                    raise NotYet("it was made, but is not seen yet")
                attempt("creating", partial(resource.create, known))
                there = resource.read(known)
            elif differences(resource.wanted(known), there):
                attempt("updating", partial(resource.update, there, known))
                if why := there.get(WHY):
                    raise RefusedYet(why)
                there = resource.read(known)
            return _as_wanted(resource, there, known)

        there = patience.wait(once)
        report(address, "ready")
        return there

    def _agree(self, plan: Plan, now: Plan) -> None:
        if plan.digest != now.digest:
            raise PlanStaleError(
                f"The clouds changed since plan {plan.digest}.",
                where=str(now),
                meaning="Nothing was done.",
                todo="Look at the new plan, and agree to it.",
            )


class _Tries:
    """How often one object was made or changed. What is refused is not counted: it waits for a right."""

    def __init__(self) -> None:
        self._done, self._lost = 0, 0

    def make(self, deed: Callable[[], None]) -> None:
        """Tries once more; a lost answer is no error."""
        try:
            deed()
            self._done += 1
        except AnswerLost:
            self._lost += 1

    def refuse_more(self) -> None:
        """Ends what has no end: each try may have left something that costs money."""
        if self._done == _DEEDS:
            raise RefusedYet(f"it was made or changed {_DEEDS} times, and never was seen as it should be")
        if self._lost == _LOST:
            raise RefusedYet(f"it was made or changed {_LOST} times, and the answer was lost each time")


def _as_wanted(resource: Resource, there: Facts | None, known: Known) -> Facts:
    if there is None:
        raise NotYet("it was made, but is not seen yet")
    if changes := differences(resource.wanted(known), there):
        raise NotYet("; ".join(map(str, changes)))
    return there


def _proof(resource: Resource, known: Known, patience: Patience) -> FrazilError | None:
    there = known.get(resource.address)
    if there is None:
        return MissingError(f"{resource.address} is not there.", todo="Run `frazil deploy create`.")
    try:
        patience.wait(lambda: resource.verify(there, known))
    except Exception as e:  # noqa: BLE001 - whatever it is, it is why the object does not work
        return explain(e)
    return None
