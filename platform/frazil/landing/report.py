"""What landings tell of themselves, to people, scripts and Dagster."""

from __future__ import annotations

from dataclasses import dataclass, replace

from frazil.landing.checking.outcome import CheckOutcome, sum_of_outcomes
from frazil.landing.position.ledger import Ledger, Span
from frazil.spec.names import TableName
from frazil.tables.commits.commit import Committed
from frazil.tables.commits.stage import StagedFiles


@dataclass(frozen=True, slots=True)
class LandingReport:
    """What one call of `land` did; sums over its landings.

    `lost`: offsets that the topic no longer held, and that were given up. `conflicts`: how often publishing
    had to be tried again because others had committed in between. `filtered`: those of the skipped records
    that the spec's `where` left out. `inserted`, `updated`, `deleted`: rows of
    an upsert table. `checks`: what the spec's own checks say of the rows. `task_seconds`: CPU of the tasks
    that wrote them; None where they did not count. `median_timestamp`: half of the newest landing's records
    are older, None where nobody counted. `unasked`: rules of the schemas that readers shall
    follow, and that nobody asked.
    """

    table: str
    topic: str
    snapshot_id: int | None = None
    records: int = 0
    dead_letters: int = 0
    skipped: int = 0
    filtered: int = 0
    gaps: int = 0
    lost: int = 0
    spans: dict[int, Span] | None = None
    bytes: int = 0
    files: int = 0
    schema_ids: tuple[int, ...] = ()
    max_timestamp: int | None = None
    median_timestamp: int | None = None
    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    landings: int = 0
    conflicts: int = 0
    seconds: float = 0.0
    task_seconds: float | None = None
    checks: tuple[CheckOutcome, ...] = ()
    unasked: tuple[str, ...] = ()

    @property
    def earlier_text(self) -> str:
        """What an error of the same call, behind these landings, says of them."""
        are = "landing of this call is" if self.landings == 1 else "landings of this call are"
        return f"{self.landings} earlier {are} published, with {self.records} records."


def report_of(
    name: TableName,
    entry: Ledger,
    published: Committed,
    staged: StagedFiles,
    checks: tuple[CheckOutcome, ...] = (),
) -> LandingReport:
    """One landing that is published."""
    return LandingReport(
        table=str(name),
        topic=entry.topic,
        snapshot_id=published.snapshot_id,
        records=entry.records,
        dead_letters=entry.dead_letters,
        skipped=entry.skipped,
        filtered=entry.filtered,
        gaps=sum(entry.gaps.values()),
        lost=sum(entry.lost.values()),
        spans={p: s for p, s in entry.spans.items() if s[1] > s[0]},
        bytes=entry.bytes,
        files=len(staged.files),
        schema_ids=entry.schema_ids,
        max_timestamp=entry.max_timestamp,
        median_timestamp=next(iter(staged.older), None),
        inserted=entry.inserted,
        updated=entry.updated,
        deleted=entry.deleted,
        landings=1,
        conflicts=published.conflicts,
        checks=checks,
        task_seconds=staged.took,
    )


def sum_of(one: LandingReport, two: LandingReport) -> LandingReport:
    """Two landings of one call, the second behind the first."""
    if not two.landings:
        return one
    spans = dict(one.spans or {})
    for p, (start, to) in (two.spans or {}).items():
        spans[p] = (spans.get(p, (start, to))[0], to)
    return replace(
        two,
        records=one.records + two.records,
        dead_letters=one.dead_letters + two.dead_letters,
        skipped=one.skipped + two.skipped,
        filtered=one.filtered + two.filtered,
        gaps=one.gaps + two.gaps,
        lost=one.lost + two.lost,
        spans=spans,
        bytes=one.bytes + two.bytes,
        files=one.files + two.files,
        schema_ids=tuple(sorted({*one.schema_ids, *two.schema_ids})),
        inserted=one.inserted + two.inserted,
        updated=one.updated + two.updated,
        deleted=one.deleted + two.deleted,
        landings=one.landings + two.landings,
        conflicts=one.conflicts + two.conflicts,
        seconds=round(one.seconds + two.seconds, 3),
        task_seconds=_sum(one.task_seconds, two.task_seconds),
        checks=sum_of_outcomes(one.checks, two.checks),
    )


def _sum(one: float | None, two: float | None) -> float | None:
    return one + two if one is not None and two is not None else None
