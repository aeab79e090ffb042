"""Who wants to hear of the command line's work: found by entry point, so the engine knows no Dagster."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import entry_points
from typing import Protocol

from frazil.checks.result import CheckResult
from frazil.derive.derive import DeriveReport
from frazil.landing.report import LandingReport
from frazil.publishing.target import Shown
from frazil.settings import Settings
from frazil.spec.derived import DerivedSpec
from frazil.spec.names import Things
from frazil.spec.table import AnyTable
from frazil.spec.topic import TableSpec
from frazil.upkeep.work import WorkReport

__all__ = ["GROUP", "Reporter", "load_reporters"]

GROUP = "frazil.reporters"
"""Entry points of this group are called with the settings and give a `Reporter`."""


class Reporter(Protocol):
    """Is told what was done, after it was done."""

    @property
    def listens(self) -> bool:
        """Whether there is anybody to tell; cheap to ask."""

    def landed(self, spec: TableSpec, things: Things, report: LandingReport) -> None:
        """A landing is published."""

    def derived(self, spec: DerivedSpec, things: Things, report: DeriveReport) -> None:
        """Rows were derived, or there was nothing new."""

    def synced(self, spec: AnyTable, things: Things, shown: Sequence[Shown]) -> None:
        """Targets show the table as it is now."""

    def kept_up(self, spec: AnyTable, things: Things, report: WorkReport) -> None:
        """Upkeep was done on the table."""

    def checked(self, spec: AnyTable, things: Things, result: CheckResult) -> None:
        """A check was run."""


def load_reporters(settings: Settings) -> tuple[Reporter, ...]:
    """All installed reporters that have somebody to tell."""
    found = (point.load()(settings) for point in entry_points(group=GROUP))
    return tuple(reporter for reporter in found if reporter.listens)
