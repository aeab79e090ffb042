"""What a kind of upkeep is: when a table needs it, and what it does then."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from frazil.connections import Connections
from frazil.spec.table import AnyTable
from frazil.tables.metadata.manifests import Head, HeadReader
from frazil.upkeep.facts import Facts, History
from frazil.upkeep.work import Number, WorkReport

if TYPE_CHECKING:
    from pyiceberg.table import Table


@dataclass(frozen=True, slots=True)
class Order:
    """How work is to be done."""

    reason: str = ""  # why it is done now; noted in the snapshots, or told in the report
    dry_run: bool = False  # tell only what would be done
    everything: bool = False  # a compaction rewrites all files, also those that are as they should be

    @property
    def why(self) -> str:
        """The reason as the end of a report."""
        return f" Why: {self.reason}" if self.reason else ""


AS_USUAL = Order()


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a table needs work: a sentence, and the numbers in it."""

    text: str
    numbers: Mapping[str, Number] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Finding:
    """What a kind of upkeep found when it looked into a table."""

    at: float  # when it looked, in seconds since the epoch
    facts: Facts
    result: Any  # what it found; only that kind knows what it means


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of one table."""

    spec: AnyTable
    table: str
    facts: Facts
    history: History | None = None  # what its snapshots told when somebody last looked
    findings: Mapping[str, Finding] = field(default_factory=dict)
    location: str = ""  # of its metadata

    def age(self, kind: Kind, now: float) -> float:
        """Seconds since the last work of a kind; infinite where there was none."""
        last = self.facts.last.get(kind.name)
        return now - last.at if last else math.inf

    def is_over(self, kind: Kind, pause: timedelta, now: float) -> bool:
        """Whether the pause after the last work of a kind is over."""
        return self.age(kind, now) >= pause.total_seconds()

    def current(self, kind: Kind) -> Finding | None:
        """What a kind found, if it looked at the present head."""
        finding = self.findings.get(kind.name)
        return finding if finding and finding.facts.head == self.facts.head else None

    def unworked(self, kind: Kind) -> Finding | None:
        """What a kind found, if it has not worked since."""
        finding, last = self.findings.get(kind.name), self.facts.last.get(kind.name)
        return finding if finding and (last is None or last.at <= finding.at) else None


@dataclass(frozen=True)
class View:
    """A table while kinds of upkeep look into it; its manifests are read once, and only if one asks."""

    table: Table

    @cached_property
    def head(self) -> Head | None:
        """The files of its head."""
        return HeadReader().read(self.table)


class Kind(ABC):
    """One kind of upkeep; `frazil.upkeep.kinds` has all of them."""

    name: ClassVar[str]
    """In properties, tags and documents: such as `row_expiry`; also the name of its job."""

    step: ClassVar[str]
    """Name of its job's one step."""

    about: ClassVar[str]
    """What it does, in a sentence."""

    at_once: ClassVar[int] = 1
    """Tables that are worked on at once: one where data is rewritten, to leave landings their share."""

    @property
    def title(self) -> str:
        """Its name for people."""
        return self.name.replace("_", " ")

    @abstractmethod
    def why_due(self, known: Known, now: float) -> Reason | None:
        """Why a table needs it now; None where it does not."""

    @abstractmethod
    def run(self, spec: AnyTable, connections: Connections, now: float, order: Order) -> WorkReport:
        """Does it to one table; `now` is in seconds since the epoch."""

    def needs_look(self, known: Known, now: float) -> bool:
        """Whether only the table's snapshots or manifests can tell what is due."""
        return False

    def look(self, view: View, known: Known, now: float) -> Any:
        """Looks into the table; what it returns is kept as the finding's `result`."""
        raise NotImplementedError(f"{self.name} says that it needs no look")


@dataclass(frozen=True, slots=True)
class Work:
    """Upkeep of one kind that one table needs; `reason` is a sentence with the `numbers` in it."""

    kind: Kind
    spec: AnyTable
    table: str
    reason: str
    numbers: Mapping[str, Number] = field(default_factory=dict)


def since(what: str, age: float, pause: timedelta) -> str:
    """How long ago something was, against the pause that is enough."""
    if math.isinf(age):
        return f"there was no {what} yet"
    return f"last {what} {age:.0f} s ago, {pause.total_seconds():.0f} s are enough"
