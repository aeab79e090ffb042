"""The whole of a verification: both sides become entries, buckets are compared, differences are named."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from frazil_verify.changes.truncates import Truncate
from frazil_verify.comparison import Comparison, Scope
from frazil_verify.differences import differing
from frazil_verify.entries import (
    BAD,
    DELETE,
    GOOD,
    NO_LSN,
    SKIPPED,
    TOMBSTONE,
    TRUNCATE,
    UNKNOWN,
    Buckets,
    Made,
    bucket_of_key,
    bucket_of_place,
    buckets_for,
    digest,
)
from frazil_verify.expected import Expected
from frazil_verify.findings import Finding, Report, UnverifiableError
from frazil_verify.ledger import Claim, Eras, disagreements, newest_claim
from frazil_verify.letters import Letters, places_of
from frazil_verify.log.records import NO_ID, Log, Records, Span
from frazil_verify.log.registry import Schemas, schemas_of
from frazil_verify.masks.masks import changed_masks
from frazil_verify.readings import Readings
from frazil_verify.request import Request
from frazil_verify.table.metadata import TableMetadata
from frazil_verify.table.names import left_behind, names_of, renames_of
from frazil_verify.table.rows import Row, Rows
from frazil_verify.table.storage import Files
from frazil_verify.values.metadata import VALIDITY

_NOWHERE = b""
_EXPLAINED = 200  # rows that differ whose columns are named


@dataclass(frozen=True)
class Verification:
    """One table beside its topic.

    Args:
        folder: Where entries are kept until the end; 104 bytes for each record and each row.
        log: The topic's records.
        schemas: Those that the records name.
    """

    request: Request
    folder: Path
    log: Records
    schemas: Schemas
    _truncates: list[Truncate] = field(default_factory=list, init=False)

    @classmethod
    def of(cls, request: Request, folder: Path) -> Verification:
        """That of a topic and a registry that are asked."""
        return cls(request, folder, Log(request.topic, request.kafka), schemas_of(request.registry))

    def report(self) -> Report:
        """Compares all records of the landed offsets with all rows.

        Raises:
            UnverifiableError: The topic or the table can't be read, or is of a kind that is not verified.
        """
        report = Report(not_compared=self._expected.not_compared)
        for finding in disagreements(self._table, each_is_a_row=not self._is_keyed):
            report.add(finding)
        records, rows = self._records(report), self._rows(report)
        by_log = self.request.order_by == "source.lsn"
        comparison = Comparison(self._scope, self.request.keeps_deleted, by_log, self._truncates)
        for finding in self._named(self._compared(comparison, records, rows, report)):
            report.add(finding)
        report.unverifiable_rows, report.expired_rows = comparison.unverifiable, comparison.expired
        report.dead_letters = len(self._letters.places)
        self._add_unaccounted(report)
        return report

    def _compared(
        self, comparison: Comparison, records: Buckets, rows: Buckets, report: Report
    ) -> Iterator[Finding]:
        compare = comparison.of_keyed if self._is_keyed else comparison.of_appended
        compare = comparison.of_versions if self.request.keeps_versions else compare
        for bucket in range(self._count):
            yield from compare(records.entries(bucket), rows.entries(bucket))
        for place in comparison.unlanded:
            yield from self._see_bad(place, report)
        yield from self._letters.twice()

    def _see_bad(self, place: tuple[int, int], report: Report) -> Iterator[Finding]:
        report.bad_records += 1
        yield from self._letters.see_bad(place)

    @cached_property
    def _table(self) -> TableMetadata:
        return TableMetadata.load(self.request.metadata, Files(self.request.storage))

    @cached_property
    def _claim(self) -> Claim:
        return newest_claim(self._table)

    @cached_property
    def _scope(self) -> Scope:
        kept = self.log.kept()
        if len({self.log.topic_id(), self._claim.topic_id} - {NO_ID, ""}) > 1:
            raise UnverifiableError("this is not the topic that was landed: it was deleted and made again")
        for partition, (_, end) in self._claim.landed.items():
            if end > kept.get(partition, (0, 0))[1]:
                text = f"partition {partition} ends before offset {end}, which the table holds"
                raise UnverifiableError(f"this is not the topic that was landed: {text}")
        return Scope(self._claim.landed, kept, self._claim.expired_before, self.log.compacts())

    @cached_property
    def _spans(self) -> Mapping[int, Span]:
        """The landed offsets that the topic still has."""
        landed = self._claim.landed.items()
        return {p: (max(start, self._scope.first_kept(p)), end) for p, (start, end) in landed}

    @cached_property
    def _expected(self) -> Expected:
        table = self._table
        every, now = table.schemas.values(), table.schema
        renames, left = renames_of(table.document.get("properties", {}), every), left_behind(every, now)
        changed = changed_masks(table.document.get("properties", {}), self.request.mask_migrations)
        return Expected(self.request, self.schemas, table.columns, renames, left, changed)

    @cached_property
    def _readings(self) -> Readings:
        names = {number: names_of(schema) for number, schema in self._table.schemas.items()}
        return Readings(self._expected, Eras.of(self._table), names, repaired=self._claim.brought > 0)

    @property
    def _is_keyed(self) -> bool:
        return self.request.mode != "append"

    @cached_property
    def _count(self) -> int:
        records = (end - start for start, end in self._spans.values() if end > start)
        return buckets_for(records, self.request.rows_per_bucket)

    def _records(self, report: Report) -> Buckets:
        buckets = Buckets(self.folder / "records", self._count)
        for message in self.log.records(self._spans):
            made, older = self._readings(message)
            report.records += 1
            partition, offset, time = message.partition() or 0, message.offset() or 0, message.timestamp()[1]
            if made.kind == TRUNCATE:
                self._truncates.append(Truncate(partition, offset, time, made.lsn))
            if made.kind in (GOOD, UNKNOWN) and made.row is None:
                report.uncompared_records += 1
                self._letters.see_unknown((partition, offset))
            if made.kind == BAD:
                for finding in self._see_bad((partition, offset), report):
                    report.add(finding)
            key = digest(made.key) if self._is_keyed and made.key else _NOWHERE
            place = bucket_of_key(key) if self._is_keyed else bucket_of_place(partition, offset)
            row, own = self._expected.digests(made.row)
            before = row if older is made else self._expected.digests(older.row)[0]
            buckets.add(place, (key, row, offset, time, partition, made.kind, before, own, made.lsn))
        return buckets

    def _rows(self, report: Report) -> Buckets:
        buckets, key = Buckets(self.folder / "rows", self._count), self._positions(self.request.key_columns)
        for (partition, offset), row in self._placed_rows():
            report.rows += 1
            self._letters.see_row((partition, offset))
            identity = digest(tuple(row[at] for at in key)) if self._is_keyed else _NOWHERE
            bucket = bucket_of_key(identity) if self._is_keyed else bucket_of_place(partition, offset)
            landed, own = self._expected.digests(row)
            buckets.add(bucket, (identity, landed, offset, 0, partition, GOOD, landed, own, NO_LSN))
        return buckets

    def _named(self, findings: Iterable[Finding]) -> Iterator[Finding]:
        """Findings with all that can be said of them, of the first of each kind."""
        altered, asked = [], 0
        for finding in findings:
            if finding.kind == "altered":
                altered.append(finding)
            elif finding.kind == "missing" and (finding.partition, finding.offset) in self._letters.places:
                if (finding.partition, finding.offset) not in self._letters.unknown:
                    yield replace(finding, kind="set_aside")
            elif finding.kind == "baseless" and self._is_keyed and asked < _EXPLAINED:
                asked += 1
                yield replace(finding, kind=self._kind_of_stray(finding.partition, finding.offset))
            else:
                yield finding
        yield from self._explained(altered)

    def _kind_of_stray(self, partition: int, offset: int) -> str:
        """What to call a row that names no change of its key."""
        readings = self._again(partition, offset)
        if not readings:
            return "baseless"
        kinds = {BAD: "bad", SKIPPED: "unwanted", TRUNCATE: "unwanted"}
        if self.request.keeps_versions:
            kinds[TOMBSTONE] = "unwanted"
        return kinds.get(readings[0].kind, "out_of_place")

    def _explained(self, altered: list[Finding]) -> Iterator[Finding]:
        """The first of those that differ with the columns that do, then the others."""
        chosen = {(f.partition, f.offset): f for f in altered[:_EXPLAINED]}
        rows = {place: row for place, row in self._placed_rows() if place in chosen} if chosen else {}
        for (partition, offset), finding in chosen.items():
            row = rows.get((partition, offset))
            ways = [tuple(self._differing(made, row)) for made in self._again(partition, offset)]
            yield replace(finding, columns=min(ways, key=len, default=()))
        yield from altered[_EXPLAINED:]

    def _differing(self, made: Made, row: Row | None) -> Iterator[str]:
        """The columns that differ; of a deleted row that stays those of its delete.

        When a version held other records say: where no other column differs it is that.
        """
        own = self._expected.own.words
        names = [*differing(self._expected.compared, made.row, row)]
        if self.request.keeps_versions:
            of_times = [name for name in names if own.get(name) in VALIDITY]
            yield from [name for name in names if name not in of_times] or [
                n for n in own if own[n] in VALIDITY
            ]
        elif made.kind in (DELETE, TOMBSTONE):
            yield from (name for name in names if name in own)
        else:
            yield from names

    def _again(self, partition: int, offset: int) -> Sequence[Made]:
        """What the record of an offset makes, and made; nothing where there is none."""
        for message in self.log.records({partition: (offset, offset + 1)}):
            return self._readings(message)
        return ()

    def _placed_rows(self) -> Iterator[tuple[tuple[int, int], Row]]:
        """All rows, each behind the partition and the offset that it names."""
        words = self.request.metadata_columns
        partition, offset = self._positions((words["partition"], words["offset"]))
        for batch in Rows(self._table, self._expected.compared):
            yield from (((row[partition], row[offset]), row) for row in batch)

    def _positions(self, names: Iterable[str]) -> list[int]:
        """Where columns stand in a row.

        Raises:
            UnverifiableError: The table lacks one, or nothing says what stands in it.
        """
        compared = {c.name: place for place, c in enumerate(self._expected.compared)}
        if missing := [name for name in names if name not in compared]:
            raise UnverifiableError(f"rows are told apart by {', '.join(missing)}, which can't be compared")
        return [compared[name] for name in names]

    @cached_property
    def _letters(self) -> Letters:
        if not self.request.dead_letters:
            return Letters(frozenset(), self._claim)
        table = TableMetadata.load(self.request.dead_letters, Files(self.request.storage))
        return Letters(places_of(table, self._claim.topic_id), self._claim)

    def _add_unaccounted(self, report: Report) -> None:
        counted = self._claim.total("bad")
        if report.bad_records > counted and self._spans == self._claim.landed:
            text = f"{report.bad_records} can't be read, and the table counts {counted}"
            report.add(Finding("unaccounted", -1, -1, text))
