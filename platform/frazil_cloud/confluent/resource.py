"""What all objects of Confluent Cloud have in common: an address, needs, and a client."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import ClassVar

from frazil_cloud.confluent.client import Confluent
from frazil_cloud.confluent.plane import Json, Plane, stays
from frazil_cloud.resource import Facts, Known, RefusedYet


@dataclass(frozen=True, kw_only=True)
class Thing:
    """One object."""

    address: str
    needs: tuple[str, ...] = ()
    confluent: Confluent = field(repr=False)
    fixed: ClassVar[frozenset[str]] = frozenset()

    def update(self, there: Facts, known: Known) -> None:
        """Most objects never change: what differs is in `fixed`, and stops the plan."""

    def verify(self, there: Facts, known: Known) -> None:
        """Checks nothing: the objects that need this one prove it."""


@dataclass(frozen=True, kw_only=True)
class Listed(Thing):
    """An object of a collection, found again by its display name.

    Args:
        name: The display name.
    """

    name: str
    path: ClassVar[str]
    gone: ClassVar[tuple[int, ...]] = (404,)

    def plane(self, known: Known) -> Plane:
        """Who is asked."""
        return self.confluent.cloud

    def place(self, known: Known) -> dict[str, str]:
        """Where it is listed: the query of the collection."""
        return {}

    def facts(self, body: Json, known: Known) -> Facts:
        """What is known of one that is there."""
        raise NotImplementedError

    def body(self, known: Known) -> Json:
        """What it is made of."""
        raise NotImplementedError

    def read(self, known: Known) -> Facts | None:
        """What is there, by its name."""
        body = self.find(known)
        return None if body is None else self.facts(body, known)

    def find(self, known: Known) -> Json | None:
        """The object itself; one that is being deleted is none any more."""
        for body in self.plane(known).every(self.path, **self.place(known)):
            inside = body.get("spec", body)
            if inside.get("display_name") == self.name and stays(body):
                return body
        return None

    def create(self, known: Known) -> None:
        """Makes it."""
        self.plane(known).post(self.path, self.body(known))

    def delete(self, there: Facts, known: Known) -> None:
        """Removes it."""
        self.plane(known).delete(f"{self.path}/{there['id']}", self.place(known))

    def remade(self, there: Facts, known: Known, why: str) -> None:
        """Removes one that FAILED, for it never was of use; the next look makes it anew."""
        self.delete(there, known)
        raise RefusedYet(f"it FAILED and is made anew: {why or 'no reason was told'}")


@dataclass(frozen=True, kw_only=True)
class Renamable(Listed):
    """An object to which others can give another name. A mark says which it is; a new one has its name."""

    def find(self, known: Known) -> Json | None:
        """By its name, where it is the only one; else by its mark."""
        there = [each for each in self.plane(known).every(self.path, **self.place(known)) if stays(each)]
        if (seen := known.get(self.address)) is not None:  # its mark may have gone since
            return next((each for each in there if each["id"] == seen["id"]), None)
        named = [each for each in there if each["spec"]["display_name"] == self.name]
        if len(there) == len(named) == 1:
            return named[0]
        marked = self.marked(there, known) if there else ()
        return next((each for each in (*named, *there) if each["id"] in marked), next(iter(named), None))

    def marked(self, there: Collection[Json], known: Known) -> Collection[str]:
        """The ids that bear the mark, of those that are there."""
        raise NotImplementedError
