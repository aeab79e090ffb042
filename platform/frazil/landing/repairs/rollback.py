"""Rollback of a topic's table: what came after a snapshot is read from the topic once more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from frazil.connections import Connections
from frazil.errors import OffsetsLostError, PositionLostError
from frazil.kafka.facts import TopicFacts, topic_facts
from frazil.landing.position.ledger import Ledger, Span
from frazil.spec.names import TableName
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.catalog import catalog_errors
from frazil.tables.catalogs.handle import writable_handle
from frazil.tables.commits.rollback import Rollback, Turn, report_of, turn_back


@dataclass(frozen=True, kw_only=True)
class RollbackReport(Rollback):
    """What one rollback did."""

    # Per partition the offset at which the next landing begins; empty: at the first ones.
    position: Mapping[int, int]
    offsets_again: int  # offsets that the next landing reads once more
    records_lost: int  # those of them that the topic no longer holds


def roll_back(
    spec: TableSpec, connections: Connections, to: int | datetime, *, accept_loss: bool = False
) -> RollbackReport:
    """Takes a table and its position back; see `turn_back` for what `to` may be, and for the errors.

    Args:
        to: A snapshot's id, or a moment.
        accept_loss: Roll back even if the topic no longer holds what came later.

    Raises:
        OffsetsLostError: The topic no longer holds records that would leave the table.
    """
    handle = writable_handle(spec, connections)
    topic = topic_facts(connections.admin, [spec.topic]).get(spec.topic)

    def check(turn: Turn[Ledger]) -> None:
        lost = _lost(turn, topic)
        if lost and not accept_loss:
            raise _lossy(handle.name, turn, lost)

    with catalog_errors(connections.settings):
        turn = turn_back(handle, to, Ledger, check)
    return _report(spec, handle.name, turn, topic)


def _report(spec: TableSpec, name: TableName, turn: Turn[Ledger], topic: TopicFacts | None) -> RollbackReport:
    again = sum(to - start for start, to in _again(turn, topic).values())
    follows = f"The next landing reads {again} offsets once more."
    if lost := _lost(turn, topic):
        follows += f" {lost} of them are gone from the topic: it will refuse to."
    base = report_of(name, turn, follows, published=bool(spec.publish))
    return RollbackReport(**vars(base), position=_position(turn), offsets_again=again, records_lost=lost)


def _position(turn: Turn[Ledger]) -> Mapping[int, int]:
    return turn.recorded.entry.position if turn.recorded.entry else {}


def _again(turn: Turn[Ledger], topic: TopicFacts | None) -> dict[int, Span]:
    """Per partition what was landed behind the snapshot, of the log that the table stands in."""
    now, then = None if turn.returns else _newest(turn, topic), turn.recorded.entry
    position = then.position if then and now and then.log == now.log else {}
    spans = {p: (position.get(p, now.start.get(p, at)), at) for p, at in now.position.items()} if now else {}
    return {p: (start, to) for p, (start, to) in spans.items() if start < to}


def _lost(turn: Turn[Ledger], topic: TopicFacts | None) -> int:
    """How many offsets behind the snapshot no landing can read any more: all those of earlier logs, too."""
    if turn.returns:
        return 0
    again, now, then = _again(turn, topic), _newest(turn, topic), turn.recorded.entry
    everything = sum(to - start for start, to in again.values())
    if now is None or topic is None or topic.topic_id != now.topic_id:
        return everything
    earlier = now.offsets - (then.offsets if then else 0) - everything
    return earlier + sum(max(0, min(topic.first.get(p, to), to) - start) for p, (start, to) in again.items())


def _newest(turn: Turn[Ledger], topic: TopicFacts | None) -> Ledger | None:
    try:
        return Ledger.newest(turn.table.metadata, whatever_it_holds=True)
    except PositionLostError:
        then = turn.recorded.entry
        if then is None or topic is None or topic.topic_id != then.topic_id:
            raise
        # Nothing tells what was landed since: all that the topic had may have been.
        ends = {p: max(at, topic.end.get(p, at)) for p, at in then.position.items()}
        return replace(then, spans={p: (ends[p], ends[p]) for p in ends})


def _lossy(name: TableName, turn: Turn[Ledger], lost: int) -> OffsetsLostError:
    return OffsetsLostError(
        f"The topic no longer holds {lost} offsets that would leave {name}.",
        where=f"snapshot {turn.target.snapshot_id} ends at {dict(_position(turn))}",
        meaning="After the rollback no landing could go on behind it. Nothing was changed.",
        todo="Read the snapshot by time travel, or copy it to another table; --accept-loss rolls back.",
    )
