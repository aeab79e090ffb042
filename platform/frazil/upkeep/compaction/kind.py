"""When a table is compacted: the rules of its spec against what its manifests tell, in numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from frazil.connections import Connections
from frazil.spec.table import AnyTable
from frazil.spec.upkeep import Upkeep
from frazil.tables.creation import NEWEST_FORMAT
from frazil.upkeep.compaction.bins import Gain, Rule, gain_of, waiting
from frazil.upkeep.compaction.plan import plan_bins
from frazil.upkeep.compaction.run import compact
from frazil.upkeep.kind import Finding, Kind, Known, Order, Reason, View, since
from frazil.upkeep.work import Number, WorkReport, size_text


@dataclass(frozen=True, slots=True)
class Prospect:
    """What a compaction of one table would find."""

    files: int = 0
    small_files: int = 0
    waiting: int = 0  # bytes of small files that wait for a compaction; what the last one left does not wait
    gain: Gain = field(default_factory=Gain)
    manifests: int = 0
    small_manifests: int = 0
    idle: int = 0  # delete files that take no row away any more
    copies: int = 0
    most_copies: int = 0
    thrifty: bool = False  # whether small files are left alone, because there would be more

    @property
    def numbers(self) -> dict[str, Number]:
        """The prospect in numbers, to be plotted."""
        return {
            "files": self.files,
            "small_files": self.small_files,
            "small_bytes_waiting": self.waiting,
            "files_to_rewrite": self.gain.files,
            "bytes_to_rewrite": self.gain.bytes,
            "files_saved": self.gain.saved,
            "files_over_delete_budget": self.gain.over,
            "idle_delete_files": self.idle,
            "manifests": self.manifests,
            "old_copies_bytes": self.copies,
        }


class Compaction(Kind):
    """Small files become files of the right size, and many manifests few."""

    name, step = "compaction", "compact_files"
    about = "Rewrites small data files to the spec's target size, and sorts them where it says so."

    def run(self, spec: AnyTable, connections: Connections, now: float, order: Order) -> WorkReport:
        """See `Kind.run`."""
        return compact(spec, connections, now, order)

    def why_due(self, known: Known, now: float) -> Reason | None:
        """See `Kind.why_due`."""
        finding, upkeep = known.unworked(self), known.spec.upkeep
        if finding is None or _is_quiet(known):
            return None
        seen: Prospect = finding.result
        gain, many = _gain(seen.gain, upkeep), seen.manifests > upkeep.manifests
        is_time = known.is_over(self, upkeep.compact_after, now)
        last = since(self.title, known.age(self, now), upkeep.compact_after)
        if gain and seen.waiting >= upkeep.small_bytes:
            waiting, enough = size_text(seen.waiting), size_text(upkeep.small_bytes)
            why = f"{gain}: small files add up to {waiting}, {enough} are enough{_thrift(seen)}."
        elif gain and is_time:
            why = f"{gain}: {last}{_thrift(seen)}."
        elif many and seen.small_manifests > upkeep.manifests // 2:
            small = f"{seen.small_manifests} of {seen.manifests} manifests are small"
            why = f"{small}, {upkeep.manifests} in all are enough."
        elif seen.idle and is_time:
            why = f"delete files that take no row away any more: {seen.idle}; {last}."
        else:
            return None
        return Reason(why, seen.numbers)

    def needs_look(self, known: Known, now: float) -> bool:
        """Whether a compaction may be due, as far as cheap facts tell."""
        if known.facts.head is None:
            return False
        current = known.current(self)
        return self._may_be_due(known, now) if current is None else _copies_may_be_gone(current, known, now)

    def look(self, view: View, known: Known, now: float) -> Prospect:
        """Plans a compaction of the present head."""
        head, history, spec = view.head, known.history, known.spec
        if head is None or history is None or view.table.metadata.format_version > NEWEST_FORMAT:
            return Prospect()
        rule = Rule.of(spec.upkeep, int(spec.write.target_file_size), sorts=bool(spec.sort_by))
        plan = plan_bins(head.files, head.layout, rule, history.copies)
        return Prospect(
            files=len(head.files),
            small_files=sum(f.bytes < rule.small for f in head.files),
            waiting=sum(waiting(b, rule, history.left) for bins in plan.bins.values() for b in bins),
            gain=gain_of((b for bins in plan.bins.values() for b in bins), rule),
            manifests=len(head.manifests),
            small_manifests=len(head.small_manifests),
            idle=len(head.deletions.idle()),
            copies=plan.copies,
            most_copies=plan.allowed,
            thrifty=plan.thrifty,
        )

    def _may_be_due(self, known: Known, now: float) -> bool:
        finding, upkeep = known.unworked(self), known.spec.upkeep
        if _is_quiet(known) or _has_one_good_file(known) or (finding and self.why_due(known, now)):
            return False
        waiting, manifests = _at_most(known, known.findings.get(self.name))
        is_time = known.is_over(self, upkeep.compact_after, now) and (
            finding is None or now - finding.at >= upkeep.compact_after.total_seconds()
        )
        return is_time or waiting >= upkeep.small_bytes or manifests > upkeep.manifests


def _is_quiet(known: Known) -> bool:
    """Whether the last compaction got nowhere, and nothing changed since."""
    history = known.history
    return history is not None and history.quiet and history.head == known.facts.head


def _copies_may_be_gone(finding: Finding, known: Known, now: float) -> bool:
    """Whether files that had to be spared may be rewritten by now, though nothing new came."""
    seen: Prospect = finding.result
    return seen.thrifty and now - finding.at >= known.spec.upkeep.expire_every.total_seconds()


def _has_one_good_file(known: Known) -> bool:
    """Whether the table has one file of the right size, or none."""
    facts, target = known.facts, known.spec.write.target_file_size
    if facts.files is None or facts.bytes is None or facts.delete_files is None:
        return False
    return facts.files == 0 or (facts.files == 1 and not facts.delete_files and facts.bytes <= target)


def _at_most(known: Known, finding: Finding | None) -> tuple[float, float]:
    """The most bytes that can wait, and the most manifests: what was found, and all that came since."""
    facts = known.facts
    if facts.bytes is None or facts.files is None:
        return math.inf, math.inf
    if finding is None or finding.facts.bytes is None or finding.facts.files is None:
        return facts.bytes, facts.files + (facts.delete_files or 0)
    seen: Prospect = finding.result
    bytes_more, files_more = facts.bytes - finding.facts.bytes, facts.files - finding.facts.files
    commits = (facts.commits or 0) - (finding.facts.commits or 0)
    return seen.waiting + max(0, bytes_more), seen.manifests + max(0, files_more, commits)


def _gain(gain: Gain, upkeep: Upkeep) -> str:
    """What there is to gain; empty where nothing is."""
    if not gain:
        return ""
    budget = f"{upkeep.deleted_share:.0%} of its rows or {upkeep.delete_files} delete files"
    parts = [
        f"{gain.files} files of {size_text(gain.bytes)} can become {gain.into}",
        f"{gain.large} of them are too large" if gain.large else "",
        f"{gain.over} over the budget of deletes, {budget} for each" if gain.over else "",
    ]
    return ", ".join(filter(None, parts))


def _thrift(seen: Prospect) -> str:
    if not seen.thrifty:
        return ""
    copies, allowed = size_text(seen.copies), size_text(seen.most_copies)
    return f"; files compacted before stay until old copies expire: there are {copies}, {allowed} are allowed"
