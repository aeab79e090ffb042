"""The position: which offsets a table holds, as its own snapshots say (docs/landing.md)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from frazil.tables.commits.ledger import Codec, Entry, whole_number

if TYPE_CHECKING:
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.table.snapshots import Snapshot

Span = tuple[int, int]
"""One partition's half-open range of offsets, [from, to)."""

EarlierLog = tuple[str, Mapping[int, Span]]
"""The id of a topic, and what was landed of it before it was recreated, or cut."""


def _spans(document: Mapping[str, Any]) -> dict[int, Span]:
    spans = {int(p): (whole_number(start), whole_number(end)) for p, (start, end) in document.items()}
    if any(start > end or start < 0 for start, end in spans.values()):
        raise ValueError("a span ends before it begins")
    return spans


def _by_partition(numbers: Mapping[int, object]) -> str:
    return json.dumps({str(p): v for p, v in sorted(numbers.items())}, separators=(",", ":"))


Numbers = Annotated[
    Mapping[int, int],
    Codec(_by_partition, lambda text: {int(p): whole_number(n) for p, n in json.loads(text).items()}),
]
Spans = Annotated[
    Mapping[int, Span],
    Codec(_by_partition, lambda text: _spans(json.loads(text))),
]
Logs = Annotated[
    tuple[EarlierLog, ...],
    Codec(
        lambda logs: json.dumps([[id_, dict(spans)] for id_, spans in logs], separators=(",", ":")),
        lambda text: tuple((str(id_), _spans(spans)) for id_, spans in json.loads(text)),
    ),
]
Failing = Annotated[
    Mapping[str, int],
    Codec(
        lambda numbers: json.dumps(dict(sorted(numbers.items())), separators=(",", ":")),
        lambda text: {str(name): whole_number(n) for name, n in json.loads(text).items()},
    ),
]
Ids = Annotated[
    tuple[int, ...],
    Codec(lambda ids: ",".join(map(str, ids)), lambda text: tuple(map(int, filter(None, text.split(","))))),
]


@dataclass(frozen=True)
class Ledger(Entry):
    """What one landing wrote into its snapshot, with running totals since the table's first one.

    `spans` names every known partition, an idle one with an empty span: so the newest ledger alone
    is the whole position. `lost`: offsets before the spans that the topic no longer held. `leader_epochs`:
    what the partitions' leaders were at when the position was taken, no offset before it is of a later one.
    `filtered`: those of `skipped` that the spec's `where` left out. `failing`: rows that fail each of the
    spec's checks, by its name.
    `inserted`, `updated`, `deleted`: rows of an upsert table. `merged`: records that made no row more there:
    those of a key that came again, and two for each row that was deleted. `replayed`: rows that came of
    `replayed_spans`, which were read once more; `replaced`: rows that were there of them. `returned`: offsets
    among them that are a row or a dead letter now, and were neither, less those that are neither any more.
    """

    MARK: ClassVar[str] = "frazil.spans"

    topic: str
    topic_id: str
    spans: Spans
    start: Numbers
    records: int = 0
    dead_letters: int = 0
    skipped: int = 0
    filtered: int = 0
    failing: Failing = field(default_factory=dict)
    redriven: int = 0
    expired: int = 0
    forgotten: int = 0
    accepted: int = 0
    accepted_snapshot: int | None = None
    accepted_by: str = ""
    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    merged: int = 0
    replayed: int = 0
    replaced: int = 0
    replayed_spans: Spans = field(default_factory=dict)
    returned: int = 0
    because: str = ""
    gaps: Numbers = field(default_factory=dict)
    lost: Numbers = field(default_factory=dict)
    leader_epochs: Numbers = field(default_factory=dict)
    earlier_logs: Logs = ()
    bytes: int = 0
    total_records: int = 0
    total_bad: int = 0
    total_dead_letters: int = 0
    total_gaps: int = 0
    total_lost: int = 0
    total_expired: int = 0
    total_forgotten: int = 0
    total_accepted: int = 0
    total_redriven: int = 0
    total_merged: int = 0
    total_replayed: int = 0
    total_returned: int = 0
    expired_before: int | None = None
    schema_ids: Ids = ()
    max_timestamp: int | None = None
    landing: str = ""
    run_id: str = ""
    version: str = ""

    def __post_init__(self) -> None:
        if any(not 0 <= start <= self.spans[p][1] for p, start in self.start.items() if p in self.spans):
            raise ValueError("a partition ends before it begins")

    @property
    def position(self) -> dict[int, int]:
        """Per partition the next offset."""
        return {p: to for p, (_, to) in self.spans.items()}

    @property
    def offsets(self) -> int:
        """How many offsets were landed since the table's first one, those of earlier logs included."""
        return sum(to - start for _, spans in self.logs for start, to in spans.values())

    @property
    def total_read(self) -> int:
        """How many records were landed since then: gaps are offsets without one, lost ones were not read."""
        return self.offsets - self.total_gaps - self.total_lost

    @property
    def logs(self) -> tuple[EarlierLog, ...]:
        """What was landed of each log, the present one last."""
        here = {p: (self.start.get(p, at), at) for p, at in self.position.items()}
        return (*self.earlier_logs, (self.topic_id, here))

    @property
    def log(self) -> str:
        """A name of the log that the position speaks of: the topic's id, and how often it was cut."""
        cuts = sum(topic_id == self.topic_id for topic_id, _ in self.earlier_logs)
        return f"{self.topic_id}/{cuts}" if cuts else self.topic_id

    @property
    def place(self) -> tuple[str, Mapping[int, int]]:
        """The log and the position in it."""
        return self.log, self.position

    @property
    def read(self) -> int:
        """How many records were read for it."""
        return self.records + self.replayed + self.dead_letters + self.skipped

    @property
    def is_landing(self) -> bool:
        """Whether it brought what waited: no redrive, replay, row expiry, acceptance or pause does."""
        repaired = self.redriven or self.replayed_spans
        return not (repaired or self.expired or self.forgotten or self.accepted or self.because)

    @property
    def known(self) -> int:
        """Offsets that are no row, for a reason that is known."""
        gone = self.total_lost + self.total_taken + self.total_accepted
        return self.total_bad + self.total_gaps + self.total_merged + gone - self.total_returned

    @property
    def total_taken(self) -> int:
        """Rows that Frazil itself took out: expired or forgotten ones."""
        return self.total_expired + self.total_forgotten

    def covers(self, partition: int, offset: int) -> bool:
        """Whether a record was landed: as a row, or as a bad one."""
        return self.start.get(partition, 0) <= offset < self.position.get(partition, 0)

    def beside(self, before: Ledger) -> Ledger:
        """The same, of work that brings nothing of the topic: it stands at the position that it finds."""
        return replace(
            self,
            topic=before.topic,
            topic_id=before.topic_id,
            spans={p: (at, at) for p, at in before.position.items()},
            start=before.start,
            leader_epochs=before.leader_epochs,
            earlier_logs=before.earlier_logs,
            max_timestamp=before.max_timestamp,
        ).following(before)

    def following(self, before: Ledger | None) -> Ledger:
        """The same, with the totals that it has behind another ledger."""
        dead, rows = self.dead_letters - self.redriven, self.records + self.replayed - self.replaced
        cutoffs = [at for e in (self, before) if e and (at := e.expired_before) is not None]
        return replace(
            self,
            total_records=rows + (before.total_records if before else 0),
            total_bad=dead + self.skipped + (before.total_bad if before else 0),
            total_dead_letters=dead + (before.total_dead_letters if before else 0),
            total_gaps=sum(self.gaps.values()) + (before.total_gaps if before else 0),
            total_lost=sum(self.lost.values()) + (before.total_lost if before else 0),
            total_accepted=self.accepted + (before.total_accepted if before else 0),
            total_expired=self.expired + (before.total_expired if before else 0),
            total_forgotten=self.forgotten + (before.total_forgotten if before else 0),
            total_redriven=self.redriven + (before.total_redriven if before else 0),
            total_merged=self.merged + (before.total_merged if before else 0),
            total_replayed=self.replayed + (before.total_replayed if before else 0),
            total_returned=self.returned + (before.total_returned if before else 0),
            expired_before=max(cutoffs, default=None),
        ).handed_on(before)


EMPTY = Ledger("", "", {}, {})
"""The ledger of work that has no position of its own; see `Ledger.beside`."""


def ledger_of(snapshot: Snapshot) -> Ledger | None:
    """What the snapshot says, or None where no landing made it."""
    return Ledger.of(snapshot)


def ledgers(metadata: TableMetadata) -> Iterator[tuple[Snapshot, Ledger]]:
    """The ledgers of `main`, newest first, each with its snapshot, as far back as these are kept."""
    return Ledger.all(metadata)


def read_ledger(metadata: TableMetadata) -> Ledger | None:
    """The newest ledger of `main`, or None where nothing was landed yet; raises as `Entry.newest` does."""
    return Ledger.newest(metadata)


GUESS = 1024
"""Bytes of a record of which nothing is known yet."""


def bytes_per_record(metadata: TableMetadata) -> float | None:
    """By the newest work that read any record; None where nothing is known."""
    reading = (ledger for _, ledger in ledgers(metadata) if ledger.read)
    newest = next(reading, None) or Ledger.newest(metadata, whatever_it_holds=True)
    known = newest and 0 < newest.bytes < 2**63 and newest.read
    return newest.bytes / newest.read if newest and known else None
