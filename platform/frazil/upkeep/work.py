"""What upkeep did: its report, what a snapshot says of it, and what a table remembers."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from frazil.errors import MALFORMED
from frazil.tables.metadata.snapshots import UPKEEP, ancestors, summary_of

if TYPE_CHECKING:
    from pyiceberg.table.metadata import TableMetadata

Number = int | float

MB = 2**20
_DECIMAL = {"GB": 10**9, "MB": 10**6, "KB": 10**3}

SEEN = "frazil.upkeep-seen"
"""There as well, of a compaction: sequence number of the head that it was planned on."""

_PROPERTY = "frazil.upkeep."


@dataclass(frozen=True, slots=True)
class WorkReport:
    """What one run of upkeep did to one table."""

    table: str
    kind: str
    done: bool  # whether anything was changed or, on a dry run, would be
    text: str  # what was done and what it gained, or why nothing was done: a sentence with numbers
    snapshot_id: int | None = None  # the snapshot that the work made on `main`, if it made one
    numbers: Mapping[str, Number] = field(default_factory=dict)
    conflicts: int = 0  # how often a commit was tried again on a new head
    dry_run: bool = False
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class LastWork:
    """What a table remembers of its last work of one kind."""

    at: float  # when it ended, in seconds since the epoch
    text: str
    # The head of `main` when it ended; the table is quiet while that is still the head.
    snapshot_id: int | None
    seconds: float = 0.0  # how long it took


def last_works(metadata: TableMetadata) -> dict[str, LastWork]:
    """The last work of each kind that the table's properties remember.

    Other versions of Frazil may say more or less there; what can't be read counts as not remembered.
    """
    properties = {key: text for key, text in metadata.properties.items() if key.startswith(_PROPERTY)}
    works = {key.removeprefix(_PROPERTY): _last_work(text) for key, text in properties.items()}
    return {kind: last for kind, last in works.items() if last}


def _last_work(text: str) -> LastWork | None:
    try:
        known = json.loads(text)
        head = known.get("snapshot_id")
        at, seconds = float(known["at"]), float(known.get("seconds", 0.0))
        return LastWork(at, str(known.get("text", "")), None if head is None else int(head), seconds)
    except MALFORMED:
        return None


def remembered(kind: str, last: LastWork) -> dict[str, str]:
    """The same as table properties, to be set when the work is done."""
    known = {
        "at": round(last.at, 3),
        "text": last.text,
        "snapshot_id": last.snapshot_id,
        "seconds": round(last.seconds, 3),
    }
    return {_PROPERTY + kind: json.dumps(known)}


def only_upkeep_since(
    metadata: TableMetadata, snapshot_id: int | None, kinds: Collection[str] | None = None
) -> bool:
    """Whether every snapshot of `main` behind the one named was made by upkeep: then no row is new.

    False where that one is no ancestor of `main`, or expired. The metadata must have all snapshots; where
    `kinds` is None, all kinds of upkeep count.
    """
    for snapshot in ancestors(metadata):
        if snapshot.snapshot_id == snapshot_id:
            return True
        kind = summary_of(snapshot).get(UPKEEP)
        if kind is None or (kinds is not None and kind not in kinds):
            return False
    return snapshot_id is None


def size_text(size: int) -> str:
    """`1,234.5 MiB` or `12.3 KiB`; a whole number of what specs say, too, is written so: `400 KB`."""
    for unit, of in _DECIMAL.items():
        if size and size % of == 0:
            return f"{size // of:,} {unit}"
    return f"{size / MB:,.1f} MiB" if size >= MB else f"{size / 1024:.1f} KiB"
