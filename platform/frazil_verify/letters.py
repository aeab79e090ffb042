"""Dead letters beside the records that can't be read, and beside the rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from frazil_verify.findings import Finding
from frazil_verify.ledger import Claim
from frazil_verify.table.metadata import TableMetadata
from frazil_verify.table.rows import Rows

Place = tuple[int, int]
"""A partition and an offset."""

_COLUMNS = ("partition", "offset", "topic_id")


@dataclass
class Letters:
    """The dead letters of a topic.

    `bad` and `landed` are those of unreadable records, and of rows; `unknown` those of records of which it is
    not known here whether they can be read.

    Args:
        places: Where they stand in the topic.
        claim: What the table says of them.
    """

    places: frozenset[Place]
    claim: Claim
    bad: set[Place] = field(default_factory=set)
    landed: set[Place] = field(default_factory=set)
    unknown: set[Place] = field(default_factory=set)

    def see_bad(self, place: Place) -> Iterator[Finding]:
        """A record that can't be read has a dead letter, where none was skipped or taken out."""
        if place in self.places:
            self.bad.add(place)
        elif self._keeps_all:
            yield Finding("letter_missing", *place)

    def see_unknown(self, place: Place) -> None:
        """Notes the dead letter of a record whose values are not all known here."""
        if place in self.places:
            self.unknown.add(place)

    def see_row(self, place: Place) -> None:
        """Notes the row of a dead letter."""
        if place in self.places:
            self.landed.add(place)

    def twice(self) -> Iterator[Finding]:
        """Dead letters of records that can be read, whose rows no redrive or replay brought."""
        twice = sorted(self.landed - self.bad)
        brought = self.claim.brought
        if not brought:
            yield from (Finding("letter_landed", *place) for place in twice)
        elif len(twice) > brought:
            yield Finding(
                "letter_landed", -1, -1, f"{len(twice)} dead letters are rows, {brought} by redrives"
            )

    @property
    def _keeps_all(self) -> bool:
        claim = self.claim
        kept = claim.total("dead-letters")
        return kept > 0 and claim.total("bad") == kept and not claim.total("forgotten")


def places_of(table: TableMetadata, topic_id: str) -> frozenset[Place]:
    """Where the dead letters of one topic stand; old ones name no id, and may be of it."""
    known = {column.name: column for column in table.columns}
    columns = tuple(known[name] for name in _COLUMNS if name in known)
    rows = (row for batch in Rows(table, columns) for row in batch)
    return frozenset((row[0], row[1]) for row in rows if len(row) < 3 or row[2] in (None, topic_id))
