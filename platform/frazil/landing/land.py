"""One landing from end to end: position, plan, evolve, write, audit, publish, clean up."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

from frazil.connections import Connections
from frazil.errors import (
    ChecksFailedError,
    FrazilError,
    NotAllowedError,
    NotYetError,
    UnreadableTimesError,
    behind,
)
from frazil.formats.record import RecordDecoder
from frazil.kafka.facts import TopicFacts, topic_fact
from frazil.landing.audit import audit, gaps_of, readable
from frazil.landing.checking.outcome import (
    CheckOutcome,
    failing_numbers,
    outcomes_of,
    records_at_once,
    refuse_failing,
)
from frazil.landing.cut.note import limited
from frazil.landing.far_times import with_records
from frazil.landing.halts.halt import refuse_halted, suspend
from frazil.landing.lane.job import lane_of
from frazil.landing.lane.joint import alone
from frazil.landing.lane.parts import RunPart
from frazil.landing.plan import Plan, make_plan, refuse_other_topic
from frazil.landing.position.history import Accepted, History, look, recreated
from frazil.landing.position.ledger import GUESS, Ledger, Span, bytes_per_record, read_ledger
from frazil.landing.publication import Landed
from frazil.landing.repairs.bad_records import BadRecord, find_bad, first_bad, setting_for, suspended
from frazil.landing.repairs.dead_letters import keep_dead_letters
from frazil.landing.repairs.seal import Seal
from frazil.landing.report import LandingReport, report_of, sum_of
from frazil.landing.schema.evolve import fitting
from frazil.landing.schema.guarded import decoder_and_table
from frazil.landing.schema.tables import ensure_table
from frazil.landing.source import Reading, planned_reading
from frazil.landing.upsert.divisions import MANY_RECORDS
from frazil.landing.upsert.lane.job import UpsertLane
from frazil.landing.upsert.merge import write_upserts
from frazil.landing.upsert.versions import write_versions
from frazil.landing.write import Written, write_rows
from frazil.spec.names import things, writable
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.catalog import catalog_errors
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.commits.leftovers import drop_dead_branches
from frazil.tables.commits.stage import StagedFiles, publish
from frazil.tables.commits.works import LANDING, until_settled, work_name
from frazil.tables.keys import Key
from frazil.telemetry.tracing import traced

if TYPE_CHECKING:
    from pyiceberg.table import Table


Step = Callable[[str], None]
"""Told the name of each step that is done: evolved, planned, written, audited, published."""

_log = logging.getLogger(__name__)


def land(
    spec: TableSpec,
    connections: Connections,
    *,
    run_id: str = "",
    max_records: int | None = None,
    past: Collection[Key] = (),
    accept_loss: Mapping[int, Span] | None = None,
    adopt_topic: bool = False,
    on_step: Step = lambda _: None,
    run_part: RunPart = alone,
) -> LandingReport:
    """Lands a topic up to its last stable offsets, or `max_records` of it.

    Several landings follow each other while the spec's caps are in the way. A bad record that is named
    in `past` stops nothing: it is left out, and counted. So are offsets in `accept_loss` that the topic no
    longer holds. With `adopt_topic` a topic that was recreated, or cut, is landed as it is now. `run_part`
    runs the lane's Spark jobs: others than `alone` let small landings share them.

    Raises:
        SuspendedError: A bad record stops the table; what was good before it is published.
        ChecksFailedError: Rows fail a check that stops the table; nothing of their landing is published.
        OffsetsLostError: The topic no longer holds records that were not landed.
        TopicChangedError: The topic was recreated or cut, before the landing or while it ran.
        OvertakenError: Another landing published the same records first.
        PausedError: A person paused the table, before the landing or while it ran.
        FrazilError: See docs/landing.md for the others. Never is a part of a landing visible.
    """
    begun = time.monotonic()
    accepted = Accepted.by(spec, accept_loss, topic=adopt_topic)
    settings = connections.settings
    about = {"table": str(things(spec, settings).table), "topic": spec.topic}
    with traced(settings.tracing, "land", about, on_step) as trace, catalog_errors(settings):
        landing = _Landing(spec, connections, run_id, trace.step, past, accepted, run_part)
        report, more = landing.once(max_records)
        with behind(lambda: report.earlier_text):
            while more and max_records is None:
                following, more = landing.once(None)
                report = sum_of(report, following)
        came = {"records": report.records, "snapshot_id": report.snapshot_id or 0}
        trace.note(came)
    seconds = round(time.monotonic() - begun, 3)
    _log.info("landed", extra={**about, **came, "seconds": seconds})
    return replace(report, seconds=seconds)


class _Landing:
    """The parts that the steps of one call share."""

    def __init__(
        self, spec: TableSpec, connections: Connections, run_id: str, on_step: Step, past: Collection[Key],
        accepted: Accepted, run_part: RunPart,
    ) -> None:  # fmt: skip
        self._spec = spec
        self._past = frozenset(past)
        self._accepted = accepted
        self._connections = connections
        self._name = writable(spec, connections.settings)
        self._run_id = run_id
        self._done = on_step
        self._run_part = run_part
        self._rest = False  # whether less was landed than was planned

    @cached_property
    def _handle(self) -> TableHandle:
        """The table's. The catalog is opened after Kafka was asked: a topic that is missing is told first."""
        return TableHandle(self._connections.catalog, self._name)

    def once(self, max_records: int | None) -> tuple[LandingReport, bool]:
        """One landing; also whether its cap left something behind."""
        facts = self._facts()
        decoder, table = fitting(self._handle, partial(self._prepared, facts))
        self._done("evolved")
        drop_dead_branches(table)
        ledger = read_ledger(table.metadata)
        history = self._look(facts, ledger)
        if history.is_changed:  # or another landing read, and published, what came since
            history = self._look(self._facts(), ledger)
        most = records_at_once(self._spec.checks, max_records or self._cap(table))
        whole = make_plan(history, most)
        plan = limited(whole, table)
        more = whole.capped or plan.offsets < whole.offsets
        self._done("planned")
        if not plan.offsets:
            return (self._note(plan) if plan.lost or plan.adopts else self._nothing(table)), False
        self._rest = False
        if self._spec.is_keyed:
            report = until_settled(self._land, plan, decoder, table)
        else:
            report = self._land(plan, decoder, table)
        return replace(report, unasked=decoder.unasked), more or self._rest

    def _look(self, facts: TopicFacts, ledger: Ledger | None) -> History:
        return look(self._connections.settings, self._handle.name, facts, ledger, self._accepted)

    def _facts(self) -> TopicFacts:
        try:
            return topic_fact(self._connections.admin, self._spec.topic)
        except NotYetError:
            table = self._handle.load_or_none()
            if ledger := read_ledger(table.metadata) if table else None:
                was = f"the table holds records of {ledger.topic_id}"
                raise recreated(self._spec.topic, "", was, self._handle.name) from None
            raise

    def _prepared(self, facts: TopicFacts) -> tuple[RecordDecoder, Table]:
        def ensure(decoder: RecordDecoder) -> Table:
            key, columns, is_large = decoder.row_key, decoder.columns, facts.offsets > MANY_RECORDS
            return ensure_table(self._spec, self._handle, columns, key, refuse_halted, is_large=is_large)

        return decoder_and_table(self._spec, self._connections, ensure)

    def _land(self, plan: Plan, decoder: RecordDecoder, table: Table) -> LandingReport:
        reading = planned_reading(self._connections, plan)
        try:
            return self._landed(reading, plan, decoder, table)
        except UnreadableTimesError:
            readable_part, shorter = with_records(reading, self._connections.settings, plan)
            self._rest = shorter.offsets < plan.offsets
            return self._landed(readable_part, shorter, decoder, self._handle.load())

    def _landed(self, reading: Reading, plan: Plan, decoder: RecordDecoder, table: Table) -> LandingReport:
        written = self._write(reading, decoder, table, plan, work_name(LANDING))
        bad = self._bad(reading, decoder, plan, written)
        refuse_other_topic(self._connections, self._handle.name, plan)
        if bad and self._spec.on_bad_record == "suspend":
            raise self._suspend(bad, plan, decoder, written)
        return self._publish(plan, written, bad, self._outcomes(plan, decoder, written))

    def _outcomes(self, plan: Plan, decoder: RecordDecoder, written: Written) -> tuple[CheckOutcome, ...]:
        """What the spec's checks say; where one stops the table nothing is published, and it says why."""
        outcomes = outcomes_of(decoder.checks, written.checks)
        try:
            refuse_failing(outcomes, self._handle.name, plan.topic)
        except ChecksFailedError as e:
            suspend(self._handle, e.where, {p: start for p, (start, _) in plan.busy.items()})
            raise
        return outcomes

    def _write(
        self, reading: Reading, decoder: RecordDecoder, table: Table, plan: Plan, landing: str
    ) -> Written:
        try:
            written = self._written(reading, decoder, table, plan, landing)
        except NotAllowedError:  # a task's keys may have ended meanwhile: once more by new ones
            now = self._handle.load()
            written = self._written(reading, decoder, now, plan, landing)
        self._done("written")
        return written

    def _written(
        self, reading: Reading, decoder: RecordDecoder, table: Table, plan: Plan, landing: str
    ) -> Written:
        """By what the table is, never by what happens."""
        spec, lane = self._spec, lane_of(self._spec, decoder, table)
        if spec.keeps_versions:
            return write_versions(reading.frame, decoder, spec, table, plan, landing)
        if spec.is_keyed:
            merged = UpsertLane(lane, decoder).write(reading, spec, table, plan, landing, self._run_part)
            settings = self._connections.settings
            return merged or write_upserts(settings, reading.frame, decoder, spec, table, plan, landing)
        if spec.write.sorts:
            return write_rows(reading.frame, decoder, spec, table, plan, landing)
        return lane.write(reading, spec, table, plan, landing, self._run_part)

    def _bad(self, reading: Reading, decoder: RecordDecoder, plan: Plan, written: Written) -> list[BadRecord]:
        if not written.bad or self._spec.on_bad_record == "skip":
            return []
        bad = find_bad(reading.frame, decoder, plan, written)
        return [b for b in bad if b.key not in self._past]

    def _suspend(
        self, bad: Sequence[BadRecord], plan: Plan, decoder: RecordDecoder, written: Written
    ) -> FrazilError:
        """Lands what lies before the first bad record of each partition, then stops the table."""
        first = first_bad(bad)
        shorter = plan.until({p: r.offset for p, r in first.items()})
        if shorter.offsets:
            self._land(shorter, decoder, self._handle.load())
        elif plan.lost or plan.before is None or plan.adopts:
            self._note(shorter)  # else nobody would miss what retention takes next
        landed = plan.before.total_records if plan.before else 0
        setting = setting_for(bad, written.read - written.skipped, landed)
        error = suspended(self._handle.name, plan.topic, first, setting, written.read)
        suspend(self._handle, error.where, {p: r.offset for p, r in first.items()})
        return error

    def _note(self, plan: Plan) -> LandingReport:
        """Publishes a position, and what was lost before it, without a record."""
        nothing = Written(work_name(LANDING), 0, 0, 0, 0, (), None)
        entry = nothing.entry(plan, {}, 0, self._run_id)
        work = Landed(StagedFiles(), entry, plan.before)
        published = publish(self._handle, work)
        self._done("published")
        return report_of(self._handle.name, entry, published, work.staged)

    def _publish(
        self, plan: Plan, written: Written, bad: Sequence[BadRecord], checks: tuple[CheckOutcome, ...]
    ) -> LandingReport:
        counted = readable(self._connections.settings, plan, written.read)
        audit(plan, written, written.files.rows, counted)
        self._done("audited")
        entry = written.entry(plan, gaps_of(plan, counted), len(bad), self._run_id)
        entry = replace(entry, failing=failing_numbers(checks))
        work = written.landed(entry, plan.before)
        if bad:
            keep_dead_letters(
                self._handle,
                entry,
                bad,
                still=work.next_entry,
                seal=Seal.of(self._spec, self._connections.settings.named_keys),
            )
        published = publish(self._handle, work)
        self._done("published")
        return report_of(self._handle.name, entry, published, work.staged, checks)

    def _cap(self, table: Table) -> int:
        """Records of one landing, by both of the spec's caps; bytes are judged by the last landing."""
        each = bytes_per_record(table.metadata) or GUESS
        return max(1, min(self._spec.max_records, int(self._spec.max_bytes / each)))

    def _nothing(self, table: Table) -> LandingReport:
        head = table.metadata.current_snapshot_id
        return LandingReport(str(self._handle), self._spec.topic, head, spans={})
