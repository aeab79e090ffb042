"""The rows of a table that its topic does not have yet, in an order that is the same at every try."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any

from frazil.derive.feeds.position import FedTo
from frazil.derive.inputs import increment, standing
from frazil.derive.ledger import Position
from frazil.errors import PositionLostError
from frazil.tables.manifests import added_files, data_files
from frazil.tables.snapshots import ancestors

if TYPE_CHECKING:
    from pyiceberg.manifest import DataFile
    from pyiceberg.table import Table
    from pyiceberg.table.snapshots import Snapshot

__all__ = ["Rows", "batches", "has_news"]


@dataclass(frozen=True, slots=True)
class Rows:
    """Some rows, and how far the topic is with them."""

    rows: list[dict[str, Any]]
    to: FedTo


def has_news(table: Table, fed: FedTo) -> bool:
    """Whether the topic lacks rows, or the position must move on lest it expires."""
    if fed.rows is not None or standing(fed.position, table) != "held":
        return True
    return increment(table, fed.position).is_due


def batches(table: Table, fed: FedTo | None, size: int) -> Iterator[Rows]:
    """All rows behind a position, oldest snapshot first; where nothing was fed yet, all that are there.

    Raises:
        PositionLostError: The table no longer has all that was fed, or nothing tells what is new.
    """
    sent = fed.sent if fed else 0
    for snapshot, whole, skip in _parts(table, fed):
        files = list(_files(table, snapshot, whole))
        total, done = sum(file.record_count for file in files), skip
        rows = islice(_read(table, files), skip, None)
        while done < total:
            some = list(islice(rows, size))
            done, sent = done + len(some), sent + len(some)
            at = Position(str(table.metadata.table_uuid), snapshot.snapshot_id, snapshot.sequence_number or 0)
            yield Rows(some, FedTo(at, None if done == total else done, whole, sent))


def _parts(table: Table, fed: FedTo | None) -> Iterator[tuple[Snapshot, bool, int]]:
    """Snapshots, whether all that they hold counts, and how many of their rows were fed."""
    line = list(ancestors(table.metadata))
    if fed is None:
        yield from ((head, True, 0) for head in line[:1])
        return
    _refuse_lost(table, fed)
    if fed.rows is not None:
        yield next(s for s in line if s.snapshot_id == fed.position.snapshot), fed.whole, fed.rows
    for snapshot in reversed(list(takewhile(lambda s: s.snapshot_id != fed.position.snapshot, line))):
        if snapshot.summary and snapshot.summary.operation.value == "append":
            yield snapshot, False, 0


def _refuse_lost(table: Table, fed: FedTo) -> None:
    """Raises where the topic has rows that the table has not, or where it is not known which it lacks."""
    how = standing(fed.position, table)
    kept = table.metadata.snapshot_by_id(fed.position.snapshot)
    if how == "held" and (fed.rows is None or kept):
        increment(table, fed.position)
        return
    raise PositionLostError(
        f"Table {'.'.join(table.name())} is no longer the one that was fed.",
        where=f"fed up to snapshot {fed.position.snapshot}: {'expired' if how == 'held' else how}",
    )


def _files(table: Table, snapshot: Snapshot, whole: bool) -> Iterable[DataFile]:
    if not whole:
        return added_files(table, snapshot)
    return data_files(table, snapshot)


def _read(table: Table, files: Iterable[DataFile]) -> Iterator[dict[str, Any]]:
    from pyiceberg.expressions import AlwaysTrue
    from pyiceberg.io.pyarrow import ArrowScan
    from pyiceberg.table import FileScanTask

    scan = ArrowScan(table.metadata, table.io, table.schema(), AlwaysTrue())
    for file in files:
        for batch in scan.to_record_batches([FileScanTask(file)]):
            yield from batch.to_pylist()
