"""The plan of one landing: which offsets of each partition, and how they are cut for the cores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from frazil.connections import Connections
from frazil.kafka.facts import topic_facts
from frazil.landing.position.history import History, cut_meanwhile, forked, recreated, starts
from frazil.landing.position.ledger import Ledger, Span
from frazil.spec.names import TableName

Slice = dict[int, Span]
"""What is read of a topic: for some partitions a range each."""

P = TypeVar("P")

MIN_SLICE = 20_000
"""Records below which a further task costs more than it saves."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The spans of one landing; idle partitions have empty ones.

    `capped`: more waits than was planned. `leader_epochs`: the partitions' current ones. `lost`: offsets
    before the spans that are given up, because the topic no longer holds them. `before`: the table's newest
    ledger; `ledger`: the same, or what it becomes where another log is adopted.
    """

    topic: str
    topic_id: str
    spans: Mapping[int, Span]
    capped: bool
    leader_epochs: Mapping[int, int] = field(default_factory=dict)
    lost: Mapping[int, Span] = field(default_factory=dict)
    before: Ledger | None = None
    ledger: Ledger | None = None

    @property
    def offsets(self) -> int:
        """How many offsets are planned, gaps included."""
        return sum(to - start for start, to in self.spans.values())

    @property
    def adopts(self) -> bool:
        """Whether it goes on in another log than the table's."""
        return self.before is not self.ledger

    @property
    def begins_anew(self) -> bool:
        """Whether the table has rows of an earlier log, whose offsets this one may use again."""
        return self.ledger is not None and bool(self.ledger.earlier_logs)

    @property
    def epochs(self) -> dict[int, int]:
        """The leader epochs to be noted: of an idle partition as it was, for nobody compared its log."""
        noted = self.ledger.leader_epochs if self.ledger else {}
        current = {p: self.leader_epochs.get(p, -1) for p in self.spans}
        return {p: epoch if p in self.busy else noted.get(p, epoch) for p, epoch in current.items()}

    @property
    def busy(self) -> Slice:
        """The spans that hold something."""
        return {p: s for p, s in self.spans.items() if s[1] > s[0]}

    def until(self, stops: Mapping[int, int]) -> Plan:
        """The same plan, ending before the given offsets of some partitions."""
        spans = {p: (a, min(b, stops.get(p, b))) for p, (a, b) in self.spans.items()}
        return replace(self, spans=spans)


def make_plan(history: History, max_records: int) -> Plan:
    """Plans from the table's position to the topic's last stable offsets.

    Args:
        max_records: Most offsets to plan; the cap is shared in proportion to what waits.

    Raises:
        TopicChangedError: The topic was recreated, or its log was cut below the position.
        OffsetsLostError: Retention removed records that were not landed yet.
    """
    here, facts = history.settled(), history.facts
    begins = starts(facts, here.position)
    waiting = {p: facts.end[p] - start for p, start in begins.items()}
    taken = _share(waiting, max_records)
    return Plan(
        topic=facts.topic,
        topic_id=facts.topic_id,
        spans={p: (start, start + taken[p]) for p, start in begins.items()},
        capped=sum(waiting.values()) > max_records,
        leader_epochs=facts.leader_epochs,
        lost=here.lost,
        before=history.ledger,
        ledger=here.ledger,
    )


def cut(spans: Mapping[P, Span], slices: int) -> list[dict[P, Span]]:
    """Cuts spans into at most `slices` parts of equal numbers of offsets.

    A part may hold several partitions, and a partition may lie in several parts: so one hot
    partition keeps every core busy, and a thousand idle ones cost no task.
    """
    total = sum(to - start for start, to in spans.values())
    slices = max(1, min(slices, -(-total // MIN_SLICE)))
    size = -(-total // slices) if total else 0
    parts: list[dict[P, Span]] = [{}]
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


def refuse_other_topic(connections: Connections, name: TableName, plan: Plan) -> None:
    """Offsets are planned for a topic id and a leader, but Spark reads by the topic's name, from any leader.

    Raises:
        TopicChangedError: The topic was deleted, or recreated, since the plan.
        RetryError: Its log was cut since, before the end of what was planned.
    """
    facts = topic_facts(connections.admin, [plan.topic]).get(plan.topic)
    topic_id = facts.topic_id if facts else ""
    if facts is None or topic_id != plan.topic_id:
        raise recreated(plan.topic, topic_id, f"the records were planned of {plan.topic_id}", name)
    planned = {p: (to, plan.leader_epochs.get(p, -1)) for p, (_, to) in plan.busy.items()}
    if cut := forked(connections.settings, facts, planned):
        raise cut_meanwhile(plan.topic, plan.busy, cut)
