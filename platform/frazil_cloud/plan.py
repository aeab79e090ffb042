"""What a deployment needs to become as it should be: steps that say field by field what changes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal

from frazil.errors import DifferentError
from frazil_cloud.nested import as_text, differences_within
from frazil_cloud.resource import Facts, Known, NeedMissingError, Resource

Action = Literal["create", "update", "delete", "keep", "hold", "blocked"]

MARKS: Mapping[Action, str] = {
    "create": "+",
    "update": "~",
    "delete": "-",
    "keep": " ",
    "hold": "=",
    "blocked": "!",
}


@dataclass(frozen=True, slots=True)
class Change:
    """A field that is not as it should be."""

    field: str
    is_: Any
    should: Any

    def __str__(self) -> str:
        return "; ".join(f"{self.field}{each}" for each in differences_within(self.is_, self.should))


@dataclass(frozen=True, slots=True)
class Step:
    """What is to be done with one object.

    Hold: it was taken out, and stays, for it holds data. Blocked: a field differs that nobody can change.
    """

    address: str
    action: Action
    changes: tuple[Change, ...] = ()
    why: str = ""

    def __str__(self) -> str:
        head = " ".join(filter(None, [MARKS[self.action], self.address, self.why]))
        return "\n".join([head, *(f"    {change}" for change in self.changes)])


@dataclass(frozen=True, slots=True)
class Plan:
    """The steps of one deployment, each after those that it needs."""

    steps: tuple[Step, ...]

    @property
    def news(self) -> tuple[Step, ...]:
        """The steps that do something, or can't."""
        return tuple(step for step in self.steps if step.action not in ("keep", "hold"))

    @property
    def held_back(self) -> tuple[Step, ...]:
        """The objects that were taken out, and stay."""
        return tuple(step for step in self.steps if step.action == "hold")

    @property
    def blocked(self) -> tuple[Step, ...]:
        """The steps that nobody can do."""
        return tuple(step for step in self.steps if step.action == "blocked")

    @property
    def digest(self) -> str:
        """Names the plan: what was agreed to is what is done."""
        lines = sorted((step.address, step.action, *map(str, step.changes)) for step in self.news)
        return sha256(json.dumps(lines).encode()).hexdigest()[:12]

    @property
    def document(self) -> dict[str, Any]:
        """The same for scripts."""
        steps = [
            {
                "address": step.address,
                "action": step.action,
                "why": step.why,
                "changes": {c.field: {"is": c.is_, "should": c.should} for c in step.changes},
            }
            for step in self.news
        ]
        return {"digest": self.digest, "steps": steps, "held": [step.address for step in self.held_back]}

    def __str__(self) -> str:
        return "\n".join(map(str, self.news))


def step_of(resource: Resource, known: Known, unread: str = "") -> Step:
    """What is to be done with one object, given the facts of all.

    `unread` is what was missing for looking for it, so that it may be there.
    """
    missing = [need for need in resource.needs if need not in known]
    missing += [unread] if unread and unread not in missing else []
    why = f"(after {', '.join(missing)})" if missing else ""
    there = known.get(resource.address)
    if there is None:
        return Step(resource.address, "create", why=why)
    try:
        changes = differences(resource.wanted(known), there)
    except NeedMissingError:
        return Step(resource.address, "update", why=why)
    blocked = [change for change in changes if change.field in resource.fixed]
    return Step(resource.address, "blocked" if blocked else "update" if changes else "keep", changes)


def differences(wanted: Facts, there: Facts) -> tuple[Change, ...]:
    """The wanted fields that are not so; lists and tuples are alike."""
    return tuple(
        Change(name, there.get(name), should)
        for name, should in wanted.items()
        if as_text(there.get(name)) != as_text(should)
    )


def unchangeable(steps: Iterable[Step]) -> DifferentError:
    """Tells of the steps that nobody can do."""
    return DifferentError(
        "Fields differ that nobody can change once an object is there.",
        where="\n".join(map(str, steps)),
        meaning="Nothing was done.",
        todo="Put the old values into the deployment; or delete these objects yourself, with all that they "
        "hold, and plan again.",
    )
