"""Offsets at the end of a topic that hold no record: markers of transactions, and records of aborted ones."""

from __future__ import annotations

from collections.abc import Mapping

from frazil.kafka.facts import TopicFacts
from frazil.kafka.probe import ONE_RECORD, open_probe
from frazil.settings.profile import Settings

_Log = tuple[str, str, int]

_record_at: dict[_Log, int] = {}
"""By log and partition: the first record at or behind an offset that was asked for."""

_empty_from: dict[_Log, tuple[int, int]] = {}
"""By log and partition: offsets that hold no record, from one up to another."""


def without_records(settings: Settings, facts: TopicFacts, begins: Mapping[int, int]) -> frozenset[int]:
    """Partitions that hold no record at or behind the offsets where reading would begin.

    One record is read of each partition in which offsets wait, and once: what was read is kept.

    Raises:
        PartDownError: Kafka does not answer.
    """
    logs = {p: (settings.kafka.bootstrap_servers, facts.topic_id, p) for p in begins}
    waits = {p: at for p, at in begins.items() if at < facts.end[p]}
    asked = {p: start for p, at in waits.items() if (start := _unread(logs[p], at, facts.end[p])) is not None}
    if asked:
        with open_probe(settings, facts.topic, **ONE_RECORD) as probe:
            first = probe.first(asked)
        for p in asked:
            _note(logs[p], waits[p], facts.end[p], first[p][0] if p in first else None)
    return frozenset(p for p, at in waits.items() if _is_empty(logs[p], at, facts.end[p]))


def _unread(log: _Log, at: int, end: int) -> int | None:
    """Where to look for a record; None where it is known whether there is one."""
    if _record_at.get(log, -1) >= at:
        return None
    start, to = _empty_from.get(log, (at, at))
    known = to if start <= at <= to else at
    return known if known < end else None


def _note(log: _Log, at: int, end: int, record: int | None) -> None:
    if record is not None:
        _record_at[log] = record
    else:
        _empty_from[log] = at, end


def _is_empty(log: _Log, at: int, end: int) -> bool:
    start, to = _empty_from.get(log, (end, -1))
    return start <= at and end <= to and _record_at.get(log, -1) < at
