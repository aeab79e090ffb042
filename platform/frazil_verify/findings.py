"""What a verification ends with: findings by kind, and what was not compared."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any

SAMPLES = 20
"""Findings of a kind that are named; all are counted."""

KINDS = {
    "missing": "a record of the landed offsets has no row",
    "doubled": "a record, or a key, has more than one row",
    "altered": "a row does not hold what its record holds",
    "baseless": "a row names a record that the topic does not hold, though it holds later and earlier ones",
    "outside": "a row names an offset that the table's position does not cover",
    "bad": "a record that can't be read became a row",
    "unwanted": "a row is of a record that makes none: left out, or of another table",
    "superseded": "a row is of an older change than the newest of its key",
    "out_of_place": "a row names a record of another key",
    "undeleted": "a key has a row, though its newest change deletes it",
    "set_aside": "a record that can be read is a dead letter and no row",
    "letter_missing": "a record that can't be read is not among the dead letters, and none was skipped",
    "letter_landed": "a record is a dead letter and a row, and no redrive says so",
    "unaccounted": "more records can't be read than the table counts as bad",
    "ledger": "the offsets or the counts that snapshots claim do not fit each other",
}
"""Each kind of finding, and what it means."""


class UnverifiableError(Exception):
    """This table, or this topic, can't be verified, and why."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One disagreement; `columns` are those that differ."""

    kind: str
    partition: int
    offset: int
    text: str = ""
    columns: tuple[str, ...] = ()


@dataclass
class Report:
    """What was compared, and what does not agree."""

    records: int = 0
    rows: int = 0
    bad_records: int = 0
    uncompared_records: int = 0
    dead_letters: int = 0
    unverifiable_rows: int = 0
    expired_rows: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    samples: list[Finding] = field(default_factory=list)
    not_compared: dict[str, str] = field(default_factory=dict)

    @property
    def is_sound(self) -> bool:
        """Whether nothing disagrees."""
        return not self.counts

    def add(self, finding: Finding) -> None:
        """Counts a finding, and keeps it if few of its kind were kept."""
        assert finding.kind in KINDS, finding.kind
        self.counts[finding.kind] += 1
        if self.counts[finding.kind] <= SAMPLES:
            self.samples.append(finding)

    def as_json(self) -> dict[str, Any]:
        """The report as plain values."""
        return {**asdict(self), "counts": dict(self.counts), "sound": self.is_sound}
