"""Replay: what a table has of some offsets is replaced by what Kafka has of them, in one commit."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from frazil.connections import Connections
from frazil.errors import CommitConflictError, UnreadableTimesError
from frazil.formats.record import RecordDecoder
from frazil.landing.audit import audit, readable
from frazil.landing.checking.outcome import outcomes_of, refuse_failing
from frazil.landing.far_times import with_records
from frazil.landing.faults import landing_job
from frazil.landing.land import Step
from frazil.landing.plan import Plan, refuse_other_topic
from frazil.landing.position.ledger import Ledger, Span, read_ledger
from frazil.landing.repairs.bad_records import BadRecord, find_bad
from frazil.landing.repairs.dead_letters import keep_dead_letters
from frazil.landing.repairs.seal import Seal
from frazil.landing.repairs.selection import offset_columns
from frazil.landing.replay.difference import Present, find_present
from frazil.landing.replay.outcome import Comparison, Outcome
from frazil.landing.replay.plan import plan_replay, refuse_keyed, refuse_rows
from frazil.landing.report import LandingReport
from frazil.landing.schema.guarded import decoder_and_table
from frazil.landing.schema.tables import ensure_table
from frazil.landing.source import planned_reading
from frazil.landing.write import Written, write_rows
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.catalog import catalog_errors
from frazil.tables.catalogs.handle import name_of, writable_handle
from frazil.tables.commits.erasure import forgettings
from frazil.tables.commits.stage import Staged, StagedFiles, publish, put_in_place
from frazil.tables.commits.works import REPLAY, until_settled, work_name
from frazil.tables.keys import Key, within_sql
from frazil.tables.metadata.manifests import delete_manifests
from frazil.tables.metadata.snapshots import is_on_main
from frazil.tables.rewrites.moved import judged
from frazil.tables.rewrites.remainder import write_rest
from frazil.tables.spark.faults import Job

if TYPE_CHECKING:
    from pyiceberg.table import Table, Transaction
    from pyspark.sql import DataFrame


_KEPT = {"frazil.plan": "replay"}
"""In summaries of snapshots that are a branch's, and never on `main`."""


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """What one replay did, or would do.

    Attributes:
        offsets: How many were read, or would be.
        replaced: Rows that were there of them.
        replayed: Rows that are there now.
        dead_letters: Records that are dead letters now, and were not.
        redriven: Dead letters that are none any more.
        left_out: Records that still can't be decoded, and stay left out, as the spec says.
        files: How many took the place of how many.
    """

    table: str
    topic: str
    spans: Mapping[int, Span]
    offsets: int
    replaced: int
    replayed: int = 0
    dead_letters: int = 0
    redriven: int = 0
    left_out: int = 0
    files: tuple[int, int] = (0, 0)
    bytes: int = 0
    schema_ids: tuple[int, ...] = ()
    snapshot_id: int | None = None
    dry_run: bool = False
    conflicts: int = 0
    seconds: float = 0.0

    def as_landing(self) -> LandingReport:
        """For those who want to hear of a table that changed, whichever way."""
        return LandingReport(
            self.table, self.topic, self.snapshot_id, self.replayed, dead_letters=self.dead_letters,
            bytes=self.bytes, files=self.files[1], schema_ids=self.schema_ids, conflicts=self.conflicts,
            seconds=self.seconds,
        )  # fmt: skip


def replay(
    spec: TableSpec,
    connections: Connections,
    spans: Mapping[int, Span],
    *,
    dry_run: bool = False,
    run_id: str = "",
    on_step: Step = lambda _: None,
) -> ReplayReport:
    """Reads offsets that a table holds once more. Killed at any point: all is as it was, or replayed.

    Args:
        spans: Half-open ranges of offsets, by partition.
        on_step: Told planned, written, audited, published.

    Raises:
        UsageError: The table has one row per key, or does not hold the spans.
        OffsetsLostError: Kafka no longer has records that the table has.
        RepairError: Rows would come back that expired or were deleted, or a row can't be decoded any more.
        ChecksFailedError: A row fails a check that stops the table.
        CommitConflictError: Others changed the same files time and again.
    """
    begun = time.monotonic()
    refuse_keyed(spec)
    with catalog_errors(connections.settings):
        work = _Replay(spec, connections, run_id, on_step)
        report = work.counted(spans) if dry_run else work.done(spans)
    return replace(report, seconds=round(time.monotonic() - begun, 3))


@dataclass(frozen=True)
class _Replayed(Staged):
    """A replay that is written and audited, but not visible."""

    work: ClassVar[str] = "replay"
    resumes: ClassVar[bool] = False

    entry: Ledger
    present: Present

    def next_entry(self, table: Table) -> Ledger:
        """See `Staged.next_entry`. Landings may come in between, whose records lie behind the spans."""
        before, then = read_ledger(table.metadata), self.present.ledger
        same = (
            before is not None
            and before.log == then.log
            and _marks(before, table) == _marks(then, self.present.table)
        )
        if before is None or not same or not self._is_behind(table):
            raise CommitConflictError(
                f"Others changed rows of {name_of(table)} while some of its offsets were replayed.",
                meaning="Nothing of this replay is visible.",
                todo="Replay again.",
            )
        return self.entry.beside(before)

    def put(self, tx: Transaction, table: Table, summary: Mapping[str, str]) -> None:
        """See `Staged.put`; raises as `put_in_place` does, and where others deleted rows meanwhile."""
        if delete_manifests(table) != self.present.holding.deletes:
            raise CommitConflictError(
                f"Another engine deleted rows of {'.'.join(table.name())} meanwhile.",
                meaning="Nothing of this replay is visible.",
                todo="Replay again.",
            )
        holding = self.present.holding
        put_in_place(tx, table, holding.paths, self.staged, summary, holding.deletes)

    def _is_behind(self, table: Table) -> bool:
        """Whether nobody rolled the table back: then records of the spans may have been landed again."""
        return is_on_main(table.metadata, self.present.head)


def _marks(ledger: Ledger, table: Table) -> tuple[int, ...]:
    """What moves where anybody but a landing changes rows, or looked for some to be forgotten."""
    return (
        forgettings(table.metadata),
        ledger.total_redriven,
        ledger.total_taken,
        ledger.total_accepted,
        ledger.total_replayed,
    )


class _Replay:
    """The parts that the steps of one replay share."""

    def __init__(self, spec: TableSpec, connections: Connections, run_id: str, on_step: Step) -> None:
        # What can't be decoded must be told apart, whatever a landing makes of it.
        self._spec = spec.model_copy(update={"on_bad_record": "dead_letter"})
        self._keeps_letters = spec.on_bad_record == "dead_letter"
        self._connections = connections
        self._handle = writable_handle(spec, connections)
        self._names = offset_columns(spec)
        self._run_id = run_id
        self._noted: set[Key] = set()  # dead letters that were kept by a try that others were quicker than
        self._done = on_step

    def counted(self, spans: Mapping[int, Span]) -> ReplayReport:
        """Looks only."""
        table = self._handle.load()
        plan = plan_replay(self._spec, self._connections, table, spans)
        return replace(self._report(plan, self._present(table, plan)), dry_run=True)

    def done(self, spans: Mapping[int, Span]) -> ReplayReport:
        """Writes what Kafka has now, and puts it in place."""
        table = self._handle.load()
        plan = plan_replay(self._spec, self._connections, table, spans)
        self._done("planned")
        decoder, table = decoder_and_table(
            self._spec, self._connections, lambda made: ensure_table(self._spec, self._handle, made.columns)
        )
        reading = planned_reading(self._connections, plan)
        try:
            return self._replayed(reading.frame, plan, decoder, table)
        except UnreadableTimesError:
            readable_part, read = with_records(reading, self._connections.settings, plan)
            if read.offsets < plan.offsets:
                raise
            return self._replayed(readable_part.frame, plan, decoder, table)

    def _replayed(self, records: DataFrame, plan: Plan, decoder: RecordDecoder, table: Table) -> ReplayReport:
        written = write_rows(records, decoder, self._spec, table, plan, work_name(REPLAY))
        outcomes = outcomes_of(decoder.checks, written.checks, whole=False)
        refuse_failing(outcomes, self._handle.name, plan.topic, again="Replay again.")
        self._done("written")
        bad = find_bad(records, decoder, plan, written) if written.bad else []
        refuse_other_topic(self._connections, self._handle.name, plan)
        staged = written.files
        audit(plan, written, staged.rows, readable(self._connections.settings, plan, written.read))
        self._done("audited")
        return until_settled(self._put, plan, written, bad, staged)

    def _put(
        self, plan: Plan, written: Written, bad: Sequence[BadRecord], staged: StagedFiles
    ) -> ReplayReport:
        """Compares with what is there now, and takes its place; again where others changed that meanwhile."""
        table = self._handle.load()
        refuse_rows(table, plan.busy)
        present = self._present(table, plan)
        compared = Comparison(
            self._connections.spark, self._handle.name, self._names, plan, written, bad, staged.files,
            self._keeps_letters, frozenset(self._noted), self._job(plan),
        )  # fmt: skip
        outcome = compared.outcome(present)
        entry = outcome.entry(plan, written, present, self._run_id)
        report = replace(
            self._report(plan, present), replayed=written.good, dead_letters=outcome.dead_letters,
            redriven=outcome.redriven, left_out=outcome.left_out, bytes=written.bytes,
            schema_ids=written.schema_ids,
        )  # fmt: skip
        self._keep_new(outcome, entry, present)
        if not present.holding.rows and not written.good:
            return report
        kept = self._kept(present, plan)
        files = (*staged.files, *kept.files)
        whole = StagedFiles(files, until=min(staged.until, kept.until))
        published = publish(self._handle, _Replayed(whole, entry, present))
        self._done("published")
        counts = len(present.holding.paths), len(files)
        return replace(report, files=counts, snapshot_id=published.snapshot_id, conflicts=published.conflicts)

    def _keep_new(self, outcome: Outcome, entry: Ledger, present: Present) -> None:
        """Keeps new dead letters before the rows: a run that ends in between leaves some, as a redrive."""
        if outcome.new_letters:
            keep_dead_letters(
                self._handle,
                entry.beside(present.ledger),
                outcome.new_letters,
                present.looks,
                seal=Seal.of(self._spec, self._connections.settings.named_keys),
            )
            self._noted |= {letter.key for letter in outcome.new_letters}

    def _present(self, table: Table, plan: Plan) -> Present:
        return find_present(self._connections.spark, self._spec, table, plan, self._job(plan))

    def _kept(self, present: Present, plan: Plan) -> StagedFiles:
        """The other rows of the files that go."""
        table, mixed, fewer = present.table, present.holding.mixed, present.holding.mixed_rows
        if not mixed.entries:
            return StagedFiles()
        job, going = self._job(plan), within_sql(plan.busy, self._names)
        rest = write_rest(
            self._connections.spark, table, mixed, lambda rows: judged(rows, going), job,
            self._spec.upkeep.orphans_after,
        )  # fmt: skip
        work, wanted = f"A {job.work} of {job.of}", rest.rows - fewer
        return rest.audited(wanted, work, f"{fewer} go", job.again)

    def _job(self, plan: Plan) -> Job:
        return landing_job(plan, REPLAY)

    def _report(self, plan: Plan, present: Present) -> ReplayReport:
        return ReplayReport(
            str(self._handle), plan.topic, dict(plan.busy), plan.offsets, present.holding.rows,
            files=(len(present.holding.paths), 0),
        )  # fmt: skip
