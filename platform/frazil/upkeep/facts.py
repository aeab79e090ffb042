"""What a table's metadata tells without its manifests: the facts of its head, and its history.

Facts need no snapshot but the head, which is all that is read of a table at each look
(tables/catalogs/pointers.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from frazil.tables.metadata.snapshots import UPKEEP, ancestors, number, number_or_none, summary_of
from frazil.upkeep.compaction.bins import Left
from frazil.upkeep.compaction.plan import Copies, read_copies
from frazil.upkeep.work import SEEN, LastWork, last_works, only_upkeep_since

if TYPE_CHECKING:
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.table.snapshots import Snapshot

_COMPACTION = "compaction"


@dataclass(frozen=True, slots=True)
class Facts:
    """One table at a glance.

    `files`, `bytes` and `delete_files` are None where the summary lacks them, as with some writers;
    only the manifests tell them then.
    """

    head: int | None  # snapshot of `main`; None where there is none
    commits: int | None  # how many snapshots there ever were, those of branches too; None before format 2
    files: int | None
    bytes: int | None
    delete_files: int | None
    last: Mapping[str, LastWork]


@dataclass(frozen=True, slots=True)
class History:
    """What the snapshots tell together."""

    head: int | None  # the head that it was read at
    snapshots: int
    oldest: float | None  # when the oldest snapshot was made, in seconds since the epoch
    left: Left = field(default_factory=Left)  # the files that the newest compaction left
    quiet: bool = False  # nothing but compaction happened since the last one, and that one got nowhere
    copies: Copies = field(default_factory=Copies)  # what the snapshots hold and the head does not


def read_facts(metadata: TableMetadata) -> Facts:
    """The facts of a table, by any writer."""
    head = metadata.current_snapshot()
    summary = summary_of(head)
    return Facts(
        head=head.snapshot_id if head else None,
        commits=getattr(metadata, "last_sequence_number", None),
        files=number_or_none(summary, "total-data-files"),
        bytes=number_or_none(summary, "total-files-size"),
        delete_files=number_or_none(summary, "total-delete-files"),
        last=last_works(metadata),
    )


def read_history(metadata: TableMetadata) -> History:
    """The history of a table; its metadata must have all snapshots."""
    compaction = next(_compactions(metadata), None)
    times = [s.timestamp_ms for s in metadata.snapshots]
    return History(
        head=metadata.current_snapshot_id,
        snapshots=len(times),
        oldest=min(times) / 1000 if times else None,
        left=read_left(metadata),
        quiet=_is_quiet(metadata, compaction),
        copies=read_copies(metadata),
    )


def read_left(metadata: TableMetadata) -> Left:
    """Which files the newest compaction left; the metadata must have all snapshots."""
    compactions = list(_compactions(metadata))
    if not compactions:
        return Left()
    newest = compactions[0]
    seen = number_or_none(summary_of(newest), SEEN)  # earlier versions of Frazil did not say
    return Left(
        (newest.sequence_number or 0) if seen is None else seen,
        frozenset(s.snapshot_id for s in compactions),
    )


def _compactions(metadata: TableMetadata) -> Iterator[Snapshot]:
    return (s for s in ancestors(metadata) if summary_of(s).get(UPKEEP) == _COMPACTION)


def _is_quiet(metadata: TableMetadata, compaction: Snapshot | None) -> bool:
    """Whether another compaction would find what the last one left, and that one got nowhere.

    One that was bounded in bytes saved files, and there may be more to save. One that did nothing may
    have had to spare old copies, of which some expired since it began.
    """
    works = last_works(metadata)
    last, expiry = works.get(_COMPACTION), works.get("expiry")
    if last is None or not only_upkeep_since(metadata, last.snapshot_id, [_COMPACTION]):
        return False
    summary = summary_of(compaction)
    if compaction is None or compaction.snapshot_id != last.snapshot_id:
        return expiry is None or expiry.at < last.at - last.seconds
    return number(summary, "added-data-files") >= number(summary, "deleted-data-files")
