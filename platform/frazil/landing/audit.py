"""The audit of a landing: what was written must be what was planned, or nothing is published."""

from __future__ import annotations

from collections.abc import Mapping

from frazil.errors import AuditFailedError
from frazil.kafka.epochs import tally_records
from frazil.kafka.tally import Tally
from frazil.landing.plan import Plan
from frazil.landing.write import Written
from frazil.settings.profile import Settings
from frazil.tables.commits.stage import audit_failed
from frazil.tables.writing.presence import differing


def readable(settings: Settings, plan: Plan, read: int) -> dict[int, Tally]:
    """The records that the plan's spans hold, by partition.

    Only where Spark read fewer records than offsets were planned, a second, independent reader
    (librdkafka) is asked: what it does not find either is a gap, and all else would be a loss.
    """
    if read == plan.offsets:
        return {p: Tally.of_span(p, *span) for p, span in plan.busy.items()}
    return tally_records(settings, plan.topic, plan.busy)


def gaps_of(plan: Plan, counted: Mapping[int, Tally]) -> dict[int, int]:
    """Per partition the planned offsets that hold no record: transaction markers, compacted records."""
    gaps = {p: to - start - counted[p].count for p, (start, to) in plan.busy.items()}
    return {p: n for p, n in gaps.items() if n}


def audit(plan: Plan, written: Written, rows: int, counted: Mapping[int, Tally]) -> None:
    """Compares what was read with what the topic holds, and the files' own statistics with both.

    Of the latter it looks at the rows, and at how many values each column has.

    Raises:
        AuditFailedError: They don't add up; nothing of the landing is visible.
    """
    wanted = sum(counted.values(), Tally())
    if written.tally != wanted:
        raise _failed(plan, f"read {written.tally}; the topic holds {wanted}")
    if rows != written.rows:
        raise _failed(plan, f"{rows} rows in the files, {written.rows} wanted of {written.good} good records")
    if lost := differing(written.values or {}, written.values_held or {}):
        raise _failed(plan, lost)


def _failed(plan: Plan, numbers: str) -> AuditFailedError:
    details = f"{numbers}; spans {dict(plan.busy)}"
    return audit_failed(f"A landing of topic {plan.topic}", details, "Land again.")
