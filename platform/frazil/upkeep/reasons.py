"""Why a table needs work: the rules of the spec against what is known, as sentences with numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from frazil.spec.table import AnyTable
from frazil.upkeep.facts import Facts, History
from frazil.upkeep.found import Found
from frazil.upkeep.gain import Gain
from frazil.upkeep.packing import DELETED_SHARE
from frazil.upkeep.row_age import row_age
from frazil.upkeep.sizes import size_text
from frazil.upkeep.work import Kind, Number, Work

__all__ = ["Known", "ask_expiry", "look_needed", "works"]

_ROWS_EVERY = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of one table.

    Args:
        spec: Its spec.
        table: Its identifier.
        facts: What its head tells.
        history: What its snapshots told when somebody last looked.
        found: What its manifests told when somebody last looked.
        expirable: Snapshots to expire, when that was last asked.
        asked: When that was.
    """

    spec: AnyTable
    table: str
    facts: Facts
    history: History | None = None
    found: Found | None = None
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
        return self.found if self.found and self.found.facts.head == self.facts.head else None

    @property
    def uncompacted(self) -> Found | None:
        """What was found, if no compaction came since: what then could be gained still can."""
        last = self.facts.last.get("compaction")
        return self.found if self.found and (last is None or last.at <= self.found.at) else None

    @property
    def quiet(self) -> bool:
        """Whether the last compaction got nowhere, and nothing changed since."""
        history = self.history
        return history is not None and history.quiet and history.head == self.facts.head


@dataclass(frozen=True, slots=True)
class _Reason:
    text: str
    numbers: dict[str, Number] = field(default_factory=dict)


def look_needed(known: Known, now: float) -> bool:
    """Whether only the manifests can tell what is due: cheap bounds do not rule it out."""
    if known.facts.head is None:
        return False
    unseen = not known.current and _compaction_possible(known, now)
    return unseen or _copies_may_be_gone(known, now) or _rows_unknown(known, now)


def ask_expiry(known: Known, now: float) -> bool:
    """Whether it is time to work out which snapshots can go."""
    facts, pause = known.facts, known.spec.upkeep.expire_every
    single = facts.commits is not None and facts.commits < 2
    asked = now - known.asked < pause.total_seconds() and _asked_since_expiry(known)
    return not single and facts.head is not None and known.is_over("expiry", pause, now) and not asked


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
    found, upkeep = known.uncompacted, known.spec.upkeep
    if known.quiet or _has_one_good_file(known) or (found and _compaction(known, now)):
        return False
    waiting, manifests = _at_most(known)
    is_time = known.is_over("compaction", upkeep.compact_after, now) and (
        found is None or now - found.at >= upkeep.compact_after.total_seconds()
    )
    return is_time or waiting >= upkeep.small_bytes or manifests > upkeep.manifests


def _copies_may_be_gone(known: Known, now: float) -> bool:
    """Whether what had to be spared may be taken by now, though nothing new came."""
    found, pause = known.current, known.spec.upkeep.expire_every
    return found is not None and found.thrifty and now - found.at >= pause.total_seconds()


def _has_one_good_file(known: Known) -> bool:
    """Or none at all."""
    facts, target = known.facts, known.spec.write.target_file_size
    if facts.files is None or facts.bytes is None or facts.delete_files is None:
        return False
    return facts.files == 0 or (facts.files == 1 and not facts.delete_files and facts.bytes <= target)


def _at_most(known: Known) -> tuple[float, float]:
    """Bounds of the bytes that wait and of the manifests: what was found, and all that came since."""
    facts, found = known.facts, known.found
    if facts.bytes is None or facts.files is None:
        return math.inf, math.inf
    if found is None or found.facts.bytes is None or found.facts.files is None:
        return facts.bytes, facts.files + (facts.delete_files or 0)
    bytes_more, files_more = facts.bytes - found.facts.bytes, facts.files - found.facts.files
    commits = (facts.commits or 0) - (found.facts.commits or 0)
    return found.waiting + max(0, bytes_more), found.manifests + max(0, files_more, commits)


def _rows_unknown(known: Known, now: float) -> bool:
    if row_age(known.spec) is None or not known.is_over("row_expiry", _ROWS_EVERY, now):
        return False
    found, last = known.found, known.facts.last.get("row_expiry")
    if found is None or (last and found.at < last.at):
        return True
    return not known.current and now - found.at >= _ROWS_EVERY.total_seconds()


def _compaction(known: Known, now: float) -> _Reason | None:
    found, upkeep = known.uncompacted, known.spec.upkeep
    if found is None or known.quiet:
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
        "old_copies_bytes": found.copies,
    }
    if gain and found.waiting >= upkeep.small_bytes:
        why = f"small files add up to {size_text(found.waiting)}, {size_text(upkeep.small_bytes)} are enough"
        return _Reason(f"{_gain(gain)}: {why}{_thrift(found)}.", numbers)
    if gain and known.is_over("compaction", upkeep.compact_after, now):
        why = _since("compaction", age, upkeep.compact_after)
        return _Reason(f"{_gain(gain)}: {why}{_thrift(found)}.", numbers)
    if found.manifests > upkeep.manifests and found.small_manifests > upkeep.manifests // 2:
        why = f"{found.small_manifests} of {found.manifests} manifests are small"
        return _Reason(f"{why}, {upkeep.manifests} in all are enough.", numbers)
    return None


def _gain(gain: Gain) -> str:
    said = [
        f"{gain.files} files of {size_text(gain.bytes)} can become {gain.into}",
        f"{gain.large} of them are too large" if gain.large else "",
        f"{gain.deleted} have {DELETED_SHARE:.0%} of their rows deleted or more" if gain.deleted else "",
    ]
    return ", ".join(filter(None, said))


def _thrift(found: Found) -> str:
    if not found.thrifty:
        return ""
    held, allowed = size_text(found.copies), size_text(found.most_copies)
    return f"; files compacted before stay until old copies expire: there are {held}, {allowed} are allowed"


def _expiry(known: Known, now: float) -> _Reason | None:
    pause, history = known.spec.upkeep.expire_every, known.history
    if not (known.expirable and history and _asked_since_expiry(known)):
        return None
    if not known.is_over("expiry", pause, now):
        return None
    why = f"{known.expirable} of {history.snapshots} snapshots can go"
    text = f"{why}: {_since('expiry', known.age('expiry', now), pause)}."
    return _Reason(text, {"snapshots": history.snapshots, "expirable": known.expirable})


def _asked_since_expiry(known: Known) -> bool:
    last = known.facts.last.get("expiry")
    return known.asked > (last.at if last else -math.inf)


def _orphans(known: Known, now: float) -> _Reason | None:
    facts, history, upkeep = known.facts, known.history, known.spec.upkeep
    last, age = facts.last.get("orphans"), known.age("orphans", now)
    if not known.is_over("orphans", upkeep.orphans_every, now):
        return None
    if last and last.snapshot_id == facts.head:
        return None
    oldest = history.oldest if history else None
    lived = 0.0 if oldest is None else now - oldest
    if last is None and lived < upkeep.orphans_after.total_seconds():
        return None  # too young a table to have a file that is old enough
    text = f"commits came since the last look: {_since('look', age, upkeep.orphans_every)}."
    return _Reason(text, {"seconds_since": round(min(age, lived), 3)})


def _row_expiry(known: Known, now: float) -> _Reason | None:
    kept, found, last = row_age(known.spec), known.found, known.facts.last.get("row_expiry")
    if kept is None or found is None or found.oldest is None:
        return None
    if not known.is_over("row_expiry", _ROWS_EVERY, now) or (last and found.at < last.at):
        return None
    age, most = now - found.oldest, kept.most.total_seconds()
    if age < most:
        return None
    oldest = datetime.fromtimestamp(found.oldest, UTC).isoformat(timespec="seconds")
    text = f"the oldest row is of {oldest}, {age:.0f} s ago; rows are kept for {most:.0f} s."
    return _Reason(text, {"oldest_row_age": round(age, 3), "keep_rows_for": most})


def _since(what: str, age: float, pause: timedelta) -> str:
    if math.isinf(age):
        return f"there was no {what} yet"
    return f"last {what} {age:.0f} s ago, {pause.total_seconds():.0f} s are enough"
