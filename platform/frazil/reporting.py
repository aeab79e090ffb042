"""Who wants to hear of the command line's work: found by entry point, so the engine knows no Dagster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from itertools import chain
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from frazil.checks.layers.history import Delay
from frazil.checks.result import CheckResult
from frazil.errors import FrazilError, InterruptedWorkError, NotYetError, OvertakenError, PausedError, explain
from frazil.landing.report import LandingReport
from frazil.publishing.target import Shown, Spent
from frazil.settings.profile import Settings
from frazil.spec.names import AssetPath
from frazil.spec.table import AnyTable
from frazil.spec.topic import TableSpec
from frazil.upkeep.work import WorkReport

if TYPE_CHECKING:
    from frazil.derive.report import DeriveReport

GROUP = "frazil.reporters"
"""Entry points of this group are called with the settings and give a `Reporter`."""


WorkKind = Literal["land", "derive", "publish"]


@dataclass(frozen=True, slots=True)
class Failure:
    """Work on a table that failed.

    Args:
        target: The path of the asset that was to be published; empty for other work.
    """

    kind: WorkKind
    error: FrazilError
    target: AssetPath = ()

    @classmethod
    def of(cls, kind: WorkKind, error: Exception, target: AssetPath = ()) -> Failure | None:
        """None where nothing failed: it waits, another one was quicker, or somebody stopped it."""
        failure = explain(error)
        return None if isinstance(failure, _NO_FAILURE) else cls(kind, failure, target)


_NO_FAILURE = (NotYetError, PausedError, OvertakenError, InterruptedWorkError)

Done: TypeAlias = "LandingReport | DeriveReport | WorkReport | CheckResult | Failure | Sequence[Shown]"
"""What was done to a table or failed, found of it, or shown of it; a derivation may have found nothing."""


def is_news(done: Done) -> bool:
    """Whether anything changed. What did not is not told: an event sets off whatever follows its asset."""
    from frazil.derive.report import DeriveReport  # a command that derives nothing need not wait for it

    match done:
        case LandingReport():
            return done.landings > 0
        case DeriveReport():
            return done.done or done.rolled_back_to is not None
        case WorkReport():
            return done.done
        case CheckResult() | Failure():
            return True
        case _:
            return any(shown.changed for shown in done)


@dataclass(frozen=True, slots=True)
class Published:
    """What is known of the publications to one target.

    Args:
        delays: How long commits took to be shown, of those that showed something new, the newest first.
        spent: What all of them took.
    """

    delays: Sequence[Delay] = ()
    spent: Spent = field(default_factory=Spent)


class Reporter(Protocol):
    """Is told what was done, after it was done."""

    @property
    def listens(self) -> bool:
        """Whether there is anybody to tell; cheap to ask."""

    def tell(self, spec: AnyTable, done: Done) -> None:
        """Tells of one table."""

    def tell_all(self, news: Iterable[tuple[AnyTable, Done]]) -> None:
        """Tells of several, in this order."""

    def hold(self, specs: Sequence[TableSpec], until: float) -> None:
        """Tells that this process lands these tables until then, in seconds since the epoch, or longer.

        Nobody else needs to; an earlier time takes that back.
        """

    def published(self, paths: Iterable[AssetPath], since: float) -> Mapping[AssetPath, Published]:
        """What it was told of publications to targets since a time; nothing if not kept."""


def tell_each(reporters: Iterable[Reporter], tell: Callable[[Reporter], None]) -> None:
    """Tells each reporter, though one before it fails; raises what the first of them raised."""
    errors: list[Exception] = []
    for reporter in reporters:
        try:
            tell(reporter)
        except Exception as e:  # noqa: BLE001 - the others hear of it all the same
            errors.append(e)
    if errors:
        raise errors[0]


def published_of(
    reporters: Iterable[Reporter], paths: Sequence[AssetPath], since: float
) -> Mapping[AssetPath, Published] | None:
    """What those remember who heard of publications; None where nobody does."""
    histories = [reporter.published(paths, since) for reporter in reporters]
    return dict(chain.from_iterable(each.items() for each in histories)) if any(histories) else None


def load_reporters(settings: Settings) -> tuple[Reporter, ...]:
    """All installed reporters that have somebody to tell."""
    reporters = (point.load()(settings) for point in entry_points(group=GROUP))
    return tuple(reporter for reporter in reporters if reporter.listens)
