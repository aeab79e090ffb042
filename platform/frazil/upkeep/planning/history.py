"""What a table's snapshots tell of arrivals, and of what its landings and compactions took."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from frazil.costs.measured import task_seconds
from frazil.costs.units import Period
from frazil.landing.position.ledger import Ledger, ledgers
from frazil.spec.table import AnyTable
from frazil.tables.catalogs.requests import OPENED, Requests
from frazil.tables.commits.stage import OLDER, record_times
from frazil.tables.metadata.snapshots import UPKEEP, ancestors, made_at, number, summary_of
from frazil.upkeep.compaction.bins import Rule
from frazil.upkeep.compaction.plan import is_rewrite
from frazil.upkeep.planning.partition import LANDING_READS, Copy, Rates, Rules
from frazil.upkeep.planning.replay import Arrival

if TYPE_CHECKING:
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.table.snapshots import Snapshot

_LANDING, _RECORD, _BYTE = 0.3, 10e-6, 13 / 2**30
"""CPU seconds where a table tells of none: docs/sizing.md, on two cores."""

_SKEWS, _BETTER = 20, 0.9
"""So many skews up to 1 are tried. One is taken whose squares of errors are a tenth less than without."""


@dataclass(frozen=True, slots=True)
class History:
    """What a table's landings were like.

    Args:
        arrivals: In order of time; records of one landing came evenly between the times that it tells of.
        assumed: What is not this table's own, but of docs/sizing.md.
    """

    arrivals: Sequence[Arrival]
    rates: Rates
    assumed: tuple[str, ...]

    @property
    def seconds(self) -> float:
        """How long records came for."""
        return self.arrivals[-1].at - self.arrivals[0].at + 1 if self.arrivals else 0.0


@dataclass(frozen=True, slots=True)
class _Landing:
    """One landing: until when its records came, and what it took.

    Args:
        older: For each share in `OLDER` when its newest record came; nothing, if the snapshot does not say.
    """

    until: float
    older: Sequence[float]
    records: int
    bytes: int
    files: int
    seconds: float | None
    reads: int | None


def history_of(metadata: TableMetadata, period: Period) -> History:
    """The history of a time, as far back as snapshots are kept."""
    landings = sorted(_landings(metadata, period), key=lambda landing: landing.until)
    timed = [landing for landing in landings if landing.seconds is not None]
    fixed, each = _line([(landing.records, landing.seconds or 0.0) for landing in timed])
    usual = sum(landing.records for landing in landings) / max(1, len(landings)) or 1.0
    spread, skew = _spread([(landing.records / usual, landing.files) for landing in landings])
    again = _per_byte(metadata, period)
    reads = [landing.reads for landing in landings if landing.reads is not None]
    file_bytes, record_bytes = _line([(f.records / f.files, f.bytes / f.files) for f in landings if f.files])
    rates = Rates(
        record_bytes=record_bytes,
        file_bytes=file_bytes,
        spread=spread,
        usual=usual,
        skew=skew,
        landing_seconds=fixed if timed else _LANDING,
        record_seconds=each if timed else _RECORD,
        byte_seconds=_BYTE if again is None else again,
        landing_reads=sum(reads) / len(reads) if reads else LANDING_READS,
        file_reads=_per_file(metadata, period),
    )
    is_measured = {
        "CPU of landings": bool(timed),
        "CPU of compaction": again is not None,
        "reads of landings": bool(reads),
    }
    unknown = tuple(what for what, known in is_measured.items() if not known)
    return History([*_arrivals(landings)], rates, unknown)


def rules_of(spec: AnyTable, metadata: TableMetadata, history: History) -> Rules:
    """The rules of a spec for a table as it was before a history's records came."""
    target, upkeep = int(spec.write.target_file_size), spec.upkeep
    live = number(summary_of(metadata.current_snapshot()), "total-files-size")
    came = sum(arrival.records for arrival in history.arrivals) * history.rates.record_bytes
    return Rules(
        rule=Rule.of(upkeep, target, sorts=bool(spec.sort_by)),
        small_bytes=int(upkeep.small_bytes),
        compact_after=upkeep.compact_after.total_seconds(),
        kept_for=upkeep.keep_snapshots_for.total_seconds(),
        manifests=upkeep.manifests,
        live=max(0, int(live - came)),
        copies=[*_copies(metadata, history)],
    )


def _copies(metadata: TableMetadata, history: History) -> Iterator[Copy]:
    """What compactions had replaced before the first record of a history came."""
    for snapshot in ancestors(metadata):
        if history.arrivals and made_at(snapshot) < history.arrivals[0].at and is_rewrite(snapshot):
            yield Copy(made_at(snapshot), number(summary_of(snapshot), "removed-files-size"))


def _landings(metadata: TableMetadata, period: Period) -> Iterator[_Landing]:
    for snapshot, ledger in ledgers(metadata):
        if ledger.is_landing and ledger.read and period.holds(made_at(snapshot)):
            yield _landing(snapshot, ledger)


def _landing(snapshot: Snapshot, ledger: Ledger) -> _Landing:
    summary, newest = summary_of(snapshot), ledger.max_timestamp
    return _Landing(
        until=min(snapshot.timestamp_ms, snapshot.timestamp_ms if newest is None else newest) / 1000,
        older=[at / 1000 for at in record_times(summary)],
        records=ledger.read,
        bytes=number(summary, "added-files-size"),
        files=number(summary, "added-data-files"),
        seconds=task_seconds(summary),
        reads=requests.reads if (requests := Requests.of(summary)) else None,
    )


def _arrivals(landings: Sequence[_Landing]) -> Iterator[Arrival]:
    """The first landing only says when the others' records began to come."""
    for before, landing in pairwise(landings):
        came = 0
        for begin, end, share in _spans(before.until, landing):
            records, came = round(landing.records * share) - came, round(landing.records * share)
            yield from _evenly(int(begin), int(end), records)


def _spans(since: float, landing: _Landing) -> Iterator[tuple[float, float, float]]:
    """Spans of time, the oldest first, and which share of a landing's records came until the end of each."""
    known = reversed([*zip((1.0, *OLDER), (landing.until, *landing.older), strict=False)])
    begin = since
    for nth, (share, at) in enumerate(known):
        end = min(max(at, since), landing.until)
        yield (end - 1 if landing.older and not nth else begin), end, share
        begin = end


def _evenly(begin: int, end: int, records: int) -> Iterator[Arrival]:
    begin = min(begin, end - 1)
    seconds = end - begin
    for second in range(seconds):
        if share := records * (second + 1) // seconds - records * second // seconds:
            yield Arrival(begin + second + 1, share)


def _line(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """What a landing or a file takes by itself and for each record, by least squares; neither below zero."""
    if not points:
        return 0.0, 0.0
    mean_x, mean_y = (sum(values) / len(points) for values in zip(*points, strict=True))
    wide = sum((x - mean_x) ** 2 for x, _ in points)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / wide if wide else 0.0
    slope = min(max(0.0, slope), mean_y / mean_x)
    return mean_y - slope * mean_x, slope


def _spread(points: Sequence[tuple[float, int]]) -> tuple[float, float]:
    """`Rates.spread` and `skew` by least squares; no skew, unless one fits better by a tenth.

    `points`: of landings their records, to the usual number, and their files.
    """
    if not points:
        return 1.0, 0.0
    fits = [_fit(points, nth / _SKEWS) for nth in range(_SKEWS + 1)]
    error, more, skew = min(fits)
    return (1 + more, skew) if error < _BETTER * fits[0][0] else (1 + fits[0][1], 0.0)


def _fit(points: Sequence[tuple[float, int]], skew: float) -> tuple[float, float, float]:
    """How far a skew is off, and how many partitions come beside the first."""
    known = [(records**skew, max(0, files - 1)) for records, files in points]
    more = sum(share * files for share, files in known) / sum(share**2 for share, _ in known)
    return sum((more * share - files) ** 2 for share, files in known), more, skew


def _per_byte(metadata: TableMetadata, period: Period) -> float | None:
    """CPU seconds for each byte that compactions wrote again; None where none tells."""
    samples = [
        (seconds, number(summary, "removed-files-size"))
        for summary in _compactions(metadata, period)
        if (seconds := task_seconds(summary)) is not None
    ]
    size = sum(size for _, size in samples)
    return sum(seconds for seconds, _ in samples) / size if size else None


def _per_file(metadata: TableMetadata, period: Period) -> float:
    """Requests that read for each file that compactions took: two, where none tells."""
    samples = [
        (requests.reads, number(summary, "deleted-data-files"))
        for summary in _compactions(metadata, period)
        if (requests := Requests.of(summary))
    ]
    files = sum(files for _, files in samples)
    return sum(reads for reads, _ in samples) / files if files else OPENED


def _compactions(metadata: TableMetadata, period: Period) -> Iterator[Mapping[str, str]]:
    """What the snapshots of a time say that compactions made."""
    summaries = (summary_of(s) for s in ancestors(metadata) if period.holds(made_at(s)))
    return (summary for summary in summaries if summary.get(UPKEEP) == "compaction")
