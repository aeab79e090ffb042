"""What a table remembers of rows that were forgotten: how often, and until when older snapshots may be kept.

Work that began before a forgetting may hold rows that are to be forgotten, and publish them after the look.
So each look, even one that finds nothing, is counted in a commit that moves the head, and publishing compares
the count.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from frazil.tables.commits.ledger import read
from frazil.tables.metadata.snapshots import ancestors

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyiceberg.table.metadata import TableMetadata

_PROPERTY = "frazil.upkeep-forgotten"
"""Table property: `[[sequence number, due], ...]`; what is older than a snapshot goes at that time (ms)."""

_COUNT = "frazil.upkeep-forgettings"
"""Table property: how often somebody looked for rows to be forgotten. No rollback takes it back."""

Pending = list[tuple[int, int]]


def pending(metadata: TableMetadata) -> Pending:
    """Sequence numbers of snapshots that forgot rows, with when all before them must go (ms since 1970)."""
    text = metadata.properties.get(_PROPERTY, "[]")
    return read(_PROPERTY, text, lambda text_read: [(int(s), int(due)) for s, due in json.loads(text_read)])


def has_forgotten(metadata: TableMetadata) -> bool:
    """Whether rows of a table were ever forgotten."""
    return bool(pending(metadata))


def forgettings(metadata: TableMetadata) -> int:
    """How often somebody looked for rows to be forgotten, and took those that were there."""
    return read(_COUNT, metadata.properties.get(_COUNT, "0"), int)


def noted(table: Table, due: int, sequence: int) -> dict[str, str]:
    """The properties once the snapshot of a sequence number holds nothing that is to be forgotten.

    What is over, for no older snapshot is left, goes.
    """
    oldest = min((s.sequence_number or 0 for s in table.metadata.snapshots), default=0)
    left = [(number, at) for number, at in pending(table.metadata) if number > oldest]
    waiting = json.dumps(sorted({*left, (sequence, due)}))
    return {_PROPERTY: waiting, **one_more(table)}


def one_more(table: Table) -> dict[str, str]:
    """The property once somebody has looked for rows one more time."""
    return {_COUNT: str(forgettings(table.metadata) + 1)}


def must_go(metadata: TableMetadata, now: float) -> set[int]:
    """Snapshots from before rows were forgotten whose time is up; `now` in seconds since the epoch."""
    due = max((sequence for sequence, at in pending(metadata) if at <= now * 1000), default=0)
    return {s.snapshot_id for s in metadata.snapshots if (s.sequence_number or 0) < due}


def older_than_forgotten(metadata: TableMetadata) -> Iterator[str]:
    """Branches and tags, in words, that name a snapshot from before rows were forgotten.

    Or one that was written later by work that began before: it holds what the work began with.
    """
    newest = max((sequence for sequence, _ in pending(metadata)), default=0)
    main = {s.snapshot_id for s in ancestors(metadata)}
    for name, ref in metadata.refs.items():
        line = list(ancestors(metadata, name))
        began = next((s for s in line if s.snapshot_id in main), line[0]) if line else None
        if name != "main" and began and (began.sequence_number or 0) < newest:
            yield f"{ref.snapshot_ref_type.value} {name} keeps snapshot {ref.snapshot_id}"
