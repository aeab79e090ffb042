"""Objects and what they need: read and deleted along the edges, in parallel."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from graphlib import TopologicalSorter
from types import MappingProxyType

from frazil.errors import MissingError, NotAllowedError
from frazil_cloud.patience import Hear, Patience, log_waiting
from frazil_cloud.resource import Facts, GoesWithAnother, Known, NeedMissingError, NotYet, Resource

Report = Callable[[str, str], None]
"""Hears of an address what becomes of it now."""

THREADS = 8
"""Deeds that are done at once."""


class KnownFacts(dict[str, Facts]):
    """Facts by address; what nobody has read is missing in words of its own.

    Attributes:
        unread: The objects that nobody could look for, by what is missing for that: they may be there.
    """

    def __init__(self, facts: Known = MappingProxyType({})) -> None:
        super().__init__(facts)
        self.unread: dict[str, str] = {}

    def __missing__(self, address: str) -> Facts:
        raise NeedMissingError(address)


@dataclass(frozen=True, slots=True)
class Times:
    """How long is waited.

    Args:
        patience: Seconds that one object may take to be as it should be, or to go.
        margin: Seconds in which an object is looked for that was made, or whose creation got no answer,
            before it is recreated: clouds show new objects late, and names need not be unique.
        pause: Longest time between two looks at one object, in seconds.
        hear: Hears what is waited for.
    """

    patience: float = 1800.0
    margin: float = 20.0
    pause: float = 5.0
    hear: Hear = log_waiting

    def of(self, address: str, stop: threading.Event | None = None) -> Patience:
        """The patience with one object, until something else fails."""
        return Patience(address, self.patience, self.pause, stop or threading.Event(), self.hear)


class Graph:
    """Objects, each address once.

    Args:
        resources: All of them; each need is among them, or among those that are given.
        times: How long each is waited for.
        given: Facts of what the resources need that is none of them.
    """

    def __init__(self, resources: Iterable[Resource], times: Times, given: Known | None = None) -> None:
        self.all = {resource.address: resource for resource in resources}
        self.needs = {
            address: tuple(need for need in resource.needs if given is None or need in self.all)
            for address, resource in self.all.items()
        }
        self.order = tuple(TopologicalSorter(self.needs).static_order())
        self._times, self._given = times, given or {}
        if unknown := sorted(set(self.order) - self.all.keys()):
            raise MissingError(f"Nothing of the deployment is {', '.join(unknown)}, which others need.")

    def with_needs(self, addresses: Iterable[str]) -> dict[str, Resource]:
        """Some objects, and all that they need."""
        wanted, needed = list(addresses), dict[str, Resource]()
        while wanted:
            address = wanted.pop()
            needed[address] = self.all[address]
            wanted += [need for need in self.needs[address] if need not in needed]
        return needed

    def read(self) -> KnownFacts:
        """What is there now."""
        known = KnownFacts(self._given)

        def read(address: str, patience: Patience) -> None:
            try:
                there = patience.wait(lambda: self.all[address].read(known))
            except NeedMissingError as e:
                known.unread[address] = str(e.args[0])
                return
            if there is not None:
                known[address] = there

        self.walk(self.needs, read)
        return known

    def drop(self, addresses: Iterable[str], known: Known, report: Report) -> None:
        """Deletes objects, users before what they use; what is gone already is no error."""
        chosen, users = set(addresses), {address: list[str]() for address in self.order}
        for address in self.order:
            for needed in self.needs[address]:
                users[needed].append(address)

        def drop(address: str, patience: Patience) -> None:
            if address in chosen:
                patience.wait(_Removal(self.all[address], known, report).step)
                report(address, "gone")

        self.walk(users, drop)

    def walk(self, needs: Mapping[str, Iterable[str]], do: Callable[[str, Patience], None]) -> None:
        """Does all, each after those that it needs, as many at once as there are threads."""
        order = TopologicalSorter(needs)
        order.prepare()
        stop, running, failed = threading.Event(), dict[Future[None], str](), list[BaseException]()
        with ThreadPoolExecutor(THREADS) as threads:
            try:
                while order.is_active() and not (failed and not running):
                    for address in () if failed else order.get_ready():
                        running[threads.submit(do, address, self._times.of(address, stop))] = address
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


@dataclass
class _Removal:
    """The removal of one object, which may be seen for a while after it was asked for."""

    resource: Resource
    known: Known
    report: Report
    is_asked: bool = False

    def step(self) -> None:
        """Asks for it; NotYet while the object is seen."""
        there = _read(self.resource, self.known)
        if there is None:
            return
        self.report(self.resource.address, "deleting")
        try:
            self.resource.delete(there, self.known)
        except GoesWithAnother:
            return
        except NotAllowedError:
            if not self.is_asked:  # later, it is what Confluent says of objects that are on their way out
                raise
        self.is_asked = True
        if _read(self.resource, self.known) is not None:
            raise NotYet("it is still seen")
