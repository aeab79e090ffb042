"""Redrive: dead letters that decode now, or after a repair, become rows of their table, once.

Whether a dead letter was redriven is not noted anywhere: the table holds its partition and offset, or
it does not. That is asked of the very head that the commit is bound to, so nobody redrives it twice.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from typing import TYPE_CHECKING

from frazil.connections import Connections
from frazil.errors import UsageError
from frazil.exact import utc
from frazil.formats.batches.oversize import TOO_LARGE, still_too_large
from frazil.landing.checking.outcome import outcomes_of, refuse_failing
from frazil.landing.land import Step
from frazil.landing.plan import Plan
from frazil.landing.position.ledger import EMPTY, Ledger
from frazil.landing.publication import Redriven
from frazil.landing.repairs.bad_records import BadRecord, find_bad
from frazil.landing.repairs.dead_letters import DeadLetter
from frazil.landing.repairs.repair import Repair, repaired
from frazil.landing.repairs.seal import WITHHELD, opened, sealing_key
from frazil.landing.repairs.selection import Chosen, choose
from frazil.landing.report import LandingReport
from frazil.landing.schema.guarded import decoder_and_table
from frazil.landing.schema.tables import ensure_table
from frazil.landing.source import record_schema
from frazil.landing.upsert.key import why_no_older_records
from frazil.landing.write import Written, write_rows
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.catalog import catalog_errors
from frazil.tables.catalogs.handle import writable_handle
from frazil.tables.commits.stage import StagedFiles, audit_failed, audit_rows, publish
from frazil.tables.commits.works import REDRIVE, work_name
from frazil.tables.writing.presence import differing

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class RedriveReport:
    """What one redrive did.

    Attributes:
        chosen: Dead letters that were asked for.
        redriven: Those that are rows now, by this redrive.
        already_in: Those that were rows before.
        left_out: Those that the repair function, or the spec, leaves out.
        still_bad: Those that still do not decode, by reason code.
        past: Those that are older than the rows that expired, and so are left alone.
        waiting: Those beyond the most that one redrive takes.
        reasons: Why the first of the still bad ones are bad.
    """

    table: str
    topic: str
    snapshot_id: int | None = None
    chosen: int = 0
    redriven: int = 0
    already_in: int = 0
    left_out: int = 0
    past: int = 0
    waiting: int = 0
    still_bad: Mapping[str, int] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()
    files: int = 0
    bytes: int = 0
    schema_ids: tuple[int, ...] = ()
    conflicts: int = 0
    seconds: float = 0.0

    def as_landing(self) -> LandingReport:
        """For those who want to hear what came into a table, whichever way."""
        return LandingReport(
            self.table, self.topic, self.snapshot_id, self.redriven, bytes=self.bytes, files=self.files,
            schema_ids=self.schema_ids, conflicts=self.conflicts, seconds=self.seconds,
        )  # fmt: skip


def redrive(
    spec: TableSpec,
    connections: Connections,
    *,
    where: str = "",
    repair: Repair | None = None,
    run_id: str = "",
    on_step: Step = lambda _: None,
) -> RedriveReport:
    """Lands the dead letters of a table that are not in it yet. Killed at any point: none, or all.

    Args:
        where: Which dead letters, as a filter over their table's columns; empty: all.
        repair: Fixes each one first.
        on_step: Told chosen, written, audited, published.

    Raises:
        OvertakenError: Another redrive published one of the same records first.
        ChecksFailedError: One fails a check that stops the table.
        ConfigureError: The filter or the repair function is wrong.
    """
    begun = time.monotonic()
    _refuse_upserts(spec)
    with catalog_errors(connections.settings):
        report = _Redrive(spec, connections, run_id, on_step).once(where, repair)
    return replace(report, seconds=round(time.monotonic() - begun, 3))


def _refuse_upserts(spec: TableSpec) -> None:
    """A row may have been deleted since: nothing is left then that would tell which of both is newer."""
    if spec.is_keyed:
        raise UsageError(
            f"Dead letters of {spec.topic} can't be redriven: its table has mode: {spec.mode}.",
            meaning=f"{why_no_older_records(spec)} Nothing was changed.",
            todo="Send what still holds to the topic again, as a new record.",
        )


class _Redrive:
    """The parts that the steps of one redrive share."""

    def __init__(self, spec: TableSpec, connections: Connections, run_id: str, on_step: Step) -> None:
        # What still can't be decoded must be told apart, whatever a landing makes of it.
        self._spec = spec.model_copy(update={"on_bad_record": "dead_letter"})
        self._connections = connections
        self._handle = writable_handle(spec, connections)
        self._run_id = run_id
        self._done = on_step

    def once(self, where: str, repair: Repair | None) -> RedriveReport:
        """One redrive, from the choice to the report."""
        chosen = choose(self._spec, self._handle, where)
        self._done("chosen")
        nothing = RedriveReport(
            str(self._handle), self._spec.topic, chosen=chosen.count, already_in=chosen.already_in,
            past=chosen.past, waiting=chosen.waiting,
        )  # fmt: skip
        readable = self._opened(chosen.letters)
        letters = repaired(readable, repair) if repair else readable
        report = replace(nothing, left_out=len(readable) - len(letters))
        done = self._written(chosen, letters, report) if letters else report
        return _with_withheld(done, [each for each in chosen.letters if each.seal == WITHHELD])

    def _opened(self, letters: Sequence[DeadLetter]) -> list[DeadLetter]:
        """The letters whose bytes are kept, as they came."""
        keys = self._connections.settings.named_keys
        names = {letter.seal for letter in letters if letter.sealed and letter.seal}
        known = {name: sealing_key(keys, name) for name in names}
        return [_opened(letter, known) for letter in letters if letter.seal != WITHHELD]

    def _written(self, chosen: Chosen, letters: Sequence[DeadLetter], report: RedriveReport) -> RedriveReport:
        decoder, table = decoder_and_table(
            self._spec, self._connections, lambda made: ensure_table(self._spec, self._handle, made.columns)
        )
        plan, records = _plan(chosen, letters), _frame(self._connections.spark, letters)
        written = write_rows(records, decoder, self._spec, table, plan, work_name(REDRIVE))
        outcomes = outcomes_of(decoder.checks, written.checks, whole=False)
        refuse_failing(outcomes, self._handle.name, self._spec.topic, again="Redrive again.")
        self._done("written")
        bad = find_bad(records, decoder, plan, written) if written.bad else []
        report = replace(report, left_out=report.left_out + written.skipped)
        return self._published(chosen, written, _with_reasons(report, bad))

    def _published(self, chosen: Chosen, written: Written, report: RedriveReport) -> RedriveReport:
        if not written.good:
            return report
        files = self._audited(written)
        self._done("audited")
        staged = Redriven(
            files, self._ledger(written), chosen.ledger,
            chosen.head, frozenset(letter.key for letter in chosen.letters), chosen.names,
            chosen.ledger.total_taken, chosen.among, chosen.forgettings,
        )  # fmt: skip
        published = publish(self._handle, staged)
        self._done("published")
        return replace(
            report, snapshot_id=published.snapshot_id, redriven=written.good, files=len(files.files),
            bytes=written.bytes, schema_ids=written.schema_ids, conflicts=published.conflicts,
        )  # fmt: skip

    def _audited(self, written: Written) -> StagedFiles:
        """The new files, which must hold as many rows, and values, as were decoded."""
        files = written.files
        numbers, work = f"{written.good} dead letters decoded", f"A redrive of {self._handle}"
        audit_rows(files, written.good, work, numbers, "Redrive again.")
        if lost := differing(written.values or {}, written.values_held or {}):
            raise audit_failed(work, lost, "Redrive again.")
        return files

    def _ledger(self, written: Written) -> Ledger:
        return replace(
            EMPTY,
            records=written.good,
            redriven=written.good,
            bytes=written.bytes,
            schema_ids=written.schema_ids,
            landing=written.landing,
            run_id=self._run_id,
            version=version("frazil"),
        )


_FIRST = 10  # reasons of a report that a person would read


def _with_reasons(report: RedriveReport, bad: Sequence[BadRecord]) -> RedriveReport:
    reasons = (f"partition {b.partition}, offset {b.offset}: {b.reason}" for b in bad[:_FIRST])
    return replace(report, still_bad=dict(Counter(b.reason_code for b in bad)), reasons=tuple(reasons))


def _with_withheld(report: RedriveReport, letters: Sequence[DeadLetter]) -> RedriveReport:
    """The report with those of which there is nothing to decode."""
    why = "its bytes were not kept, for columns are masked; `frazil replay` reads it from the topic"
    reasons = (f"partition {each.partition}, offset {each.offset}: {why}" for each in letters[:_FIRST])
    bad = {WITHHELD: len(letters)} if letters else {}
    return replace(report, still_bad={**report.still_bad, **bad}, reasons=(*report.reasons, *reasons))


def _opened(letter: DeadLetter, keys: Mapping[str, bytes]) -> DeadLetter:
    if not (letter.sealed and letter.seal):
        return letter
    place = (letter.topic, letter.partition, letter.offset)
    raw_key, raw_value = opened(letter.sealed, letter.seal, keys[letter.seal], place)
    return replace(letter, raw_key=raw_key, raw_value=raw_value)


def _plan(chosen: Chosen, letters: Sequence[DeadLetter]) -> Plan:
    """For error messages: where the records are from."""
    spans: dict[int, tuple[int, int]] = {}
    for partition, offset in sorted(letter.key for letter in letters):
        spans[partition] = (spans.get(partition, (offset, 0))[0], offset + 1)
    return Plan(chosen.ledger.topic, chosen.ledger.topic_id, spans, capped=False)


def _frame(spark: SparkSession, letters: Sequence[DeadLetter]) -> DataFrame:
    """Dead letters as a landing would have read them; one task, one file."""
    import pyarrow as pa

    rows = [_row(letter) for letter in letters]
    return spark.createDataFrame(pa.Table.from_pylist(rows, schema=record_schema())).coalesce(1)


def _row(letter: DeadLetter) -> dict[str, object]:
    row: dict[str, object] = {
        **{own: getattr(letter, own) for own in ("raw_key", "raw_value", "topic", "partition", "offset")},
        "timestamp": _micros(letter),
        "timestampType": letter.timestamp_type,
        "headers": _pairs(letter.headers),
        "leader_epoch": letter.leader_epoch,
    }
    return {**row, TOO_LARGE: still_too_large(letter.reason_code, letter.reason, row)}


def _micros(letter: DeadLetter) -> int | None:
    """When the record was made; a repair may have set another moment."""
    if utc(letter.timestamp_micros) == letter.timestamp:
        return letter.timestamp_micros
    if letter.timestamp is None:
        return None
    return (letter.timestamp - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def _pairs(headers: Mapping[str, bytes | None] | None) -> list[dict[str, object]] | None:
    return None if headers is None else [{"key": key, "value": value} for key, value in headers.items()]
