"""One derivation from end to end: positions, increments, query, write, publish, clean up."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from importlib.metadata import version
from typing import TYPE_CHECKING

from frazil.connections import Connections
from frazil.derive.computation import Computation, computation_of
from frazil.derive.dead_letters import LetterBox, bad_count, bad_rows, good_rows, keep_letters
from frazil.derive.feeds.feed import FeedReport, feed
from frazil.derive.inputs import Increment, rows_of
from frazil.derive.kinds import kind_of
from frazil.derive.ledger import DerivedLedger
from frazil.derive.output import ensure_output
from frazil.derive.plan import Plan, make_plan
from frazil.derive.publish import Derived
from frazil.derive.write import Result, Step, Task, Watched, derivation_job
from frazil.errors import CommitConflictError, FrazilError
from frazil.spec.derived import DerivedKind, DerivedSpec
from frazil.spec.names import things
from frazil.tables.branches import DERIVING, drop_outlived, leave_branch, new_branch
from frazil.tables.catalog import catalog_errors, load_table, load_table_or_none
from frazil.tables.commit import Committed
from frazil.tables.faults import spark_job
from frazil.tables.pyiceberg import drop_old_metadata
from frazil.tables.snapshots import ancestors
from frazil.tables.stage import publish

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyspark.sql import DataFrame

__all__ = ["DeriveReport", "derive"]


@dataclass(frozen=True, slots=True)
class DeriveReport:
    """What one call of `derive` did.

    Args:
        snapshot_id: The head of `main` now.
        done: Whether a snapshot was made.
        whole: Whether all inputs were read, and not only what is new in them.
        rows: Rows that were written.
        removed: Rows that were replaced.
        bad: Dead letters: rows that the query calls bad, or of windows far ahead of the clock.
        late: Rows of windows that were closed.
        input_rows: Rows that were read, by the inputs' own metadata.
        state_bytes: Bytes of the output's own files that were read to merge with.
        files: Data files that were written.
        watermark: Microseconds since the epoch.
        inputs: The snapshot of each input that the table now holds.
        rolled_back_to: The snapshot to which the table went back first, because an input had.
        conflicts: How often publishing was tried again because others had committed in between.
        fed: Records that the table's topic got.
        text: All of this in a sentence.
    """

    table: str
    kind: DerivedKind
    snapshot_id: int | None = None
    done: bool = False
    whole: bool = False
    rows: int = 0
    removed: int = 0
    total_rows: int = 0
    bad: int = 0
    late: int = 0
    input_rows: int = 0
    input_bytes: int = 0
    state_bytes: int = 0
    files: int = 0
    watermark: int | None = None
    inputs: dict[str, int] | None = None
    rolled_back_to: int | None = None
    conflicts: int = 0
    fed: int = 0
    seconds: float = 0.0
    text: str = ""


def _nothing(spec: DerivedSpec, table: str, plan: Plan) -> DeriveReport:
    """The report of a derivation that found nothing new."""
    head = next(ancestors(plan.table.metadata), None) if plan.table else None
    before = plan.before
    return DeriveReport(
        table=table,
        kind=spec.kind,
        snapshot_id=head.snapshot_id if head else None,
        total_rows=before.total_rows if before else 0,
        watermark=before.watermark if before else None,
        inputs={name: p.snapshot for name, p in before.inputs.items()} if before else {},
        rolled_back_to=plan.rolled_back_to,
        text=f"Nothing new for {table}: it holds all that its inputs do{_went_back(plan)}.",
    )


def _report(
    spec: DerivedSpec, table: str, plan: Plan, entry: DerivedLedger, result: Result, published: Committed
) -> DeriveReport:
    """The report of a derivation that is published."""
    before = plan.before.total_rows if plan.before else 0
    removed = before if plan.whole else sum(result.removed.values())
    rows, size = (sum(getattr(new, what) for new in plan.increments.values()) for what in ("rows", "bytes"))
    apart = "".join(f", {n} {word}" for n, word in ((entry.bad, "bad"), (entry.late, "late")) if n)
    read = f"{'all' if plan.whole else 'new'} {rows} rows of {', '.join(sorted(plan.inputs))}"
    return DeriveReport(
        table=table,
        kind=spec.kind,
        snapshot_id=published.snapshot_id,
        done=True,
        whole=plan.whole,
        rows=entry.rows,
        removed=removed,
        total_rows=before - removed + entry.rows,
        bad=entry.bad,
        late=entry.late,
        input_rows=rows,
        input_bytes=size,
        state_bytes=result.state_bytes,
        files=len(result.staged.files),
        watermark=entry.watermark,
        inputs={name: p.snapshot for name, p in plan.positions.items()},
        rolled_back_to=plan.rolled_back_to,
        conflicts=published.conflicts,
        text=f"{table}: {entry.rows} rows written of {read}{apart}{_went_back(plan)}.",
    )


def _went_back(plan: Plan) -> str:
    where = plan.rolled_back_to
    return f"; an input was rolled back, so it went back to snapshot {where} first" if where else ""


_TRIES = 5
"""Times that files are merged where compactions take them away all the while."""


def derive(
    spec: DerivedSpec,
    connections: Connections,
    *,
    now: float | None = None,
    rebuild: bool = False,
    from_here: bool = False,
    run_id: str = "",
    on_step: Step = lambda _: None,
) -> DeriveReport:
    """Brings a table up to what its inputs hold now.

    Args:
        spec: The table.
        connections: The outside systems.
        now: The clock, in seconds since the epoch: what the query calls `:now`.
        rebuild: Make all of it anew from the whole inputs, in one commit.
        from_here: Let a query that was changed make the rows that come; those that are there stay.
        run_id: Noted in the snapshot.
        on_step: See `Step`.

    Raises:
        MissingError: An input is not there.
        PositionLostError: Nothing tells any more what is new in an input; a rebuild helps.
        QueryChangedError: The rows that are there come from another query; a rebuild helps.
        OvertakenError: Another derivation of the same table was quicker; nothing of this one is visible.
        FrazilError: See docs/derive.md for the others. Never is a part of a derivation visible.
    """
    started = time.monotonic()
    clock = time.time() if now is None else now
    with catalog_errors(connections.settings):
        report = _Derivation(spec, connections, clock, run_id, on_step).run(
            rebuild=rebuild, from_here=from_here
        )
        if spec.feeds:
            report = _fed(report, feed(spec, connections, on_step=on_step))
    return replace(report, seconds=round(time.monotonic() - started, 3))


def _fed(report: DeriveReport, fed: FeedReport) -> DeriveReport:
    return replace(
        report, fed=fed.records, text=f"{report.text} Topic {fed.topic} got {fed.records} records."
    )


class _Derivation:
    """The parts that the steps of one derivation share."""

    def __init__(
        self, spec: DerivedSpec, connections: Connections, now: float, run_id: str, on_step: Step
    ) -> None:
        self._spec, self._connections, self._now, self._run_id = spec, connections, now, run_id
        self._catalog = connections.catalog
        self._name = things(spec, connections.settings).table
        self._computation: Computation = computation_of(spec)
        self._kind = kind_of(spec.kind)
        self._done = on_step
        self._branches: list[str] = []

    def run(self, *, rebuild: bool, from_here: bool) -> DeriveReport:
        """Plans, and does it unless nothing is new."""
        plan = make_plan(self._catalog, self._name, self._computation, rebuild=rebuild, from_here=from_here)
        if plan.table:
            drop_outlived(self._catalog, self._name, plan.table)
        self._done("planned")
        if not plan.due:
            return _nothing(self._spec, str(self._name), plan)
        with self._rows(plan, plan.increments) as rows:
            table = self._output(plan, rows)
            return self._derive(plan, table, rows)

    @contextmanager
    def _rows(self, plan: Plan, new: Mapping[str, Increment]) -> Iterator[DataFrame]:
        """What the query makes of increments, bad rows among it."""
        spark = self._connections.spark
        with spark_job(derivation_job(self._name)):
            frames = {
                said: rows_of(spark, name, plan.inputs[str(name)], new[str(name)])
                for said, name in plan.names.items()
            }
            with self._computation.upon(spark, frames, self._now) as rows:
                yield rows

    def _output(self, plan: Plan, rows: DataFrame) -> Table:
        shape = self._kind.shape(self._spec, good_rows(rows))
        return ensure_output(self._spec, self._name, self._catalog, shape, ", ".join(sorted(plan.inputs)))

    def _derive(self, plan: Plan, table: Table, rows: DataFrame) -> DeriveReport:
        for attempt in range(_TRIES):
            self._branches.append(branch := new_branch(DERIVING))
            watched = Watched(self._name, rows, bad_count(rows))
            try:
                result = self._kind.write(self._task(plan, table, good_rows(watched.rows), branch))
                bad = watched.measured.get("bad", 0) + result.ahead
                return self._publish(plan, table, result, bad, branch)
            except CommitConflictError:
                leave_branch(self._catalog, self._name, branch)
                if attempt == _TRIES - 1:
                    raise
                table = load_table(self._catalog, self._name)
            except FrazilError:
                leave_branch(self._catalog, self._name, branch)
                raise
        raise AssertionError("the last try returns or raises")

    def _task(self, plan: Plan, table: Table, delta: DataFrame, branch: str) -> Task:
        return Task(
            connections=self._connections,
            spec=self._spec,
            name=self._name,
            table=table,
            query=self._computation.query,
            before=None if plan.whole else plan.before,
            delta=delta,
            branch=branch,
            now=self._now,
            done=self._done,
        )

    def _publish(self, plan: Plan, table: Table, result: Result, bad: int, branch: str) -> DeriveReport:
        drop_old_metadata(table, load_table(self._catalog, self._name))
        entry = DerivedLedger(
            inputs=plan.positions,
            query=self._computation.fingerprint,
            derivation=branch,
            rows=result.rows,
            bad=bad,
            late=result.late,
            mixed=int(plan.mixed),
            watermark=result.watermark,
            now=self._now,
            run_id=self._run_id,
            version=version("frazil"),
        )
        self._keep_letters(plan, table, entry)
        staged = Derived(result.staged, entry, plan.base, whole=plan.whole, removed=result.removed)
        published = publish(self._catalog, self._name, staged)
        self._done("published")
        return _report(self._spec, str(self._name), plan, entry, result, published)

    def _keep_letters(self, plan: Plan, table: Table, entry: DerivedLedger) -> None:
        """Keeps bad and late rows apart; takes those of before away where all is made anew."""
        late = entry.late and self._spec.window and self._spec.window.late_rows == "dead_letter"
        anew = plan.whole and load_table_or_none(self._catalog, self._name.dead_letters)
        if not (entry.bad or late or anew):
            return

        @contextmanager
        def letters(new: Mapping[str, Increment]) -> Iterator[DataFrame | None]:
            with self._rows(plan, new) as rows:
                apart = self._kind.letters(self._task(plan, table, good_rows(rows), entry.derivation))
                found = [frame for frame in (bad_rows(rows), apart) if frame is not None]
                yield reduce(lambda one, two: one.unionByName(two), found) if found else None

        keep_letters(LetterBox(self._catalog, self._name, plan, entry, letters, self._branches))
        self._done("kept")
