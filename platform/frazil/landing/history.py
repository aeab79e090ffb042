"""What became of a topic since its table was landed: recreated, cut, or eaten by retention."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from frazil.errors import FrazilError, OffsetsLostError, TopicChangedError
from frazil.kafka.facts import TopicFacts
from frazil.landing.ledger import Ledger, Span
from frazil.spec.topic import TableSpec

__all__ = [
    "NOTHING",
    "Accepted",
    "check_losses",
    "check_topic",
    "lost_offsets",
    "recreated",
    "starts",
    "trouble",
]


@dataclass(frozen=True, slots=True)
class Accepted:
    """Offsets whose loss the table's owner accepts: some of each partition, or any."""

    spans: Mapping[int, Span] = field(default_factory=dict)
    any: bool = False

    @classmethod
    def by(cls, spec: TableSpec, spans: Mapping[int, Span] | None = None) -> Accepted:
        """What a spec accepts by itself, and what is accepted once."""
        return cls(spans or {}, any=spec.on_lost_records == "record")

    def covers(self, partition: int, lost: Span) -> bool:
        """Whether all of them were accepted."""
        start, to = self.spans.get(partition, (0, 0))
        return self.any or (start <= lost[0] and lost[1] <= to)


NOTHING = Accepted()
"""No loss is accepted."""


def check_topic(facts: TopicFacts, ledger: Ledger) -> None:
    """The topic is the one that was landed, and its log still reaches the position.

    Raises:
        TopicChangedError: It was recreated, or its log was cut.
    """
    if facts.topic_id != ledger.topic_id:
        raise recreated(facts.topic, facts.topic_id, f"the table holds records of {ledger.topic_id}")
    gone = sorted(set(ledger.position) - set(facts.first))
    short = [p for p, at in sorted(ledger.position.items()) if p not in gone and facts.end[p] < at]
    if gone or short:
        what = ", ".join(
            [f"partition {p} is gone" for p in gone]
            + [f"partition {p} ends at {facts.end[p]}, landed to {ledger.position[p]}" for p in short]
        )
        raise TopicChangedError(
            f"Topic {facts.topic} ends before the table's position.",
            where=what,
            meaning="The log was cut (unclean leader election, a restored broker?). Nothing was landed.",
            todo="Find out what happened to the topic; then land it into a table of another name.",
        )


def recreated(topic: str, topic_id: str, was: str) -> TopicChangedError:
    """The error for a topic that is no longer the one that was looked at; its id is empty if it is gone."""
    if not topic_id:
        return TopicChangedError(
            f"Topic {topic} was deleted.",
            where=was,
            meaning="The table keeps what was landed of it. Nothing was landed now.",
            todo="Drop the table from its pipeline, or land a topic of another name.",
        )
    return TopicChangedError(
        f"Topic {topic} was deleted and made again since it was last looked at.",
        where=f"topic id {topic_id}, {was}",
        meaning="Offsets start anew: landing on would skip or double records. Nothing was landed.",
        todo="Land the new topic into a table of another name, or drop the old table.",
    )


def starts(facts: TopicFacts, position: Mapping[int, int]) -> dict[int, int]:
    """Where the next landing begins in each partition, as far as the topic still holds what waits."""
    return {p: max(first, position.get(p, 0)) for p, first in sorted(facts.first.items())}


def lost_offsets(facts: TopicFacts, position: Mapping[int, int]) -> dict[int, Span]:
    """By partition the offsets that were never landed, and that the topic no longer holds.

    Before the first landing nothing counts as lost. A partition that came later began at offset 0.
    """
    begins = starts(facts, position) if position else {}
    return {p: (position.get(p, 0), at) for p, at in begins.items() if at > position.get(p, 0)}


def check_losses(topic: str, lost: Mapping[int, Span], accepted: Accepted) -> None:
    """Whatever was lost was accepted.

    Raises:
        OffsetsLostError: It was not.
    """
    refused = {p: span for p, span in lost.items() if not accepted.covers(p, span)}
    if not refused:
        return
    flags = " ".join(f"--accept-loss {p}:{a}-{b}" for p, (a, b) in refused.items())
    raise OffsetsLostError(
        f"Topic {topic} no longer holds records that were not landed.",
        where=", ".join(f"partition {p}: [{a}, {b})" for p, (a, b) in refused.items()),
        meaning=f"{sum(b - a for a, b in refused.values())} offsets are lost. Nothing was landed.",
        todo=f"Restore the records; or go on without them: `frazil land TABLE {flags}`, which notes the "
        "loss. Lengthen the topic's retention or land more often.",
    )


def trouble(facts: TopicFacts, ledger: Ledger | None, accepted: Accepted) -> FrazilError | None:
    """Why the next landing would refuse the topic, if it would."""
    try:
        if ledger:
            check_topic(facts, ledger)
        check_losses(facts.topic, lost_offsets(facts, ledger.position if ledger else {}), accepted)
    except (TopicChangedError, OffsetsLostError) as e:
        return e
    return None
