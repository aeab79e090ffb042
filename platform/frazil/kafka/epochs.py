"""Leader epochs along a partition, logs that were cut, and tallies of records.

Spark's Kafka source does not give the leader epoch. Along a partition it never falls, so one record
nearly always tells all: where the first of a span has the partition's current epoch, so have the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from frazil.kafka.probe import ONE_RECORD, Found, open_probe
from frazil.kafka.tally import Tally
from frazil.settings.profile import Settings

Span = tuple[int, int]
Look = Callable[[Mapping[int, int]], Mapping[int, Found]]
_NO_RECORD: Found = (-1, -2)


def leader_epochs(
    settings: Settings, spans: Mapping[int, Span], topic: str, current: Mapping[int, int] | None = None
) -> dict[int, list[tuple[int, int]]]:
    """The leader epochs of the records of some spans.

    Args:
        spans: Half-open offset ranges by partition.
        current: The partitions' current epochs, where they are known: saves a look at the ends.

    Returns:
        By partition (first offset, epoch), ascending; none where a span holds no record.

    Raises:
        OffsetsLostError: Retention removed the records meanwhile.
        PartDownError: Kafka does not answer.
    """
    busy = _busy(spans)
    if not busy:
        return {p: [] for p in spans}
    with open_probe(settings, topic, **ONE_RECORD) as probe:
        return {p: [] for p in spans} | epoch_steps(probe.first, busy, current or {})


def forks(settings: Settings, topic: str, seen: Mapping[int, Found]) -> dict[int, int]:
    """Where the log is no longer the one that was read: the first offset of each partition that is another's.

    Args:
        seen: By partition the next offset, and a leader epoch that no offset before it exceeds.

    Raises:
        PartDownError: Kafka does not answer.
    """
    if not seen:
        return {}
    with open_probe(settings, topic, **ONE_RECORD, **{"isolation.level": "read_uncommitted"}) as probe:
        return probe.forks(seen)


def epoch_steps(
    look: Look, spans: Mapping[int, Span], current: Mapping[int, int]
) -> dict[int, list[tuple[int, int]]]:
    """As `leader_epochs`, by whatever can find the first record at or after given offsets."""
    heads = {
        p: head
        for p, head in look({p: start for p, (start, _) in spans.items()}).items()
        if head[0] < spans[p][1]
    }
    unsure = {p for p, (_, epoch) in heads.items() if current.get(p) != epoch}
    tails = look({p: spans[p][1] - 1 for p in unsure}) if unsure else {}
    steps: dict[int, list[tuple[int, int]]] = {p: [] for p in spans}
    for partition, head in heads.items():
        start, to = spans[partition]
        steps[partition].append((start, head[1]))
        if partition in unsure and tails.get(partition, _NO_RECORD)[1] != head[1]:
            steps[partition] += _changes(look, partition, head, to)
    return steps


def tally_records(settings: Settings, topic: str, spans: Mapping[int, Span]) -> dict[int, Tally]:
    """The records that each span really holds for read_committed: its other offsets are gaps.

    Reads every record: only for the case that fewer came than were planned.

    Raises:
        OffsetsLostError: Retention removed the records meanwhile.
        PartDownError: Kafka does not answer.
    """
    busy = _busy(spans)
    if not busy:
        return dict.fromkeys(spans, Tally())
    with open_probe(settings, topic) as probe:
        return dict.fromkeys(spans, Tally()) | probe.tally(busy)


def _changes(look: Look, partition: int, head: Found, to: int) -> list[Found]:
    """The first record of every later epoch in (head, to)."""
    changes = []
    here: Found | None = head
    while here and (here := _next_change(look, partition, here, to)):
        changes.append(here)
    return changes


def _next_change(look: Look, partition: int, head: Found, to: int) -> Found | None:
    """The first record in (head, to) whose epoch is not the head's.

    Starts at the end in doubling steps, because the last offsets are often transaction markers that
    no reader sees; from the first sight of the head's epoch on it halves what is left.
    """
    same, epoch = head
    end, step, later = to, 1, None
    while end - same > 1:
        at = max(same + 1, end - step) if step else (same + end) // 2
        change = look({partition: at}).get(partition)
        if change and change[1] == epoch:
            if change[0] >= to:
                return None
            same, step = change[0], 0
        else:
            later = change if change and change[0] < to else later
            end, step = at, step * 2
    return later


def _busy(spans: Mapping[int, Span]) -> dict[int, Span]:
    return {p: (start, to) for p, (start, to) in spans.items() if to > start}
