"""Desired state without a state file: read the clouds, show a plan, do it in parallel, prove it, remove it.

Each object reads itself back by a name or a mark that it can compute. So nothing is remembered between
runs, and a run that died is continued by running again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from functools import partial
from graphlib import TopologicalSorter

from frazil.cloud.patience import Patience
from frazil.cloud.plan import Plan, Step, differences, step_of, unchangeable
from frazil.cloud.resource import (
    AnswerLost,
    Facts,
    GoesWithAnother,
    Known,
    NeedMissingError,
    NotYet,
    Resource,
)
from frazil.errors import FrazilError, MissingError, PlanStaleError, explain

Report = Callable[[str, str], None]
"""Hears of an address what becomes of it now."""

Former = Callable[[Known], Iterable[Resource]]
"""Objects that may be left of what was taken out of a deployment, given the facts of those that it has."""

_THREADS = 8


class _Facts(dict[str, Facts]):
    """Facts by address; what nobody has read is missing in words of its own."""

    def __missing__(self, address: str) -> Facts:
        raise NeedMissingError(address)


class Reconciler:
    """The objects of one deployment.

    Args:
        resources: All of them; each address once, and each need among them.
        former: What may be left of objects that were taken out of the deployment, given the facts of it.
        given: Facts of what the resources need that is none of them.
        patience: Seconds that one object may take to be as it should be, or to go.
        margin: Seconds in which an object is looked for that was made, or whose creation got no answer,
            before it is made again: clouds show new objects late, and names need not be unique.
        pause: Longest time between two looks at one object, in seconds.
    """

    def __init__(
        self,
        resources: Iterable[Resource],
        *,
        former: Former | None = None,
        given: Known | None = None,
        patience: float = 1800.0,
        margin: float = 20.0,
        pause: float = 5.0,
    ) -> None:
        self._all = {resource.address: resource for resource in resources}
        self._former, self._given = former, given
        self._needs = {address: self._own_needs(resource) for address, resource in self._all.items()}
        self._order = tuple(TopologicalSorter(self._needs).static_order())
        self._seconds, self._margin, self._pause = patience, margin, pause
        if unknown := sorted(set(self._order) - self._all.keys()):
            raise MissingError(f"Nothing of the deployment is {', '.join(unknown)}, which others need.")

    @property
    def addresses(self) -> tuple[str, ...]:
        """All objects, each after those that it needs."""
        return self._order

    def needs(self, address: str) -> tuple[str, ...]:
        """The addresses that an object needs."""
        return self._needs[address]

    def part(self, addresses: Iterable[str]) -> Reconciler:
        """The same for some objects only, and for all that they need."""
        wanted, found = list(addresses), dict[str, Resource]()
        while wanted:
            address = wanted.pop()
            found[address] = self._all[address]
            wanted += [need for need in self._needs[address] if need not in found]
        return Reconciler(found.values(), patience=self._seconds, margin=self._margin, pause=self._pause)

    def facts(self) -> Known:
        """What is there now."""
        return self._read_all()

    def plan(self) -> Plan:
        """What would be made or changed; also how drift is found."""
        known = self._read_all()
        steps = (step_of(self._all[address], known) for address in self._order)
        return Plan((*steps, *self._steps_of_left(known)))

    def removal(self) -> Plan:
        """What would be deleted, users before what they use."""
        return self._removal(self._read_all())

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
        known = _Facts()

        def settle(address: str, patience: Patience) -> None:
            known[address] = self._settled(self._all[address], known, patience, report)

        self._walk(self._needs, settle)
        self._destroy_left(known, report)
        return known

    def destroy(self, plan: Plan, report: Report = lambda *_: None) -> None:
        """Deletes what a removal plan says, in its order; what is gone already is no error.

        Raises:
            PlanStaleError: Other things are there than the plan saw.
            FrazilError: A cloud refused, or took longer than the patience.
        """
        known = self._read_all()
        self._agree(plan, self._removal(known))
        self._destroy_left(known, report)
        users: dict[str, list[str]] = {address: [] for address in self._order}
        for address in self._order:
            for needed in self._needs[address]:
                users[needed].append(address)

        def drop(address: str, patience: Patience) -> None:
            if address in known:
                _removed(self._all[address], known, patience, report)

        self._walk(users, drop)

    def verify(self, report: Report = lambda *_: None) -> Mapping[str, FrazilError | None]:
        """Uses every object; by address what does not work, or None where all is well."""
        known = self._read_all()
        found: dict[str, FrazilError | None] = {}

        def prove(address: str, patience: Patience) -> None:
            report(address, "verifying")
            found[address] = _proof(self._all[address], known, patience)
            report(address, "does not work" if found[address] else "works")

        self._walk(dict.fromkeys(self._order, ()), prove)
        return {address: found[address] for address in self._order}

    def _own_needs(self, resource: Resource) -> tuple[str, ...]:
        """Those that are among the resources, where the facts of others are given."""
        return tuple(need for need in resource.needs if self._given is None or need in self._all)

    def _removal(self, known: Known) -> Plan:
        why = "" if self._given is None else "(no longer in the deployment)"
        steps = (Step(a, "delete", why=why) for a in reversed(self._order) if a in known)
        return Plan((*self._steps_of_left(known), *steps))

    def _steps_of_left(self, known: Known) -> tuple[Step, ...]:
        return left.removal().steps if (left := self._left(known)) else ()

    def _destroy_left(self, known: Known, report: Report) -> None:
        if left := self._left(known):
            left.destroy(left.removal(), report)

    def _left(self, known: Known) -> Reconciler | None:
        """Whoever removes what is left of objects that were taken out of the deployment."""
        if (former := self._former) is None:
            return None
        patience = Patience("what was taken out", self._seconds, self._pause, threading.Event())
        found = [each for each in patience.wait(lambda: former(known)) if each.address not in self._all]
        return Reconciler(found, given=known, patience=self._seconds, margin=self._margin, pause=self._pause)

    def _read_all(self) -> _Facts:
        known = _Facts(self._given or {})

        def read(address: str, patience: Patience) -> None:
            there = patience.wait(lambda: _read(self._all[address], known))
            if there is not None:
                known[address] = there

        self._walk(self._needs, read)
        return known

    def _settled(self, resource: Resource, known: Known, patience: Patience, report: Report) -> Facts:
        address, looked_for = resource.address, 0.0

        def attempt(doing: str, deed: Callable[[], None]) -> None:
            nonlocal looked_for
            report(address, doing)
            looked_for = 0.0  # an update may remove what it makes anew
            with suppress(AnswerLost):
                deed()
            looked_for = time.monotonic() + self._margin

        def once() -> Facts:
            if (there := resource.read(known)) is None:
                if time.monotonic() < looked_for:
                    raise NotYet("it was made, but is not seen yet")
                attempt("creating", partial(resource.create, known))
                there = resource.read(known)
            elif differences(resource.wanted(known), there):
                attempt("updating", partial(resource.update, there, known))
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

    def _walk(self, needs: Mapping[str, Iterable[str]], do: Callable[[str, Patience], None]) -> None:
        """Does all, each after those that it needs, as many at once as there are threads."""
        order = TopologicalSorter(needs)
        order.prepare()
        stop, running, failed = threading.Event(), dict[Future[None], str](), list[BaseException]()
        with ThreadPoolExecutor(_THREADS) as threads:
            try:
                while order.is_active() and not (failed and not running):
                    for address in () if failed else order.get_ready():
                        patience = Patience(address, self._seconds, self._pause, stop)
                        running[threads.submit(do, address, patience)] = address
                    done, _ = wait(running, return_when=FIRST_COMPLETED)
                    for each in done:
                        address = running.pop(each)
                        if error := each.exception():
                            failed.append(error)
                            stop.set()
                        else:
                            order.done(address)
            finally:
                stop.set()  # Ctrl-C: the threads must not go on waiting
        if failed:
            raise failed[0]


def _read(resource: Resource, known: Known) -> Facts | None:
    try:
        return resource.read(known)
    except NeedMissingError:
        return None


def _as_wanted(resource: Resource, there: Facts | None, known: Known) -> Facts:
    if there is None:
        raise NotYet("it was made, but is not seen yet")
    if changes := differences(resource.wanted(known), there):
        raise NotYet("; ".join(map(str, changes)))
    return there


def _removed(resource: Resource, known: Known, patience: Patience, report: Report) -> None:
    def once() -> None:
        there = _read(resource, known)
        if there is not None:
            report(resource.address, "deleting")
            try:
                resource.delete(there, known)
            except GoesWithAnother:
                return
            if _read(resource, known) is not None:
                raise NotYet("it is still seen")

    patience.wait(once)
    report(resource.address, "gone")


def _proof(resource: Resource, known: Known, patience: Patience) -> FrazilError | None:
    there = known.get(resource.address)
    if there is None:
        return MissingError(f"{resource.address} is not there.", todo="Run `frazil deploy create`.")
    try:
        patience.wait(lambda: resource.verify(there, known))
    except Exception as e:  # noqa: BLE001 - whatever it is, it is why the object does not work
        return explain(e)
    return None
