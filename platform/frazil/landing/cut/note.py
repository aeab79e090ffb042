"""What a table notes of the cuts that it is part of, and the tag that it gets where it reaches one.

A note says at which offsets any landing has to end. The commit that brings the table there sets
the tag: so no process has to live for it, and no tag is on a snapshot that holds anything else.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from frazil.errors import OvertakenError
from frazil.landing.plan import Plan
from frazil.landing.position.ledger import Ledger, read_ledger
from frazil.tables.catalogs.handle import name_of
from frazil.tables.commits.ledger import read, whole_number
from frazil.tables.commits.staging import add_tag, remove_ref

if TYPE_CHECKING:
    from pyiceberg.table import Table, Transaction
    from pyiceberg.table.metadata import TableMetadata

TAG = "cut_"
"""Prefix of the tags; the name of the cut follows."""

_PROPERTY = "frazil.cut."


@dataclass(frozen=True, slots=True)
class Note:
    """One cut, as one of its tables tells it.

    `at`: when the topics were asked for their ends, in milliseconds since the epoch. `log`: that of the
    offsets. `ends`: by partition the offset before which all is in, and nothing else. `tables`: all of the
    cut. `keep`: milliseconds after which the tag goes; None: never. `snapshot`: what the tag was set on.
    """

    name: str
    pipeline: str
    at: int
    log: str
    ends: Mapping[int, int]
    tables: tuple[str, ...]
    keep: int | None = None
    by: str = ""
    snapshot: int | None = None

    @property
    def tag(self) -> str:
        """The tag's name."""
        return TAG + self.name

    @property
    def properties(self) -> dict[str, str]:
        """As a property of the table."""
        return {_PROPERTY + self.name: json.dumps(asdict(self))}

    def is_passed(self, ledger: Ledger) -> bool:
        """Whether the table holds more than the cut, or records of another log."""
        behind = any(at > self.ends[p] for p, at in ledger.position.items() if p in self.ends)
        return behind or ledger.log != self.log

    def is_reached(self, ledger: Ledger) -> bool:
        """Whether the table holds exactly the cut."""
        return ledger.log == self.log and {p: ledger.position.get(p) for p in self.ends} == self.ends

    def waiting(self, ledger: Ledger) -> int:
        """How many offsets are left to be landed for it."""
        return sum(max(0, end - ledger.position.get(p, 0)) for p, end in self.ends.items())


def notes(properties: Mapping[str, str]) -> dict[str, Note]:
    """By name the cuts that a table is part of; raises PositionLostError where a note can't be read."""
    noted = {key: text for key, text in properties.items() if key.startswith(_PROPERTY)}
    parsed = [read(key, text, _parsed) for key, text in sorted(noted.items())]
    return {note.name: note for note in parsed}


def _parsed(text: str) -> Note:
    document = json.loads(text)
    ends = {int(p): whole_number(end) for p, end in document["ends"].items()}
    return Note(**{**document, "ends": ends, "tables": tuple(document["tables"])})


def limited(plan: Plan, table: Table) -> Plan:
    """The plan up to the next cut; the caller goes on behind it."""
    for note in _pending(table.metadata, plan.ledger):
        # A partition that is new since the cut was begun waits, too.
        stops = {p: max(start, note.ends.get(p, start)) for p, (start, _) in plan.spans.items()}
        plan = plan.until(stops)
    return plan


def refuse_passing(table: Table, entry: Ledger) -> None:
    """Refuses a landing that would go past a cut that was begun after it was planned.

    Raises:
        OvertakenError: It would.
    """
    for note in _pending(table.metadata, read_ledger(table.metadata)):
        if note.is_passed(entry) and entry.log == note.log:
            raise OvertakenError(
                f"The cut {note.name} was begun while records were landed into {name_of(table)}; "
                "they were dropped.",
                where=f"the cut ends at {dict(note.ends)}, the landing at {entry.position}",
                meaning="Every record is in the table exactly once; nothing of this landing is visible.",
                todo="Nothing. Land again: it ends at the cut, and goes on behind it.",
            )


def tag_reached(tx: Transaction, before: Ledger | None, after: Ledger) -> None:
    """Sets the tags of the cuts that a commit brings the table to; both ledgers are those around it."""
    head = tx.table_metadata.refs["main"].snapshot_id
    for note in _pending(tx.table_metadata, before):
        if note.is_reached(after):
            set_tag(tx, note, head)


def set_tag(tx: Transaction, note: Note, snapshot_id: int, instead: int | None = None) -> None:
    """Sets the tag of a cut, and notes on which snapshot; `instead` of one that the commit removes."""
    add_tag(tx, note.tag, snapshot_id, note.keep, instead)
    tx.set_properties(replace(note, snapshot=snapshot_id).properties)


def drop(tx: Transaction, name: str) -> int | None:
    """Has a commit remove what a table has of a cut; the snapshot of its tag, if there was one."""
    if name not in notes(tx.table_metadata.properties):
        return None
    tx.remove_properties(_PROPERTY + name)
    tag = tx.table_metadata.refs.get(TAG + name)
    if tag:
        remove_ref(tx, TAG + name)
    return tag.snapshot_id if tag else None


def _pending(metadata: TableMetadata, ledger: Ledger | None) -> Iterator[Note]:
    """The cuts that the table can still reach."""
    for note in notes(metadata.properties).values():
        if note.snapshot is None and ledger and not note.is_passed(ledger):
            yield note
