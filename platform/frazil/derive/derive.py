"""One derivation from end to end: positions, increments, query, write, publish, clean up."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import reduce
from importlib.metadata import version
from typing import TYPE_CHECKING

from frazil.connections import Connections
from frazil.derive.checking import derivation_checks, refuse_false
from frazil.derive.computation import Computation, computation_of
from frazil.derive.dead_letters import LetterBox, bad_count, bad_rows, good_rows, keep_letters
from frazil.derive.feeds.feed import FeedReport, feed
from frazil.derive.kinds import kind_of
from frazil.derive.output import ensure_output
from frazil.derive.plan import Plan, load_inputs, make_plan, refuse_forgotten, refuse_loss, refuse_lost_inputs
from frazil.derive.positions.inputs import Increment, is_changing, note_reader, rows_read, whole
from frazil.derive.positions.ledger import DerivedLedger
from frazil.derive.positions.rows import rows_in
from frazil.derive.publish import Derived
from frazil.derive.queries.texts import with_texts_checked
from frazil.derive.report import DeriveReport, nothing_new, report_of
from frazil.derive.write import Changed, Result, Step, Task, derivation_job
from frazil.errors import CommitConflictError, OvertakenError
from frazil.landing.checking.outcome import CheckOutcome, failing_numbers, outcomes_of
from frazil.spec.derived import DerivedSpec
from frazil.spec.names import things
from frazil.tables.catalogs.catalog import catalog_errors
from frazil.tables.catalogs.handle import handle_of
from frazil.tables.commits.erasure import forgettings
from frazil.tables.commits.leftovers import drop_dead_branches
from frazil.tables.commits.stage import publish
from frazil.tables.commits.works import DERIVING, REBUILDING, work_name
from frazil.tables.metadata.manifests import delete_manifests
from frazil.tables.spark.faults import files_there, spark_job
from frazil.tables.spark.session import Watched, samples
from frazil.telemetry.tracing import traced

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyspark.sql import DataFrame

__all__ = ["DeriveReport", "derive"]


_log = logging.getLogger(__name__)

_TRIES = 5  # times that files are merged where compactions take them away all the while


def derive(
    spec: DerivedSpec,
    connections: Connections,
    *,
    now: float | None = None,
    rebuild: bool = False,
    from_here: bool = False,
    accept_loss: int = 0,
    run_id: str = "",
    on_step: Step = lambda _: None,
) -> DeriveReport:
    """Brings a table up to what its inputs hold now.

    Args:
        now: The clock, in seconds since the epoch: what the query calls `:now`.
        rebuild: Recompute all rows from the whole inputs, in one commit.
        from_here: Let a query that was changed make the rows that come; those that are there stay.
        accept_loss: How many rows that the inputs no longer hold a rebuild may do without.
        run_id: Noted in the snapshot.
        on_step: See `Step`.

    Raises:
        MissingError: An input is not there.
        PositionLostError: Nothing tells any more what is new in an input; a rebuild helps.
        RowsLostError: A rebuild would lose more rows than that.
        QueryChangedError: The rows that are there come from another query; a rebuild helps.
        ChecksFailedError: Rows fail a check that stops the table; nothing of this derivation is visible.
        OvertakenError: Another derivation of the same table was quicker; nothing of this one is visible.
        FrazilError: See docs/derive.md for the others. Never is a part of a derivation visible.
    """
    started = time.monotonic()
    clock = time.time() if now is None else now
    settings = connections.settings
    about = {"table": str(things(spec, settings).table)}
    with traced(settings.tracing, "derive", about, on_step) as trace, catalog_errors(settings):
        report = _Derivation(spec, connections, clock, run_id, trace.step).run(
            rebuild=rebuild, from_here=from_here, accept_loss=accept_loss
        )
        if spec.feeds:
            report = _fed(report, feed(spec, connections, on_step=trace.step))
        came = {"rows": report.rows, "snapshot_id": report.snapshot_id or 0}
        trace.note(came)
    seconds = round(time.monotonic() - started, 3)
    _log.info("derived", extra={**about, **came, "seconds": seconds})
    return replace(report, seconds=seconds)


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
        self._handle = handle_of(spec, connections)
        self._computation: Computation = computation_of(spec)
        self._kind = kind_of(spec.kind)
        self._done = on_step
        self._works: list[str] = []

    def run(self, *, rebuild: bool = False, from_here: bool = False, accept_loss: int = 0) -> DeriveReport:
        """Plans, and does it unless nothing is new."""
        plan = make_plan(self._handle, self._computation, rebuild=rebuild, from_here=from_here)
        if plan.rebuild:
            refuse_loss(self._connections, self._handle.name, plan, accept_loss)
        if plan.table:
            drop_dead_branches(plan.table)
        if self._spec.kind != "full":  # which reads all that is there, and need not be waited for
            note_reader(plan.inputs.values(), self._handle.name)
        self._done("planned")
        if not plan.due:
            return nothing_new(self._spec, str(self._handle), plan)
        new = plan.increments
        with self._rows(plan, new) as rows, self._changed(plan, new) as changed:
            table = self._output(plan, rows)
            report = self._derive(plan, table, rows, changed)
        return self._caught_up(report) if plan.rebuild else report

    def _caught_up(self, report: DeriveReport) -> DeriveReport:
        """What came during a rebuild is read at once: derivations whose place it took had shown it."""
        try:
            return report.followed_by(self.run())
        except OvertakenError:  # who was quicker has read it
            return report

    @contextmanager
    def _rows(self, plan: Plan, new: Mapping[str, Increment], *, went: bool = False) -> Iterator[DataFrame]:
        """What the query makes of the rows of increments that came, or that `went`; bad rows among it."""
        spark = self._connections.spark
        with spark_job(derivation_job(self._handle.name)):
            frames = {
                word: rows_in(spark, plan.inputs[str(name)], new[str(name)], went=went)
                for word, name in plan.names.items()
            }
            with self._computation.rows_over(spark, frames, self._now) as rows:
                yield with_texts_checked(rows)

    @contextmanager
    def _changed(self, plan: Plan, new: Mapping[str, Increment]) -> Iterator[Changed | None]:
        """What fixes the table where rows of its inputs changed or went; else None."""
        if not any(each.changed for each in new.values()):
            yield None
            return
        whole = {name: Increment(None, each.to) for name, each in new.items()}
        with self._rows(plan, new, went=True) as rows, self._rows(plan, whole) as all_rows:
            yield Changed(good_rows(rows), good_rows(all_rows))

    def _output(self, plan: Plan, rows: DataFrame) -> Table:
        shape = self._kind.shape(self._spec, good_rows(rows))
        return ensure_output(self._spec, self._handle, shape, ", ".join(sorted(plan.inputs)))

    def _derive(self, plan: Plan, table: Table, rows: DataFrame, changed: Changed | None) -> DeriveReport:
        for attempt in range(_TRIES):
            self._works.append(work := work_name(REBUILDING if plan.rebuild else DERIVING))
            watched = Watched(rows, bad_count(rows), derivation_job(self._handle.name), twice=samples(table))
            try:
                task = self._task(plan, table, good_rows(watched.rows), work, changed)
                result = self._kind.write(task)
                bad = watched.measured.get("bad", 0) + result.ahead
                outcomes = outcomes_of(task.checks, result.staged.checks)
                refuse_false(outcomes, self._handle.name)
                return self._publish(plan, table, result, bad, work, outcomes)
            except CommitConflictError:
                if attempt == _TRIES - 1:
                    raise
                table = self._handle.load()
        raise AssertionError("the last try returns or raises")

    def _task(self, plan: Plan, table: Table, delta: DataFrame, work: str, changed: Changed | None) -> Task:
        query = self._computation.query
        return Task(
            connections=self._connections,
            spec=self._spec,
            table=table,
            query=query,
            before=None if plan.whole else plan.before,
            delta=delta,
            work=work,
            now=self._now,
            checks=derivation_checks(self._spec, query, table, self._now),
            changed=changed,
            done=self._done,
        )

    def _publish(
        self, plan: Plan, table: Table, result: Result, bad: int, work: str,
        outcomes: tuple[CheckOutcome, ...],
    ) -> DeriveReport:  # fmt: skip
        entry = self._entry(plan, result, bad, work, outcomes)
        if plan.rebuild:
            refuse_lost_inputs(self._handle, plan)
        self._keep_letters(plan, table, entry)
        # Behind the look at the table: who forgets rows of an input from now on finds the table there.
        refuse_forgotten(self._handle, plan)
        with files_there(table):
            deletes = delete_manifests(table) if result.removed else frozenset[str]()
        staged = Derived(
            result.staged, entry, plan.base, plan.whole, plan.rebuild, result.removed, deletes,
            forgettings(table.metadata),
        )  # fmt: skip
        published = publish(self._handle, staged)
        self._done("published")
        return report_of(self._spec, str(self._handle), plan, entry, result, published, outcomes)

    def _entry(
        self, plan: Plan, result: Result, bad: int, work: str, outcomes: tuple[CheckOutcome, ...]
    ) -> DerivedLedger:
        """What the commit says of itself."""
        return DerivedLedger(
            inputs=plan.positions,
            query=self._computation.fingerprint,
            derivation=work,
            rows=result.rows,
            bad=bad,
            late=result.late,
            failing=failing_numbers(outcomes),
            read=self._read(plan),
            mixed=int(plan.mixed),
            left_out=int(result.late > 0 and not self._spec.adds_late_rows),
            changing=int(self._spec.kind != "rows" or any(map(is_changing, plan.inputs.values()))),
            watermark=result.watermark,
            now=self._now,
            run_id=self._run_id,
            version=version("frazil"),
        )

    def _read(self, plan: Plan) -> dict[str, int]:
        """How many rows of each input were read."""
        rows = {}
        for name in plan.names.values():
            table, new = plan.inputs[str(name)], plan.increments[str(name)]
            rows[str(name)] = rows_read(self._connections, table, new)
        return rows

    def _keep_letters(self, plan: Plan, table: Table, entry: DerivedLedger) -> None:
        """Keeps bad and late rows apart; takes those of before away where all is made anew."""
        late = entry.late and self._spec.window and self._spec.window.late_rows == "dead_letter"
        anew = plan.whole and self._handle.dead_letters.load_or_none()
        if not (entry.bad or late or anew):
            return
        if plan.rebuild:
            plan, entry = self._up_to_now(plan, entry)

        @contextmanager
        def letters(new: Mapping[str, Increment]) -> Iterator[DataFrame | None]:
            with self._rows(plan, new) as rows, self._changed(plan, new) as changed:
                apart = self._kind.letters(
                    self._task(plan, table, good_rows(rows), entry.derivation, changed)
                )
                frames = [frame for frame in (bad_rows(rows), apart) if frame is not None]
                yield reduce(lambda one, two: one.unionByName(two), frames) if frames else None

        upkeep = self._spec.upkeep
        keep_letters(LetterBox(self._handle, plan, entry, letters, upkeep, self._works))
        self._done("kept")

    def _up_to_now(self, plan: Plan, entry: DerivedLedger) -> tuple[Plan, DerivedLedger]:
        """A rebuild keeps letters of all rows that are there now: derivations in between kept theirs."""
        _, inputs = load_inputs(self._handle.catalog, self._computation, self._handle.name.namespace)
        plan = replace(plan, inputs=inputs, increments={name: whole(table) for name, table in inputs.items()})
        return plan, replace(entry, inputs=plan.positions)
