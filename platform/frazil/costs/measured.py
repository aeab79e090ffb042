"""What a table's own snapshots say that work on it took: nothing is guessed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING

from frazil.costs.units import OF_COMMIT, Line, Period, Unit, Units, objects_put, total_of
from frazil.derive.positions.ledger import DerivedLedger
from frazil.landing.position.ledger import Ledger
from frazil.tables.catalogs.requests import Requests
from frazil.tables.commits.stage import TASK_SECONDS
from frazil.tables.metadata.snapshots import UPKEEP, ancestors, is_first, made_at, number, summary_of

if TYPE_CHECKING:
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.table.snapshots import Snapshot

ICEBERG = "iceberg"

STORAGE = "storage"


def lines_of(table: str, metadata: TableMetadata, period: Period, *, in_glue: bool) -> list[Line]:
    """What was done to a table in a time, by kind of work, and what it stored.

    Args:
        in_glue: Whether Glue is the table's own catalog, which bills each commit as a request.

    Raises:
        PositionLostError: What Frazil noted in a snapshot can't be read.
    """
    recent = (s for s in metadata.snapshots if period.holds(made_at(s)))
    commits = [_commit(table, snapshot, in_glue=in_glue) for snapshot in recent]
    works = dict.fromkeys(line.work for line in commits)
    sums = [Line(table, ICEBERG, w, total_of(c for c in commits if c.work == w)) for w in works]
    return [*sums, Line(table, ICEBERG, STORAGE, _stored(metadata, period))]


def _commit(table: str, snapshot: Snapshot, *, in_glue: bool) -> Line:
    summary = summary_of(snapshot)
    files = number(summary, "added-data-files") + number(summary, "added-delete-files")
    units: dict[Unit, float] = {
        "bytes_written": number(summary, "added-files-size"),
        "bytes_replaced": number(summary, "removed-files-size"),
        "files": files,
        "commits": 1,
        "writes": objects_put(files, commits=1),
    }
    if requests := Requests.of(summary):
        units["reads"] = requests.reads
        units["writes"] = files + requests.puts + OF_COMMIT
        units["metadata_bytes"] = requests.bytes
    if in_glue:
        units["glue_calls"] = 1
    if (seconds := task_seconds(summary)) is not None:
        units["task_seconds"] = seconds
    work, own = _work(snapshot, summary)
    return Line(table, ICEBERG, work, {**units, **own})


def task_seconds(summary: Mapping[str, str]) -> float | None:
    """CPU seconds of the tasks that wrote a snapshot's files; None where it does not say."""
    try:
        return float(summary[TASK_SECONDS])
    except (KeyError, ValueError):
        return None


def _work(snapshot: Snapshot, summary: Mapping[str, str]) -> tuple[str, Units]:
    """The kind of work that made a snapshot, and what only that kind counts."""
    if kind := summary.get(UPKEEP):
        return kind, {}
    if ledger := Ledger.of(snapshot):
        work = "landing" if ledger.is_landing else "repair"
        return work, {"records": ledger.read, "bytes_in": ledger.bytes}
    if derived := DerivedLedger.of(snapshot):
        return "derivation", {"records": derived.rows}
    return "creation" if is_first(snapshot) else "other engines", {}


def _stored(metadata: TableMetadata, period: Period) -> Units:
    line = [*ancestors(metadata)][::-1]
    ends = [*map(made_at, line[1:]), period.now][: len(line)]
    live = sum(_size(s) * period.share_of(made_at(s), end) for s, end in zip(line, ends, strict=True))
    removed = [(made_at(newer), _removed(newer)) for _, newer in pairwise(line)]
    history = sum(size * period.share_of(at, period.now) for at, size in removed)
    return {
        "live_bytes": _size(line[-1]) if line else 0,
        "history_bytes": sum(size for _, size in removed),
        "byte_seconds": live + history,
    }


def _size(snapshot: Snapshot) -> int:
    return number(summary_of(snapshot), "total-files-size")


def _removed(snapshot: Snapshot) -> int:
    """Bytes that it no longer names, and an older one does: they are stored until that one expires."""
    return number(summary_of(snapshot), "removed-files-size")


def gaps_of(table: str, metadata: TableMetadata, period: Period) -> Iterator[str]:
    """What a table's snapshots no longer tell of a time."""
    oldest = min(metadata.snapshots, key=lambda s: s.timestamp_ms, default=None)
    if oldest is None or made_at(oldest) <= period.since:
        return
    gone = (oldest.sequence_number or 1) - 1
    if gone:
        first = datetime.fromtimestamp(made_at(oldest), UTC)
        yield f"{gone:,} of the commits to {table}, from before {first:%Y-%m-%d %H:%M} UTC: they expired"
