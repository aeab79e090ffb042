"""What a derivation tells of itself, in numbers and in a sentence."""

from __future__ import annotations

from dataclasses import dataclass, replace

from frazil.derive.plan import Plan
from frazil.derive.positions.ledger import DerivedLedger
from frazil.derive.write import Result
from frazil.landing.checking.outcome import CheckOutcome, sum_of_outcomes
from frazil.spec.derived import DerivedKind, DerivedSpec
from frazil.tables.commits.commit import Committed
from frazil.tables.metadata.snapshots import ancestors

_ADDED = (
    "rows", "removed", "bad", "late", "input_rows", "input_bytes", "state_bytes", "files", "conflicts",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class DeriveReport:
    """What one call of `derive` did: rows and files that were written, rows that were replaced."""

    table: str
    kind: DerivedKind
    snapshot_id: int | None = None
    done: bool = False  # whether a snapshot was made
    whole: bool = False  # whether all inputs were read, and not only what is new in them
    rows: int = 0
    removed: int = 0
    total_rows: int = 0
    bad: int = 0  # dead letters: rows that the query calls bad, or of windows far ahead of the clock
    late: int = 0  # rows of windows that were closed
    input_rows: int = 0  # rows that were read, by the inputs' own metadata
    input_bytes: int = 0
    state_bytes: int = 0  # bytes of the output's own files that were read to merge with
    files: int = 0
    watermark: int | None = None  # microseconds since the epoch
    inputs: dict[str, int] | None = None  # the snapshot of each input that the table now holds
    rolled_back_to: int | None = None  # the snapshot to which the table went back first, because an input had
    conflicts: int = 0  # how often publishing was tried again because others had committed in between
    fed: int = 0  # records that the table's topic got
    checks: tuple[CheckOutcome, ...] = ()  # what the spec's own checks say of the rows
    seconds: float = 0.0
    text: str = ""

    def followed_by(self, other: DeriveReport) -> DeriveReport:
        """Both in one: what was done is added up, and the table is as the other one left it."""
        if not other.done:
            return self
        added = {name: getattr(self, name) + getattr(other, name) for name in _ADDED}
        checks = sum_of_outcomes(self.checks, other.checks)
        return replace(other, whole=self.whole, text=f"{self.text} {other.text}", checks=checks, **added)


def nothing_new(spec: DerivedSpec, table: str, plan: Plan) -> DeriveReport:
    """The report of a derivation that found nothing new."""
    head = next(ancestors(plan.table.metadata), None) if plan.table else None
    before = plan.before
    return DeriveReport(
        table=table,
        kind=spec.kind,
        snapshot_id=head.snapshot_id if head else None,
        total_rows=before.total_rows if before else 0,
        watermark=before.watermark if before else None,
        inputs={name: p.snapshot for name, p in before.inputs.items()} if before else {},
        rolled_back_to=plan.rolled_back_to,
        text=f"Nothing new for {table}: it holds all that its inputs do{_went_back(plan)}.",
    )


def report_of(
    spec: DerivedSpec, table: str, plan: Plan, entry: DerivedLedger, result: Result, published: Committed,
    checks: tuple[CheckOutcome, ...] = (),
) -> DeriveReport:  # fmt: skip
    """The report of a derivation that is published."""
    before = plan.before.total_rows if plan.before else 0
    removed = before if plan.whole else sum(result.removed.values())
    rows, size = (sum(getattr(new, what) for new in plan.increments.values()) for what in ("rows", "bytes"))
    apart = "".join(f", {n} {word}" for n, word in ((entry.bad, "bad"), (entry.late, "late")) if n)
    word = "all" if plan.whole else "new and changed" if plan.changes else "new"
    read = f"{word} {rows} rows of {', '.join(sorted(plan.inputs))}"
    return DeriveReport(
        table=table,
        kind=spec.kind,
        snapshot_id=published.snapshot_id,
        done=True,
        whole=plan.whole,
        rows=entry.rows,
        removed=removed,
        total_rows=before - removed + entry.rows,
        bad=entry.bad,
        late=entry.late,
        input_rows=rows,
        input_bytes=size,
        state_bytes=result.state_bytes,
        files=len(result.staged.files),
        watermark=entry.watermark,
        inputs={name: p.snapshot for name, p in plan.positions.items()},
        rolled_back_to=plan.rolled_back_to,
        conflicts=published.conflicts,
        checks=checks,
        text=f"{table}: {entry.rows} rows written of {read}{apart}{_went_back(plan)}.",
    )


def _went_back(plan: Plan) -> str:
    where = plan.rolled_back_to
    return f"; an input was rolled back, so it went back to snapshot {where} first" if where else ""
