"""The plan of one landing: which offsets of each partition, and how they are cut for the cores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from frazil.kafka.facts import TopicFacts
from frazil.landing.history import NOTHING, Accepted, check_losses, check_topic, lost_offsets, starts
from frazil.landing.ledger import Ledger, Span

__all__ = ["Plan", "Slice", "cut", "make_plan"]

Slice = dict[int, Span]
"""What one Spark task reads: for some partitions a range each."""

MIN_SLICE = 20_000
"""Records below which a further task costs more than it saves."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The spans of one landing; idle partitions have empty ones.

    `capped`: more waits than was planned. `leader_epochs`: the partitions' current ones. `lost`: offsets
    before the spans that are given up, because the topic no longer holds them.
    """

    topic: str
    topic_id: str
    spans: Mapping[int, Span]
    capped: bool
    leader_epochs: Mapping[int, int] = field(default_factory=dict)
    lost: Mapping[int, Span] = field(default_factory=dict)

    @property
    def offsets(self) -> int:
        """How many offsets are planned, gaps included."""
        return sum(to - start for start, to in self.spans.values())

    @property
    def busy(self) -> Slice:
        """The spans that hold something."""
        return {p: s for p, s in self.spans.items() if s[1] > s[0]}

    def until(self, stops: Mapping[int, int]) -> Plan:
        """The same plan, ending before the given offsets of some partitions."""
        spans = {p: (a, min(b, stops.get(p, b))) for p, (a, b) in self.spans.items()}
        return replace(self, spans=spans)


def make_plan(
    facts: TopicFacts, ledger: Ledger | None, max_records: int, accepted: Accepted = NOTHING
) -> Plan:
    """Plans from the table's position to the topic's last stable offsets.

    Args:
        facts: The topic as Kafka's admin API tells it.
        ledger: The table's newest ledger; None where nothing was landed yet.
        max_records: Most offsets to plan; the cap is shared in proportion to what waits.
        accepted: Lost offsets that may be left behind.

    Raises:
        TopicChangedError: The topic was recreated, or its log was cut below the position.
        OffsetsLostError: Retention removed records that were not landed yet.
    """
    if ledger:
        check_topic(facts, ledger)
    position = ledger.position if ledger else {}
    lost = lost_offsets(facts, position)
    check_losses(facts.topic, lost, accepted)
    begins = starts(facts, position)
    waiting = {p: facts.end[p] - start for p, start in begins.items()}
    taken = _share(waiting, max_records)
    return Plan(
        topic=facts.topic,
        topic_id=facts.topic_id,
        spans={p: (start, start + taken[p]) for p, start in begins.items()},
        capped=sum(waiting.values()) > max_records,
        leader_epochs=facts.leader_epochs,
        lost=lost,
    )


def cut(spans: Mapping[int, Span], slices: int) -> list[Slice]:
    """Cuts spans into at most `slices` parts of equal numbers of offsets.

    A part may hold several partitions, and a partition may lie in several parts: so one hot
    partition keeps every core busy, and a thousand idle ones cost no task.
    """
    total = sum(to - start for start, to in spans.values())
    slices = max(1, min(slices, -(-total // MIN_SLICE)))
    size = -(-total // slices) if total else 0
    parts: list[Slice] = [{}]
    room = size
    for partition, (start, to) in spans.items():
        while start < to:
            if not room:
                parts.append({})
                room = size
            end = min(to, start + room)
            parts[-1][partition] = (start, end)
            room -= end - start
            start = end
    return parts


def _share(waiting: Mapping[int, int], most: int) -> dict[int, int]:
    """At most `most` in all, each partition in proportion, and at least one where any waits."""
    total = sum(waiting.values())
    if total <= most:
        return dict(waiting)
    shared = {p: n * most // total for p, n in waiting.items()}
    left = most - sum(shared.values())
    for p in sorted(waiting, key=lambda p: shared[p] - waiting[p]):
        extra = min(left, waiting[p] - shared[p], 1)
        shared[p] += extra
        left -= extra
    return shared
