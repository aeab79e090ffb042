"""Why a table needs work: the rules of the spec against what is known, as sentences with numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from frazil.spec import TableSpec
from frazil.upkeep.facts import Added, Facts
from frazil.upkeep.found import Found
from frazil.upkeep.gain import Gain
from frazil.upkeep.packing import DELETED_SHARE
from frazil.upkeep.sizes import megabytes
from frazil.upkeep.work import Kind, Number, Work

__all__ = ["Known", "ask_expiry", "look_needed", "works"]

_ROWS_EVERY = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of one table.

    Args:
        spec: Its spec.
        table: Its identifier.
        facts: What its metadata tells.
        found: What its manifests told when somebody last looked.
        added: What came since then; None where only another look can tell.
        expirable: Snapshots to expire, when that was last asked.
        asked: When that was.
    """

    spec: TableSpec
    table: str
    facts: Facts
    found: Found | None = None
    added: Added | None = None
    expirable: int = 0
    asked: float = -math.inf

    def age(self, kind: Kind, now: float) -> float:
        """Seconds since the last work of a kind; infinite where there was none."""
        last = self.facts.last.get(kind)
        return now - last.at if last else math.inf

    def is_over(self, kind: Kind, pause: timedelta, now: float) -> bool:
        """Whether the pause after the last work of a kind is over."""
        return self.age(kind, now) >= pause.total_seconds()

    @property
    def current(self) -> Found | None:
        """What the manifests of the present head told, if somebody looked."""
        return self.found if self.found and self.found.head == self.facts.head else None


@dataclass(frozen=True, slots=True)
class _Reason:
    text: str
    numbers: dict[str, Number] = field(default_factory=dict)


def look_needed(known: Known, now: float) -> bool:
    """Whether only the manifests can tell what is due: cheap bounds do not rule it out."""
    if known.facts.head is None or known.current:
        return False
    return _compaction_possible(known, now) or _rows_unknown(known, now)


def ask_expiry(known: Known, now: float) -> bool:
    """Whether it is time to work out which snapshots can go."""
    pause = known.spec.upkeep.expire_every
    asked = now - known.asked < pause.total_seconds() and known.asked > now - known.age("expiry", now)
    return known.facts.snapshots > 1 and known.is_over("expiry", pause, now) and not asked


def works(known: Known, now: float) -> Iterator[Work]:
    """All work that the table needs now."""
    reasons: dict[Kind, _Reason | None] = {
        "compaction": _compaction(known, now),
        "expiry": _expiry(known, now),
        "orphans": _orphans(known, now),
        "row_expiry": _row_expiry(known, now),
    }
    for kind, reason in reasons.items():
        if reason:
            yield Work(kind, known.spec, known.table, reason.text, reason.numbers)


def _compaction_possible(known: Known, now: float) -> bool:
    facts, found, added, upkeep = known.facts, known.found, known.added, known.spec.upkeep
    if facts.quiet:
        return False
    if found and added:
        waiting, gains = found.waiting + added.bytes, bool(found.gain or added.files)
        manifests: float = found.manifests + added.commits
    else:
        waiting = upkeep.small_bytes if facts.bytes is None else facts.bytes
        gains = facts.files != 0 and (facts.files != 1 or facts.delete_files != 0 or _is_large(known))
        manifests = math.inf if facts.files is None else facts.files + (facts.delete_files or 0)
    enough = waiting >= upkeep.small_bytes or known.is_over("compaction", upkeep.compact_after, now)
    return (gains and enough) or manifests > upkeep.manifests


def _is_large(known: Known) -> bool:
    return (known.facts.bytes or 0) > known.spec.write.target_file_size


def _rows_unknown(known: Known, now: float) -> bool:
    if known.spec.keep_rows_for is None or not known.is_over("row_expiry", _ROWS_EVERY, now):
        return False
    return known.found is None or now - known.found.at >= _ROWS_EVERY.total_seconds()


def _compaction(known: Known, now: float) -> _Reason | None:
    found, upkeep = known.current, known.spec.upkeep
    if found is None or known.facts.quiet:
        return None
    gain, age = found.gain, known.age("compaction", now)
    numbers: dict[str, Number] = {
        "files": found.files,
        "small_files": found.small_files,
        "small_bytes_waiting": found.waiting,
        "files_to_rewrite": gain.files,
        "bytes_to_rewrite": gain.bytes,
        "files_saved": gain.saved,
        "manifests": found.manifests,
    }
    if gain and found.waiting >= upkeep.small_bytes:
        why = f"small files add up to {megabytes(found.waiting)}, {megabytes(upkeep.small_bytes)} are enough"
        return _Reason(f"{_gain(gain)}: {why}.", numbers)
    if gain and known.is_over("compaction", upkeep.compact_after, now):
        return _Reason(f"{_gain(gain)}: {_since('compaction', age, upkeep.compact_after)}.", numbers)
    if found.manifests > upkeep.manifests and found.small_manifests > upkeep.manifests // 2:
        why = f"{found.small_manifests} of {found.manifests} manifests are small"
        return _Reason(f"{why}, {upkeep.manifests} in all are enough.", numbers)
    return None


def _gain(gain: Gain) -> str:
    said = [
        f"{gain.files} files of {megabytes(gain.bytes)} can become {gain.into}",
        f"{gain.large} of them are too large" if gain.large else "",
        f"{gain.deleted} have {DELETED_SHARE:.0%} of their rows deleted or more" if gain.deleted else "",
    ]
    return ", ".join(filter(None, said))


def _expiry(known: Known, now: float) -> _Reason | None:
    pause = known.spec.upkeep.expire_every
    current = known.asked > now - known.age("expiry", now)
    if not (known.expirable and current and known.is_over("expiry", pause, now)):
        return None
    why = f"{known.expirable} of {known.facts.snapshots} snapshots can go"
    text = f"{why}: {_since('expiry', known.age('expiry', now), pause)}."
    return _Reason(text, {"snapshots": known.facts.snapshots, "expirable": known.expirable})


def _orphans(known: Known, now: float) -> _Reason | None:
    facts, upkeep = known.facts, known.spec.upkeep
    last, age = facts.last.get("orphans"), known.age("orphans", now)
    if facts.oldest is None or not known.is_over("orphans", upkeep.orphans_every, now):
        return None
    if last and last.snapshot_id == facts.head:
        return None
    lived = now - facts.oldest
    if last is None and lived < upkeep.orphans_after.total_seconds():
        return None  # too young a table to have a file that is old enough
    text = f"commits came since the last look: {_since('look', age, upkeep.orphans_every)}."
    return _Reason(text, {"seconds_since": round(min(age, lived), 3)})


def _row_expiry(known: Known, now: float) -> _Reason | None:
    keep, found, last = known.spec.keep_rows_for, known.found, known.facts.last.get("row_expiry")
    if keep is None or found is None or found.oldest is None:
        return None
    if not known.is_over("row_expiry", _ROWS_EVERY, now) or (last and found.at < last.at):
        return None
    age = now - found.oldest
    if age < keep.total_seconds():
        return None
    oldest = datetime.fromtimestamp(found.oldest, UTC).isoformat(timespec="seconds")
    text = f"the oldest row is of {oldest}, {age:.0f} s ago; rows are kept for {keep.total_seconds():.0f} s."
    return _Reason(text, {"oldest_row_age": round(age, 3), "keep_rows_for": keep.total_seconds()})


def _since(what: str, age: float, pause: timedelta) -> str:
    if math.isinf(age):
        return f"there was no {what} yet"
    return f"last {what} {age:.0f} s ago, {pause.total_seconds():.0f} s are enough"
