"""A table's position beside the log that it speaks of: what waits, what is lost, what became of the log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from frazil.errors import FrazilError, OffsetsLostError, RetryError, TopicChangedError
from frazil.kafka.epochs import forks
from frazil.kafka.facts import NO_ID, TopicFacts
from frazil.kafka.probe import Found
from frazil.landing.position.ledger import EarlierLog, Ledger, Span
from frazil.settings.profile import Settings
from frazil.spec.names import TableName
from frazil.spec.topic import TableSpec


@dataclass(frozen=True, slots=True)
class Accepted:
    """What the table's owner accepts: offsets that are lost, some of each partition or any; another log."""

    spans: Mapping[int, Span] = field(default_factory=dict)
    any: bool = False
    topic: bool = False

    @classmethod
    def by(cls, spec: TableSpec, spans: Mapping[int, Span] | None = None, *, topic: bool = False) -> Accepted:
        """What a spec accepts by itself, and what is accepted once."""
        return cls(spans or {}, any=spec.on_lost_records == "record", topic=topic)

    def covers(self, partition: int, lost: Span) -> bool:
        """Whether all of them were accepted."""
        start, to = self.spans.get(partition, (0, 0))
        return self.any or (start <= lost[0] and lost[1] <= to)


NOTHING = Accepted()
"""No loss is accepted."""


@dataclass(frozen=True, slots=True)
class History:
    """A topic at one moment, and what its table holds of it."""

    table: TableName
    facts: TopicFacts
    ledger: Ledger | None
    # By partition the first offset at which the log no longer holds what was landed.
    forks: Mapping[int, int] = field(default_factory=dict)
    accepted: Accepted = NOTHING

    @property
    def position(self) -> Mapping[int, int]:
        """Per partition the next offset; empty before the first landing."""
        return self.ledger.position if self.ledger else {}

    @property
    def lost(self) -> dict[int, Span]:
        """See `lost_offsets`."""
        return lost_offsets(self.facts, self.position)

    @property
    def trouble(self) -> FrazilError | None:
        """Why the next landing would refuse the topic, if it would."""
        try:
            self.settled()
        except (TopicChangedError, OffsetsLostError) as e:
            return e
        return None

    def settled(self) -> History:
        """The same where a landing may go on; with a ledger of the log as it is now, where that is accepted.

        Raises:
            TopicChangedError: The topic was recreated, or its log was cut.
            OffsetsLostError: The topic no longer holds records that were not landed.
        """
        changed = self._changed()
        if changed and not self.accepted.topic:
            raise changed
        history = replace(self, ledger=self._adopted()) if changed else self
        history._check_losses()
        return history

    def _changed(self) -> TopicChangedError | None:
        if self.ledger is None:
            return None
        if self._is_other:
            was = f"the table holds records of {self.ledger.topic_id}"
            return recreated(self.facts.topic, self.facts.topic_id, was, self.table)
        return self._cut_error() if self._cut else None

    @property
    def is_changed(self) -> bool:
        """Whether the table holds what the topic does not: it was recreated, or its log was cut."""
        return self._changed() is not None

    @property
    def _is_other(self) -> bool:
        """Whether the topic was recreated; brokers that give no id don't tell."""
        ids = {self.facts.topic_id, self.ledger.topic_id if self.ledger else NO_ID}
        return len(ids) > 1 and NO_ID not in ids

    @property
    def _cut(self) -> dict[int, int]:
        """By partition where its log was cut; -1 where the partition is gone."""
        short = {p: self.facts.end.get(p, -1) for p, at in self.position.items()}
        return {p: end for p, end in short.items() if end < self.position[p]} | dict(self.forks)

    def _cut_error(self) -> TopicChangedError:
        def place(partition: int, at: int) -> str:
            how = "is gone" if at < 0 else f"ends at {at}"
            how = f"was cut at {at} and grew again" if partition in self.forks else how
            return f"partition {partition} {how}, landed to {self.position[partition]}"

        return TopicChangedError(
            f"The log of topic {self.facts.topic} was cut before the table's position.",
            where=", ".join(place(*each) for each in sorted(self._cut.items())),
            meaning="Was a leader elected uncleanly, or a broker restored? The table has rows that the topic "
            "lost. Nothing was landed.",
            todo=f"Find out what happened. {_adopt(self.table)} lands what the log holds from there on, and "
            "keeps those rows.",
        )

    def _adopted(self) -> Ledger | None:
        """The ledger as if the table stood in the log as it is now; what it held of others is kept in it."""
        ledger, facts = self.ledger, self.facts
        if ledger is None:
            return None
        _, landed = ledger.logs[-1]
        if self._is_other:
            back = _landed_before(ledger.earlier_logs, facts)
            here = {p: (first, first) for p, first in facts.first.items()} | dict(back[1] if back else {})
            earlier = tuple(log for log in ledger.earlier_logs if log is not back)
            return _moved(ledger, facts, here, (*earlier, (ledger.topic_id, landed)))
        left = {p: span for p, span in landed.items() if p in self._cut}
        again = {p: max(at, facts.first[p]) for p, at in self._cut.items() if at >= 0}
        here = {p: span for p, span in landed.items() if p not in left} | {
            p: (at, at) for p, at in again.items()
        }
        kept = {p: epoch for p, epoch in ledger.leader_epochs.items() if p not in left}
        log = (ledger.topic_id, left)
        return replace(_moved(ledger, facts, here, (*ledger.earlier_logs, log)), leader_epochs=kept)

    def _check_losses(self) -> None:
        lost = {p: span for p, span in self.lost.items() if not self.accepted.covers(p, span)}
        if not lost:
            return
        flags = " ".join(f"--accept-loss {p}:{a}-{b}" for p, (a, b) in lost.items())
        raise OffsetsLostError(
            f"Topic {self.facts.topic} no longer holds records that were not landed.",
            where=", ".join(f"partition {p}: [{a}, {b})" for p, (a, b) in lost.items()),
            meaning=f"{sum(b - a for a, b in lost.values())} offsets are lost. Nothing was landed.",
            todo=f"Restore the records; or go on without them: `frazil land {self.table} {flags}`, which "
            "notes the loss. Lengthen the topic's retention or land more often.",
        )


def look(
    settings: Settings,
    table: TableName,
    facts: TopicFacts,
    ledger: Ledger | None,
    accepted: Accepted = NOTHING,
    *,
    ask: bool = True,
) -> History:
    """A topic beside its table.

    Where its leader changed and records wait, the broker is asked for a fork, unless nobody shall `ask` it.

    All offsets of a position are of the leader epoch that was noted with it, or of an earlier one: where
    later ones begin before the position, the log was cut and grew again.

    Raises:
        PartDownError: Kafka does not answer.
    """
    history = History(table, facts, ledger, accepted=accepted)
    if ledger is None or history._is_other or not ask:
        return history
    waiting = {
        p: (ledger.position[p], epoch)
        for p, epoch in ledger.leader_epochs.items()
        if facts.end.get(p) != ledger.position[p]
    }
    return replace(history, forks=forked(settings, facts, waiting))


def forked(settings: Settings, facts: TopicFacts, seen: Mapping[int, Found]) -> dict[int, int]:
    """As `forks`, which is asked about those partitions only whose leader is another one by now."""
    changed = {
        p: (at, epoch)
        for p, (at, epoch) in seen.items()
        if epoch >= 0 and facts.leader_epochs.get(p, -1) not in (-1, epoch)
    }
    return forks(settings, facts.topic, changed)


def _landed_before(logs: tuple[EarlierLog, ...], facts: TopicFacts) -> EarlierLog | None:
    """What was landed of a topic before another one took its name, where its log still reaches so far."""
    newest = next((log for log in reversed(logs) if log[0] == facts.topic_id), None)
    reaches = newest and all(to <= facts.end.get(p, -1) for p, (_, to) in newest[1].items())
    return newest if reaches else None


def _moved(
    ledger: Ledger, facts: TopicFacts, here: Mapping[int, Span], earlier: tuple[EarlierLog, ...]
) -> Ledger:
    return replace(
        ledger,
        topic_id=facts.topic_id,
        spans={p: (to, to) for p, (_, to) in here.items()},
        start={p: start for p, (start, _) in here.items()},
        leader_epochs={},
        earlier_logs=earlier,
    )


def unguarded(ledger: Ledger) -> list[str]:
    """What may become of the topic without anybody noticing, for want of what its broker does not tell."""
    beyond = "and grows past the position is taken for the one that was landed."
    sentences = {
        f"The broker gives no topic id: a topic that is recreated {beyond}": ledger.topic_id == NO_ID,
        f"The broker gives no leader epochs: a log that is cut {beyond}": -1 in ledger.leader_epochs.values(),
    }
    return [sentence for sentence, holds in sentences.items() if holds]


def recreated(topic: str, topic_id: str, was: str, table: TableName) -> TopicChangedError:
    """The error for a topic that is no longer the one that was looked at; its id is empty if it is gone."""
    if not topic_id:
        return TopicChangedError(
            f"Topic {topic} was deleted.",
            where=was,
            meaning="The table keeps what was landed of it. Nothing was landed now.",
            todo="Take it out of its pipeline: the table stays. Once the topic is there again, "
            f"{_adopt(table)} lands it beside the rows of the old one.",
        )
    return TopicChangedError(
        f"Topic {topic} was deleted and recreated since it was last looked at.",
        where=f"topic id {topic_id}, {was}",
        meaning="Offsets start anew: landing on would skip or double records. Nothing was landed.",
        todo=f"{_adopt(table)} lands the new topic from its first offset, beside the rows of the old one; or "
        "land it into a table of another name.",
    )


def cut_meanwhile(topic: str, planned: Mapping[int, Span], cut: Mapping[int, int]) -> RetryError:
    """The error for a log that was cut while it was read: nobody tells which records were met."""
    return RetryError(
        f"The log of topic {topic} was cut while its records were read.",
        where=", ".join(f"partition {p}: cut at {at}, planned to {planned[p][1]}" for p, at in cut.items()),
        meaning="Was a leader elected uncleanly, or a broker restored? Nothing was landed.",
        todo="Try again: the next plan is of the log as it is now, or says that the table holds more.",
    )


def _adopt(table: TableName) -> str:
    return f"`frazil land {table} --adopt-topic`"


def starts(facts: TopicFacts, position: Mapping[int, int]) -> dict[int, int]:
    """Where the next landing begins in each partition, as far as the topic still holds what waits."""
    return {p: max(first, position.get(p, 0)) for p, first in sorted(facts.first.items())}


def lost_offsets(facts: TopicFacts, position: Mapping[int, int]) -> dict[int, Span]:
    """By partition the offsets that were never landed, and that the topic no longer holds.

    Before the first landing nothing counts as lost. A partition that came later began at offset 0.
    """
    begins = starts(facts, position) if position else {}
    return {p: (position.get(p, 0), at) for p, at in begins.items() if at > position.get(p, 0)}
