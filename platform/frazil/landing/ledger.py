"""The position: which offsets a table holds, as its own snapshots say (docs/landing.md).

The newest ancestor of `main` whose summary carries `frazil.*` properties is the truth. Expiry may
remove that snapshot, so the same values are kept as table properties, set in the same commit.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from frazil.tables.snapshots import ancestors, is_first, summary_of

if TYPE_CHECKING:
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.table.snapshots import Snapshot

__all__ = [
    "Ledger",
    "Span",
    "bytes_per_record",
    "ledger_of",
    "ledgers",
    "read_ledger",
]

Span = tuple[int, int]
"""One partition's half-open range of offsets, [from, to)."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """What one landing wrote into its snapshot, with running totals since the table's first one.

    `spans` names every known partition, an idle one with an empty span: so the newest ledger alone
    is the whole position.
    """

    topic: str
    topic_id: str
    spans: Mapping[int, Span]
    start: Mapping[int, int]
    records: int = 0
    dead_letters: int = 0
    skipped: int = 0
    redriven: int = 0
    expired: int = 0
    gaps: Mapping[int, int] = field(default_factory=dict)
    bytes: int = 0
    total_records: int = 0
    total_bad: int = 0
    total_dead_letters: int = 0
    total_gaps: int = 0
    total_expired: int = 0
    expired_before: int | None = None
    schema_ids: tuple[int, ...] = ()
    max_timestamp: int | None = None
    landing: str = ""
    run_id: str = ""
    version: str = ""

    @property
    def position(self) -> dict[int, int]:
        """Per partition the next offset."""
        return {p: to for p, (_, to) in self.spans.items()}

    @property
    def offsets(self) -> int:
        """How many offsets were landed since the table's first one."""
        return sum(at - self.start.get(p, at) for p, at in self.position.items())

    @property
    def read(self) -> int:
        """How many records were read for it."""
        return self.records + self.dead_letters + self.skipped

    @property
    def is_landing(self) -> bool:
        """Whether it brought records from the topic; neither a redrive nor a row expiry does."""
        return not (self.redriven or self.expired)

    @property
    def known(self) -> int:
        """Offsets that are no row, for a reason that is known."""
        return self.total_bad + self.total_gaps + self.total_expired

    def covers(self, partition: int, offset: int) -> bool:
        """Whether a record was landed: as a row, or as a bad one."""
        return self.start.get(partition, 0) <= offset < self.position.get(partition, 0)

    def following(self, before: Ledger | None) -> Ledger:
        """The same, with the totals that it has behind another ledger."""
        dead = self.dead_letters - self.redriven
        cutoffs = [at for e in (self, before) if e and (at := e.expired_before) is not None]
        return replace(
            self,
            total_records=self.records + (before.total_records if before else 0),
            total_bad=dead + self.skipped + (before.total_bad if before else 0),
            total_dead_letters=dead + (before.total_dead_letters if before else 0),
            total_gaps=sum(self.gaps.values()) + (before.total_gaps if before else 0),
            total_expired=self.expired + (before.total_expired if before else 0),
            expired_before=max(cutoffs, default=None),
        )

    def properties(self) -> dict[str, str]:
        """As summary properties; also as table properties."""
        return {
            "frazil.topic": self.topic,
            "frazil.topic-id": self.topic_id,
            "frazil.spans": _to_json(self.spans),
            "frazil.start": _to_json(self.start),
            "frazil.records": str(self.records),
            "frazil.dead-letters": str(self.dead_letters),
            "frazil.skipped": str(self.skipped),
            "frazil.redriven": str(self.redriven),
            "frazil.expired": str(self.expired),
            "frazil.gaps": _to_json(self.gaps),
            "frazil.bytes": str(self.bytes),
            "frazil.total-records": str(self.total_records),
            "frazil.total-bad": str(self.total_bad),
            "frazil.total-dead-letters": str(self.total_dead_letters),
            "frazil.total-gaps": str(self.total_gaps),
            "frazil.total-expired": str(self.total_expired),
            "frazil.expired-before": _text(self.expired_before),
            "frazil.schema-ids": ",".join(map(str, self.schema_ids)),
            "frazil.max-timestamp": _text(self.max_timestamp),
            "frazil.landing": self.landing,
            "frazil.run-id": self.run_id,
            "frazil.version": self.version,
        }

    @classmethod
    def parse(cls, properties: Mapping[str, str]) -> Ledger:
        """The opposite of `properties`."""
        spans = json.loads(properties["frazil.spans"])
        return cls(
            topic=properties["frazil.topic"],
            topic_id=properties["frazil.topic-id"],
            spans={int(p): (a, b) for p, (a, b) in spans.items()},
            start=_numbers(properties["frazil.start"]),
            records=int(properties["frazil.records"]),
            dead_letters=int(properties["frazil.dead-letters"]),
            skipped=int(properties["frazil.skipped"]),
            redriven=int(properties.get("frazil.redriven", 0)),
            expired=int(properties.get("frazil.expired", 0)),
            gaps=_numbers(properties["frazil.gaps"]),
            bytes=int(properties["frazil.bytes"]),
            total_records=int(properties["frazil.total-records"]),
            total_bad=int(properties["frazil.total-bad"]),
            total_dead_letters=int(properties.get("frazil.total-dead-letters", 0)),
            total_gaps=int(properties["frazil.total-gaps"]),
            total_expired=int(properties.get("frazil.total-expired", 0)),
            expired_before=_number(properties.get("frazil.expired-before")),
            schema_ids=tuple(map(int, filter(None, properties["frazil.schema-ids"].split(",")))),
            max_timestamp=_number(properties.get("frazil.max-timestamp")),
            landing=properties["frazil.landing"],
            run_id=properties["frazil.run-id"],
            version=properties["frazil.version"],
        )


def ledger_of(snapshot: Snapshot) -> Ledger | None:
    """What the snapshot says, or None where no landing made it."""
    summary = summary_of(snapshot)
    return Ledger.parse(summary) if "frazil.spans" in summary else None


def ledgers(metadata: TableMetadata) -> Iterator[tuple[Snapshot, Ledger]]:
    """The ledgers of `main`, newest first, each with its snapshot, as far back as these are kept."""
    return ((snapshot, ledger) for snapshot in ancestors(metadata) if (ledger := ledger_of(snapshot)))


def read_ledger(metadata: TableMetadata) -> Ledger | None:
    """The newest ledger of `main`, or None where nothing was landed yet.

    The copy counts only where expiry removed the snapshots that would tell: after a rollback to before
    the first landing it speaks of rows that the table does not hold.
    """
    for snapshot in ancestors(metadata):
        if (ledger := ledger_of(snapshot)) or is_first(snapshot):
            return ledger
    return Ledger.parse(metadata.properties) if "frazil.spans" in metadata.properties else None


def bytes_per_record(metadata: TableMetadata) -> float | None:
    """By the newest work that read any record; None where nothing is known."""
    newest = next((ledger for _, ledger in ledgers(metadata) if ledger.read), read_ledger(metadata))
    return newest.bytes / newest.read if newest and newest.bytes and newest.read else None


def _text(number: int | None) -> str:
    return "" if number is None else str(number)


def _number(text: str | None) -> int | None:
    return int(text) if text else None


def _to_json(numbers: Mapping[int, object]) -> str:
    return json.dumps({str(p): v for p, v in sorted(numbers.items())}, separators=(",", ":"))


def _numbers(text: str) -> dict[int, int]:
    return {int(p): n for p, n in json.loads(text).items()}
