"""The audit of a branch: what was written must add up with what was planned, or nothing is published."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from frazil.errors import AuditFailedError
from frazil.kafka.epochs import count_records
from frazil.landing.plan import Plan
from frazil.landing.write import Written
from frazil.settings import Settings
from frazil.tables.snapshots import summary_of

if TYPE_CHECKING:
    from pyiceberg.table.snapshots import Snapshot

__all__ = ["audit", "known_gaps"]


def known_gaps(settings: Settings, plan: Plan, read: int) -> Mapping[int, int]:
    """Per partition the planned offsets that hold no record: transaction markers, compacted records.

    Only where Spark read fewer records than offsets were planned; then a second, independent reader
    (librdkafka) must count the same, or the shortfall is a loss and no gap.

    Raises:
        AuditFailedError: The two readers disagree.
    """
    short = plan.offsets - read
    if not short:
        return {}
    found = count_records(settings, plan.topic, plan.busy)
    gaps = {p: to - start - found[p] for p, (start, to) in plan.busy.items()}
    if sum(gaps.values()) != short:
        raise _failed(
            plan,
            f"Spark read {read} of {plan.offsets} planned offsets, a second reader {sum(found.values())}",
        )
    return {p: n for p, n in gaps.items() if n}


def audit(plan: Plan, written: Written, staged: Snapshot, gaps: Mapping[int, int]) -> None:
    """Compares the branch's own metadata with the plan: rows + bad + gaps = offsets.

    Raises:
        AuditFailedError: They don't add up; nothing of the landing is visible.
    """
    rows = int(summary_of(staged).get("added-records", 0))
    if rows + written.bad + written.skipped + sum(gaps.values()) != plan.offsets:
        raise _failed(
            plan,
            f"{rows} rows on the branch + {written.bad} bad records + {written.skipped} left out "
            f"+ {sum(gaps.values())} gaps "
            f"are not the {plan.offsets} planned offsets",
        )


def _failed(plan: Plan, numbers: str) -> AuditFailedError:
    return AuditFailedError(
        f"A landing of topic {plan.topic} does not add up.",
        where=f"{numbers}; spans {dict(plan.busy)}",
        meaning="Nothing of it is visible; the table is as it was.",
        todo="Land again. If it happens twice, it is a defect of Frazil: please report these numbers.",
    )
