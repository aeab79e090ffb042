"""The law that every head of `main` keeps, as its rows and the topic's records tell; no ledger is believed.

A position is only a claim: all that the topic held below it must be a row, a dead letter, or gone from the
topic before anybody could read it; and no row may be of anything else, or be there twice.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from frazil.landing.position.ledger import ledger_of
from kit.model.conditions import is_of
from kit.model.parts.catalog import Applied, ModelCatalog
from kit.model.parts.store import Store
from kit.model.parts.topic import Record, Topic

__all__ = ["Broken", "Doubled", "Lost", "Oracle", "Stuck", "Wrong"]

Place = tuple[Any, ...]


class Broken(AssertionError):
    """What must never be seen was seen."""


class Lost(Broken):
    """A record, a row or a needed file is gone."""


class Doubled(Broken):
    """A record is there twice."""


class Wrong(Broken):
    """Something else is there than should be, or is told."""


class Stuck(Broken):
    """Nothing fails any more, and still it does not come to rest."""


@dataclass(frozen=True)
class _Head:
    """What is known of a head that was checked."""

    rows: frozenset[Place] = frozenset()
    deleted: frozenset[Place] = frozenset()
    by_engine: frozenset[Place] = frozenset()  # those of them that another engine deleted
    logs: dict[str, dict[int, int]] = field(default_factory=dict)  # by log the claimed positions
    at: int = 0  # when it was made, in milliseconds


@dataclass
class Oracle:
    """Checks each head at the moment at which it comes to be.

    Args:
        adds: The rows that another engine's next commit adds.
        deletes: Those that it deletes.
        keyed: Whether the table has a row per key: that of the key's last change.
    """

    topic: Topic
    store: Store
    adds: set[Place] = field(default_factory=set)
    deletes: set[Place] = field(default_factory=set)
    heads: dict[int, _Head] = field(default_factory=dict)
    keyed: bool = False
    broken: Broken | None = None  # the first law that was
    # Records that somebody was told are forgotten: no table may hold one, whatever its snapshots say.
    forgotten: set[Place] = field(default_factory=set)
    rollbacks: int = 0  # of the topic's table: what was forgotten may be landed again

    def seen(self, applied: Applied) -> None:
        """A commit was carried out."""
        table = applied.table
        if not applied.moved:
            return
        head = table.current_snapshot()
        if table.name()[-1] == "t" and (head is None or head.snapshot_id in self.heads):
            self.rollbacks += 1
            self.forgotten.clear()
        present = {tuple(row) for row in self.store.rows(table, head.snapshot_id)} if head else set()
        if back := present & self.forgotten:
            self.broken = self.broken or Wrong(f"{table.name()} holds what was forgotten: {sorted(back)}")
        if table.name()[-1] != "t":
            return
        if head is None or head.snapshot_id in self.heads:
            return  # a rollback
        if head.parent_snapshot_id != applied.before:
            self.broken = self.broken or Wrong("main forgot the head that it had")
        before = self.heads.get(head.parent_snapshot_id or 0, _Head())
        by_engine = applied.actor == "engine"
        try:
            self.heads[head.snapshot_id] = self._checked(table, before, by_engine=by_engine)
        except Broken as e:  # raised here it would be taken for the catalog's answer
            self.heads[head.snapshot_id], self.broken = before, self.broken or e

    def refuse_forgotten(self, catalog: ModelCatalog) -> None:
        """Looks at every table at the moment at which somebody is told that all is forgotten."""
        for name in catalog.tables:
            if left := catalog.places(name) & self.forgotten:
                self.broken = self.broken or Wrong(f"{name} still holds {sorted(left)}")

    def _checked(self, table: Table, before: _Head, *, by_engine: bool) -> _Head:
        head = table.current_snapshot()
        assert head
        assert head.summary
        counted = Counter(tuple(row) for row in self.store.rows(table, head.snapshot_id))
        if doubled := [place for place, n in counted.items() if n > 1]:
            raise Doubled(f"doubled: {sorted(doubled)}")
        rows = frozenset(counted)
        adds, deletes = (self.adds, self.deletes) if by_engine else (set(), set())
        summary = head.summary.additional_properties
        logs = _claimed(summary) or before.logs
        taken = self._taken(summary, before, rows)
        if taken and logs != before.logs:
            raise Wrong(f"rows were taken out, and the position is {logs}, not {before.logs}")
        deleted, by_others = before.deleted | deletes | taken, before.by_engine | deletes
        now = _Head(rows, deleted, by_others, logs, head.timestamp_ms)
        if now.at < before.at:
            raise Wrong(f"time goes back by {before.at - now.at} ms")
        if self.keyed:
            self._newest(now, before)
        elif lost := before.rows - rows - now.deleted:
            raise Lost(f"rows that were there are gone: {sorted(lost)}")
        else:
            self._complete(now)
        if strange := rows - before.rows - adds - self._allowed(now):
            raise Wrong(f"rows of nothing that was landed: {sorted(strange)}")
        if back := rows & now.deleted:
            raise Wrong(f"rows that were deleted came back: {sorted(back)}")
        self._adds_up(head, now)
        return now

    def _adds_up(self, head: Snapshot, now: _Head) -> None:
        """The ledger's own sum: each offset is a row, or no row for a known reason."""
        ledger = ledger_of(head)
        rows = len([at for at in now.rows if at in self.topic.ever])
        if ledger and not now.by_engine and rows != ledger.offsets - ledger.known:
            raise Wrong(f"{rows} rows, told are {ledger.offsets} offsets of which {ledger.known} are none")

    def _taken(self, summary: Any, before: _Head, rows: frozenset[Place]) -> frozenset[Place]:
        """The rows that Frazil itself took out."""
        gone = before.rows - rows
        match summary.get("frazil.upkeep"):
            case "row_expiry":
                return self._expired(summary, gone)
            case "forgetting":
                return self._forgotten(summary, gone, rows)
        return frozenset()

    def _forgotten(self, summary: Any, gone: frozenset[Place], rows: frozenset[Place]) -> frozenset[Place]:
        """The rows that were to be forgotten: all of them, as many as it says, and no other."""
        if others := {at for at in gone if not is_of(self.topic.ever.get(at))}:
            raise Lost(f"rows that nobody had forgotten are gone: {sorted(others)}")
        if left := {at for at in rows if is_of(self.topic.ever.get(at))}:
            raise Wrong(f"rows that were to be forgotten are left: {sorted(left)}")
        if len(gone) != int(summary.get("frazil.forgotten", 0)):
            raise Wrong(f"{len(gone)} rows were forgotten, told are {summary.get('frazil.forgotten', 0)}")
        return gone

    def _expired(self, summary: Any, gone: frozenset[Place]) -> frozenset[Place]:
        """The rows that a row expiry took out: as many as it says, and none too young."""
        cutoff = int(summary.get("frazil.expired-before") or 0) / 1000
        ever = self.topic.ever
        if young := {at for at in gone if at not in ever or ever[at].time >= cutoff}:
            raise Wrong(f"rows expired before {cutoff} that are younger: {sorted(young)}")
        if len(gone) != int(summary.get("frazil.expired", 0)):
            raise Wrong(f"{len(gone)} rows expired, told are {summary.get('frazil.expired', 0)}")
        return gone

    def _newest(self, now: _Head, before: _Head) -> None:
        """Each key has the row of its last change, or none where that ends it, or the row was taken out."""
        if lost := {at for at in before.rows - now.rows - now.deleted if at not in self.topic.ever}:
            raise Lost(f"rows that were there are gone: {sorted(lost)}")
        changes: dict[int, list[Record]] = defaultdict(list)
        for at in self._allowed(now):
            if not self.topic.ever[at].bad:
                changes[self.topic.ever[at].key].append(self.topic.ever[at])
        for key, of_key in changes.items():
            rows = {record.at for record in of_key} & now.rows
            last = max(of_key, key=lambda record: record.at)
            wanted = {last.at} - now.deleted if last.value is not None else set()
            # What retention took nobody may have read.
            known = last.offset >= self.topic.gone.get(last.log, {}).get(last.partition, 0)
            if rows != wanted and (known or len(rows) > 1):
                raise Wrong(f"key {key} has {sorted(rows)}, not {sorted(wanted)}")

    def _complete(self, now: _Head) -> None:
        missing = [
            record.at
            for record in self.topic.ever.values()
            if record.offset < now.logs.get(record.log, {}).get(record.partition, 0)
            and not record.bad
            and record.at not in now.rows
            and record.at not in now.deleted
            and record.offset >= self.topic.gone.get(record.log, {}).get(record.partition, 0)
        ]
        if missing:
            raise Lost(f"lost: {missing} are before the position {now.logs}")

    def _allowed(self, now: _Head) -> set[Place]:
        records = self.topic.ever.values()
        return {r.at for r in records if r.offset < now.logs.get(r.log, {}).get(r.partition, 0)}


def _claimed(summary: Any) -> dict[str, dict[int, int]] | None:
    """What a snapshot says of the position, by log; None where it says nothing."""
    if "frazil.spans" not in summary:
        return None
    earlier = dict(json.loads(summary.get("frazil.earlier-logs") or "[]"))
    every = {**earlier, summary["frazil.topic-id"]: json.loads(summary["frazil.spans"])}
    return {log: {int(p): to for p, (_, to) in spans.items()} for log, spans in every.items()}
