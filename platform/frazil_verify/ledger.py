"""The offsets and the counts that snapshots claim: docs/landing.md, "What a snapshot says"."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from frazil_verify.findings import Finding, UnverifiableError
from frazil_verify.log.records import Span
from frazil_verify.table.metadata import SnapshotRows, TableMetadata

_PREFIX = "frazil."


@dataclass(frozen=True)
class Claim:
    """What the newest snapshot with a ledger says of the table."""

    landed: Mapping[int, Span]
    summary: Mapping[str, str]

    def total(self, word: str) -> int:
        """A sum since the first landing, such as `bad`."""
        return int(self.summary.get(f"{_PREFIX}total-{word}") or 0)

    @property
    def brought(self) -> int:
        """Rows that came later than the landing of their offsets: by redrives and replays."""
        return sum(self.total(word) for word in ("redriven", "replayed", "returned"))

    @property
    def topic_id(self) -> str:
        """The id of the topic that was landed."""
        return self.summary.get(f"{_PREFIX}topic-id", "")

    @property
    def expired_before(self) -> int | None:
        """Rows of an older timestamp may be gone; milliseconds since the epoch."""
        value = self.summary.get(f"{_PREFIX}expired-before")
        return int(value) if value else None


@dataclass(frozen=True)
class Eras:
    """Which schema the table had when an offset was landed.

    Args:
        ends: Of each partition the ends of the spans that kept snapshots landed, each with its schema's id.
        oldest: The schema of what was landed before these.
    """

    ends: Mapping[int, Sequence[tuple[int, int]]]
    oldest: int

    @classmethod
    def of(cls, table: TableMetadata) -> Eras:
        """Those of the snapshots that are kept."""
        ends: dict[int, list[tuple[int, int]]] = {}
        oldest, newest = next(iter(table.schemas)), table.document["current-schema-id"]
        for snapshot in table.history:
            if f"{_PREFIX}spans" in snapshot["summary"]:
                for partition, (start, end) in _spans(snapshot["summary"]).items():
                    known = ends.setdefault(partition, [(start, oldest)])
                    known.append((end, snapshot.get("schema-id", newest)))
        return cls(ends, oldest)

    def schema_at(self, partition: int, offset: int) -> tuple[int, bool]:
        """The id of the schema that a record was landed under, and whether a kept snapshot says so."""
        ends = self.ends.get(partition, ())
        at = bisect_right(ends, offset, key=itemgetter(0))
        return (ends[at][1], at > 0) if at < len(ends) else (self.oldest, False)


def newest_claim(table: TableMetadata) -> Claim:
    """The position of the table.

    Raises:
        UnverifiableError: No snapshot that is kept has one.
    """
    ledgers = _ledgers(table)
    if not ledgers:
        raise UnverifiableError("no snapshot that is kept says which offsets it holds")
    newest = ledgers[-1]
    if json.loads(newest.get(f"{_PREFIX}earlier-logs") or "[]"):
        raise UnverifiableError("the table holds rows of a topic that is gone")
    starts = {int(p): int(at) for p, at in json.loads(newest[f"{_PREFIX}start"]).items()}
    return Claim({p: (starts[p], to) for p, (_, to) in _spans(newest).items()}, newest)


def disagreements(table: TableMetadata, *, each_is_a_row: bool) -> Iterator[Finding]:
    """Where a snapshot does not begin where the one before it ended, or has other rows than it claims.

    Args:
        table: Whose snapshots these are.
        each_is_a_row: Whether a landing adds as many rows as it counts records: without keys.
    """
    position: dict[int, int] = {}
    before: SnapshotRows | None = None
    for snapshot in table.history:
        if f"{_PREFIX}spans" in snapshot["summary"]:
            yield from _gaps(snapshot["summary"], position)
        state = table.rows_of(snapshot)
        if each_is_a_row:
            yield from _not_as_claimed(snapshot, state)
        yield from _not_kept(snapshot, before, state)
        before = state


def _gaps(summary: Mapping[str, str], position: dict[int, int]) -> Iterator[Finding]:
    """Spans that do not begin at the position, behind what is noted as lost there; it moves to their ends."""
    noted = json.loads(summary.get(f"{_PREFIX}lost") or "{}")
    for partition, (start, end) in _spans(summary).items():
        lost = int(noted.get(str(partition), 0))
        before = position.get(partition, start - lost)
        if before + lost != start:
            yield Finding("ledger", partition, start, f"the snapshot before it ends at {before}")
        position[partition] = end


def _not_as_claimed(snapshot: Mapping[str, Any], state: SnapshotRows) -> Iterator[Finding]:
    """A landing adds as many rows as it claims; that of a table that was taken over claims rows of before."""
    summary = snapshot["summary"]
    if summary.get("operation") != "append" or f"{_PREFIX}records" not in summary:
        return
    claimed = int(summary[f"{_PREFIX}records"])
    if not state.added and claimed == state.rows > 0:
        raise UnverifiableError("another program wrote its first rows, before it was taken over")
    if claimed != state.added:
        text = f"snapshot {snapshot['snapshot-id']} claims {claimed} rows, and its files have {state.added}"
        yield Finding("ledger", -1, -1, text)


def _not_kept(
    snapshot: Mapping[str, Any], before: SnapshotRows | None, state: SnapshotRows
) -> Iterator[Finding]:
    """A snapshot that only puts files in the place of others has the rows that were there."""
    if snapshot["summary"].get("operation") != "replace" or before is None:
        return
    if before.rows != state.rows and not (before.has_deletes or state.has_deletes):
        text = f"snapshot {snapshot['snapshot-id']} replaces {before.rows} rows by {state.rows}"
        yield Finding("ledger", -1, -1, text)


def _ledgers(table: TableMetadata) -> list[Mapping[str, str]]:
    return [s["summary"] for s in table.history if f"{_PREFIX}spans" in s.get("summary", {})]


def _spans(summary: Mapping[str, str]) -> dict[int, Span]:
    spans = json.loads(summary[f"{_PREFIX}spans"])
    return {int(partition): (int(start), int(end)) for partition, (start, end) in spans.items()}
