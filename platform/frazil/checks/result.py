"""What a check is, and what it says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from frazil.connections import Connections
from frazil.errors import RetryError
from frazil.spec.names import AssetPath, Things
from frazil.spec.table import AnyTable
from frazil.tables.catalogs.handle import TableHandle

S = TypeVar("S", bound=AnyTable, covariant=True)

Number = int | float | str
Status = Literal["passed", "failed", "skipped"]
Severity = Literal["ERROR", "WARN"]


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One check of one table: a sentence with the numbers that it compared, and the asset that it guards.

    `skipped` is what could not be compared: nothing is known, neither good nor bad; `down` is why, where a
    server does not answer.
    """

    check: str
    table: str
    status: Status
    severity: Severity
    text: str
    numbers: Mapping[str, Number]
    asset: AssetPath
    blocking: bool = False
    down: RetryError | None = None

    @property
    def passed(self) -> bool:
        """Whether it compared, and found what it should."""
        return self.status == "passed"

    @property
    def failed(self) -> bool:
        """Whether it compared, and found something else."""
        return self.status == "failed"


@dataclass(frozen=True)
class Subject(Generic[S]):
    """What a check looks at."""

    spec: S
    things: Things
    connections: Connections

    @property
    def handle(self) -> TableHandle:
        """The table."""
        return TableHandle(self.connections.catalog, self.things.table)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a check function finds; its name and table are added by the caller.

    `skipped` says why nothing could be compared; then `passed` means nothing.
    """

    passed: bool
    text: str
    numbers: Mapping[str, Number]
    severity: Severity = "ERROR"
    skipped: bool = False

    @classmethod
    def skip(cls, because: str, numbers: Mapping[str, Number] | None = None) -> Verdict:
        """Nothing could be compared."""
        return cls(True, f"Skipped, because {because}.", numbers or {}, skipped=True)

    @property
    def status(self) -> Status:
        """The outcome in one word."""
        if self.skipped:
            return "skipped"
        return "passed" if self.passed else "failed"


@dataclass(frozen=True, slots=True)
class Check:
    """A check, the asset that it guards, and whether readers must be kept from what fails it.

    `deep` ones read the data, not only metadata, and run on request.
    """

    name: str
    asset: AssetPath
    blocking: bool
    description: str
    look: Callable[[Subject[Any]], Verdict]
    deep: bool = False
