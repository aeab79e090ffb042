"""A probe asks for one right of one system; a finding says what came of it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

from frazil.connections import Connections
from frazil.spec.derived import DerivedSpec
from frazil.spec.names import TableName, things
from frazil.spec.table import AnyTable
from frazil.spec.topic import TableSpec

Status = Literal["ok", "missing", "down", "unproven", "slow", "not needed"]
"""`unproven`: it can't be asked for without a change that stays; `slow`: work goes on, and costs more."""

PREFIX = "frazil_doctor_"
"""What the doctor makes for a moment begins so."""


@dataclass(frozen=True, slots=True)
class Probe:
    """One right, asked for by a call.

    Args:
        right: What is asked for, the same words for all topics or tables.
        of: The topic, subject, table or namespace that it is asked for.
        ask: Raises a FrazilError where it is missing, and Unproven where it can't be told.
        mend: The line that gives the right, where a refusal does not say it by itself.
    """

    right: str
    ask: Callable[[], object]
    of: str = ""
    mend: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """What came of one probe."""

    system: str
    right: str
    of: str
    status: Status
    seconds: float
    what: str = ""  # what the system said, in words
    mend: str = ""  # the one line that mends it

    @property
    def fine(self) -> bool:
        """Whether nothing is known to be missing."""
        return self.status not in ("missing", "down")


Probes: TypeAlias = Generator[Probe, Finding, None]
"""The probes of one system: each is told what came of it before the next one is made."""


class Unproven(Exception):
    """The right can't be asked for without a change that stays; the text says what it is needed for."""

    status: ClassVar[Status] = "unproven"


class Slow(Unproven):
    """The work goes on without it, and costs more; the text says how much."""

    status: ClassVar[Status] = "slow"


@dataclass(frozen=True)
class Patient:
    """The tables of the chosen pipelines, and the systems that they work with."""

    specs: Sequence[AnyTable]
    connections: Connections

    @property
    def topics(self) -> list[TableSpec]:
        """The tables that are made of topics."""
        return [spec for spec in self.specs if isinstance(spec, TableSpec)]

    @property
    def feeds(self) -> list[TableSpec]:
        """The topics that tables feed, as if each were a table's own."""
        fed = [spec.feeds for spec in self.specs if isinstance(spec, DerivedSpec) and spec.feeds]
        return [TableSpec(topic=feed.topic, partitions=feed.partitions) for feed in fed]

    def shown_in(self, target: str) -> list[AnyTable]:
        """The tables that a target shows."""
        return [spec for spec in self.specs if target in spec.publish]

    def names(self, specs: Iterable[AnyTable]) -> list[TableName]:
        """The Iceberg tables of some of them."""
        return [things(spec, self.connections.settings).table for spec in specs]

    @property
    def namespaces(self) -> list[str]:
        """The namespaces of all tables that Frazil writes."""
        own = [spec for spec in self.specs if not spec.is_read_only]
        return sorted({name.namespace for name in self.names(own)})
