"""The whole of a verification: both sides become entries, buckets are compared, differences are named."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from confluent_kafka import Message

from frazil_verify.comparison import Comparison, Scope
from frazil_verify.entries import BAD, GOOD, Buckets, bucket_of_key, bucket_of_place, buckets_for, digest
from frazil_verify.expected import Expected, Made, row_digest
from frazil_verify.findings import Finding, Report, UnverifiableError
from frazil_verify.ledger import Claim, disagreements, newest_claim
from frazil_verify.log.records import Log, Span
from frazil_verify.log.registry import Schemas
from frazil_verify.request import Request
from frazil_verify.table.metadata import Column, TableMetadata
from frazil_verify.table.rows import Row, Rows
from frazil_verify.table.storage import Files

_NOWHERE = b""
_EXPLAINED = 200  # rows that differ whose columns are named


@dataclass(frozen=True)
class Verification:
    """One table beside its topic.

    Args:
        folder: Where entries are kept until the end; 64 bytes for each record and each row.
    """

    request: Request
    folder: Path

    def report(self) -> Report:
        """Compares all records of the landed offsets with all rows.

        Raises:
            UnverifiableError: The topic or the table can't be read, or is of a kind that is not verified.
        """
        report = Report(not_compared=self._expected.not_compared)
        for finding in disagreements(self._table, each_is_a_row=not self._is_keyed):
            report.add(finding)
        records, rows = self._records(report), self._rows(report)
        comparison = Comparison(self._scope)
        compare = comparison.of_keyed if self._is_keyed else comparison.of_appended
        altered = []
        for bucket in range(self._count):
            for finding in compare(records.entries(bucket), rows.entries(bucket)):
                altered.append(finding) if finding.kind == "altered" else report.add(self._named(finding))
        for finding in (*self._explained(altered), *altered[_EXPLAINED:]):
            report.add(finding)
        report.unverifiable_rows, report.expired_rows = comparison.unverifiable, comparison.expired
        report.dead_letters = len(self._letters)
        self._add_unaccounted(report)
        return report

    @cached_property
    def _table(self) -> TableMetadata:
        return TableMetadata.load(self.request.metadata, Files(self.request.storage))

    @cached_property
    def _claim(self) -> Claim:
        return newest_claim(self._table)

    @cached_property
    def _log(self) -> Log:
        return Log(self.request.topic, self.request.kafka)

    @cached_property
    def _scope(self) -> Scope:
        kept = self._log.kept()
        for partition, (_, end) in self._claim.landed.items():
            if end > kept.get(partition, (0, 0))[1]:
                text = f"partition {partition} ends before offset {end}, which the table holds"
                raise UnverifiableError(f"this is not the topic that was landed: {text}")
        return Scope(self._claim.landed, kept, self._claim.expired_before)

    @cached_property
    def _spans(self) -> Mapping[int, Span]:
        """The landed offsets that the topic still has."""
        landed = self._claim.landed.items()
        return {p: (max(start, self._scope.first_kept(p)), end) for p, (start, end) in landed}

    @cached_property
    def _expected(self) -> Expected:
        return Expected(self.request, Schemas(self.request.registry), self._table.columns)

    @property
    def _is_keyed(self) -> bool:
        return self.request.mode != "append"

    @cached_property
    def _count(self) -> int:
        records = (end - start for start, end in self._spans.values() if end > start)
        return buckets_for(records, self.request.rows_per_bucket)

    def _records(self, report: Report) -> Buckets:
        buckets = Buckets(self.folder / "records", self._count)
        for message in self._log.records(self._spans):
            made = self._expected(message)
            report.records += 1
            report.bad_records += made.kind == BAD
            partition, offset, time = message.partition() or 0, message.offset() or 0, message.timestamp()[1]
            key = digest(made.key) if self._is_keyed and made.key else _NOWHERE
            place = bucket_of_key(key) if self._is_keyed else bucket_of_place(partition, offset)
            buckets.add(place, (key, row_digest(made), offset, time * 1000, partition, made.kind))
        return buckets

    def _rows(self, report: Report) -> Buckets:
        buckets, key = Buckets(self.folder / "rows", self._count), self._positions(self.request.key_columns)
        for (partition, offset), row in self._placed_rows():
            report.rows += 1
            identity = digest(tuple(row[at] for at in key)) if self._is_keyed else _NOWHERE
            bucket = bucket_of_key(identity) if self._is_keyed else bucket_of_place(partition, offset)
            buckets.add(bucket, (identity, digest(row), offset, 0, partition, GOOD))
        return buckets

    def _explained(self, altered: list[Finding]) -> Iterator[Finding]:
        """The first of those that differ, with the columns that do."""
        chosen = {(f.partition, f.offset): f for f in altered[:_EXPLAINED]}
        if not chosen:
            return
        rows = {place: row for place, row in self._placed_rows() if place in chosen}
        for (partition, offset), finding in chosen.items():
            made = self._again(partition, offset)
            columns = _different(self._expected.compared, made.row, rows.get((partition, offset)))
            yield replace(finding, columns=columns)

    def _again(self, partition: int, offset: int) -> Made:
        messages: Iterator[Message] = self._log.records({partition: (offset, offset + 1)})
        return self._expected(next(messages))

    def _placed_rows(self) -> Iterator[tuple[tuple[int, int], Row]]:
        """All rows, each behind the partition and the offset that it names."""
        words = self.request.metadata_columns
        partition, offset = self._positions((words["partition"], words["offset"]))
        for batch in Rows(self._table, self._expected.compared):
            yield from (((row[partition], row[offset]), row) for row in batch)

    def _positions(self, names: Iterable[str]) -> list[int]:
        """Where columns stand in a row."""
        compared = [c.name for c in self._expected.compared]
        return [compared.index(name) for name in names]

    def _named(self, finding: Finding) -> Finding:
        """What is missing may be a dead letter."""
        is_letter = finding.kind == "missing" and (finding.partition, finding.offset) in self._letters
        return replace(finding, kind="set_aside") if is_letter else finding

    @cached_property
    def _letters(self) -> frozenset[tuple[Any, Any]]:
        """Where the dead letters stand in the topic."""
        if not self.request.dead_letters:
            return frozenset()
        table = TableMetadata.load(self.request.dead_letters, Files(self.request.storage))
        place = tuple(next(c for c in table.columns if c.name == name) for name in ("partition", "offset"))
        return frozenset((row[0], row[1]) for batch in Rows(table, place) for row in batch)

    def _add_unaccounted(self, report: Report) -> None:
        counted = self._claim.total("bad")
        if report.bad_records > counted and self._spans == self._claim.landed:
            text = f"{report.bad_records} can't be read, and the table counts {counted}"
            report.add(Finding("unaccounted", -1, -1, text))


def _different(columns: tuple[Column, ...], expected: Row | None, held: Row | None) -> tuple[str, ...]:
    if expected is None or held is None:
        return ()
    pairs = zip(columns, expected, held, strict=True)
    return tuple(c.name for c, ours, theirs in pairs if digest((ours,)) != digest((theirs,)))
