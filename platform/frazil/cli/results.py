"""What came of a command, table by table: whatever one table meets ends none of the others."""

from __future__ import annotations

import getpass
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Generic, TypeVar

import typer
from rich.status import Status

from frazil.cli.console import complain, console
from frazil.cli.selection import Selection
from frazil.errors import (
    ChecksFailedError,
    FrazilError,
    InterruptedWorkError,
    NotYetError,
    PausedError,
    explain,
)
from frazil.interruption import interruptible
from frazil.landing.halts.pause import PauseReport
from frazil.reporting import Done, Failure, WorkKind, is_news
from frazil.spec.names import Things, things
from frazil.spec.table import AnyTable

S = TypeVar("S", bound=AnyTable)
R = TypeVar("R", bound="Done | PauseReport")
T = TypeVar("T")

OnStep = Callable[[str], None]
"""Is told what is done right now."""


@dataclass(frozen=True)
class Results(Generic[T]):
    """By table what was done, and what failed; a table whose report nobody could be told is in both.

    `awaited`: those of a whole folder that are paused, or which nobody has made yet, or their topics.
    """

    done: dict[str, T] = field(default_factory=dict)
    failed: dict[str, FrazilError] = field(default_factory=dict)
    awaited: dict[str, NotYetError | PausedError] = field(default_factory=dict)

    @property
    def reports(self) -> list[T]:
        """What was done, in the order of the tables."""
        return list(self.done.values())

    @property
    def errors(self) -> list[dict[str, Any]]:
        """What failed, and what is not there yet, for scripts."""
        return [
            *({"table": table, "awaits": error.what} for table, error in self.awaited.items()),
            *({"table": table, "error": error.document} for table, error in self.failed.items()),
        ]

    @property
    def interrupted(self) -> bool:
        """Whether somebody stopped the command: nothing more is begun."""
        return any(isinstance(error, InterruptedWorkError) for error in self.failed.values())

    def fail(self, table: str, error: Exception, *, every: bool) -> None:
        """Notes why a table was not done; where `every` one is meant, one that is not there yet waits."""
        failure = explain(error)
        if every and isinstance(failure, NotYetError | PausedError):
            self.awaited[table] = failure
        else:
            self.failed[table] = failure

    def exit(self) -> None:
        """Tells people what failed, once where several met the same; exits by the worst error's code."""
        for table, awaited in self.awaited.items():
            console.print(f"{table} waits: {awaited.what}", style="dim")
        met: dict[str, list[str]] = {}
        for table, error in self.failed.items():
            met.setdefault(str(error), []).append(table)
        several = len({*self.done, *self.failed}) > 1
        for tables in met.values():
            complain(self.failed[tables[0]], ", ".join(tables) if several else "")
        if self.failed:
            raise typer.Exit(max(error.exit_code for error in self.failed.values()))


def each(
    selection: Selection[S],
    verb: str,
    do: Callable[[S, OnStep], R],
    *,
    every: bool = False,
) -> Results[R]:
    """Works on one table after the other.

    Args:
        verb: For the line that moves on a terminal: "landing".
        every: All were asked for, none by its name: one that is not there yet, or paused, is no failure.
    """
    results = Results[R](failed=dict(selection.broken))
    for spec, names in selection.pairs:
        steps: list[str] = []
        try:
            with interruptible(), console.status(f"{verb} {names.table}") as status:
                report = do(spec, partial(_note_step, steps, status, names))
            _note(results, selection, spec, report, verb, every=every)
        except Exception as e:  # noqa: BLE001 - it is the result of this table
            _note(results, selection, spec, e, verb, every=every)
        except KeyboardInterrupt:
            results.failed[str(names.table)] = _interrupted(verb, names, steps)
            break
    return results


def each_as_it_ends(
    selection: Selection[S], verb: str, ended: Iterable[tuple[S, R | Exception]], *, every: bool = False
) -> Results[R]:
    """Takes in tables that are worked on at the same time; the arguments are those of `each`."""
    results = Results[R](failed=dict(selection.broken))
    tables = {id(spec): str(names.table) for spec, names in selection.pairs}
    left = dict(tables)
    try:
        with interruptible(), console.status(f"{verb} {len(tables)} tables") as status:
            for spec, outcome in ended:
                _note(results, selection, spec, outcome, verb, every=every)
                del left[id(spec)]
                status.update(f"{verb} {len(tables)} tables, {len(left)} left")
    except KeyboardInterrupt:
        results.failed.update(dict.fromkeys(left.values(), _interrupted_together(verb)))
    done = {table: results.done[table] for table in tables.values() if table in results.done}
    return replace(results, done=done)


def _note(
    results: Results[R], selection: Selection[S], spec: S, outcome: R | Exception, verb: str, *, every: bool
) -> None:
    """Takes in what came of one table, and tells of it those who want to hear."""
    table = str(things(spec, selection.connections.settings).table)
    try:
        if isinstance(outcome, Exception):
            raise outcome
        results.done[table] = outcome
        if not isinstance(outcome, PauseReport) and is_news(outcome):
            selection.tell(spec, outcome)
    except ChecksFailedError as e:
        results.fail(table, e, every=every)
        _tell_checks(selection, spec, e)
        _tell_failure(selection, spec, e, verb)
    except Exception as e:  # noqa: BLE001 - it is the result of this table
        results.fail(table, e, every=every)
        _tell_failure(selection, spec, e, verb)


def _tell_failure(selection: Selection[S], spec: S, error: Exception, verb: str) -> None:
    """Tells of a landing or a derivation that failed; a publication tells which target it was."""
    if kind := _KINDS.get(verb):
        tell_failure(selection, spec, Failure.of(kind, error))


def tell_failure(selection: Selection[S], spec: S, failure: Failure | None) -> None:
    """Tells of work that failed, if it did; that nobody hears it is no error beside the table's own."""
    if failure:
        with suppress(Exception):
            selection.tell(spec, failure)


_KINDS: Mapping[str, WorkKind] = {"landing": "land", "deriving": "derive"}


@contextmanager
def telling_checks(selection: Selection[S], spec: S) -> Iterator[None]:
    """Tells those who want to hear which checks stop a table, behind what was published before that."""
    try:
        yield
    except ChecksFailedError as e:
        _tell_checks(selection, spec, e)
        raise


def _tell_checks(selection: Selection[S], spec: S, error: ChecksFailedError) -> None:
    """Tells what each check says of rows that were not published."""
    from frazil.checks.own import results_of  # no other command need wait for it

    results = results_of(spec, selection.connections.settings, error.outcomes)
    selection.tell_all([(spec, result) for result in results])


def _note_step(steps: list[str], status: Status, names: Things, step: str) -> None:
    steps.append(step)
    status.update(f"{names.table}: {step}")


def _interrupted(verb: str, names: Things, steps: Sequence[str]) -> InterruptedWorkError:
    """What came of a table whose work was stopped, by the steps that it had done."""
    if steps[-1:] == ["audited"]:
        meaning = "Its commit was under way: all of it is visible, or nothing."
    elif "published" in steps:
        meaning = "What was published before stays; of what was under way nothing is visible."
    else:
        meaning = "Nothing landed." if verb == "landing" else "No table shows anything half done."
    return InterruptedWorkError(
        f"Stopped by Ctrl-C while {verb} {names.table}.",
        meaning=meaning,
        todo=f"`frazil describe {names.table}` tells how it stands; the same command goes on.",
    )


def _interrupted_together(verb: str) -> InterruptedWorkError:
    return InterruptedWorkError(
        f"Stopped by Ctrl-C while {verb} these tables.",
        meaning="Those that had begun were let end; of each all is visible, or nothing.",
        todo="`frazil tables` tells how they stand; the same command goes on.",
    )


def run_id() -> str:
    """A name for one landing or derivation, noted in its snapshots."""
    return f"cli-{time.time_ns()}"


def person() -> str:
    """Who runs the command, as the machine knows them; empty where it does not, as in some containers."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return ""
