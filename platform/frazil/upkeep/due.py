"""Which upkeep is due, over all tables: from metadata alone, and of quiet tables from its location."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from frazil.connections import Connections
from frazil.spec.names import TableName, things
from frazil.spec.table import AnyTable
from frazil.tables.catalog import catalog_errors, is_outage, load_table
from frazil.upkeep.expiry_plan import plan_expiry
from frazil.upkeep.facts import read_facts, read_history
from frazil.upkeep.found import look_into
from frazil.upkeep.heads import AT_ONCE, Head, load_heads
from frazil.upkeep.reasons import Known, ask_expiry, look_needed, works
from frazil.upkeep.work import Work

if TYPE_CHECKING:
    from pyiceberg.table import Table


__all__ = ["Memory", "Outlook", "look_for_work"]

MOST_LOOKS = 100
"""Tables that one call looks into; the others wait for the next call."""

PATIENCE = 5.0
"""Seconds for which one call looks into tables."""


@dataclass(slots=True)
class Memory:
    """What earlier looks found, kept by whoever looks again and again."""

    locations: dict[TableName, str] = field(default_factory=dict)
    tables: dict[TableName, Known] = field(default_factory=dict)

    def forget(self, name: TableName) -> None:
        """Drops a table."""
        self.locations.pop(name, None)
        self.tables.pop(name, None)


@dataclass(frozen=True, slots=True)
class Outlook:
    """One look at all tables.

    Args:
        due: What is to be done.
        looked_at: Tables that are there.
        changed: Those of them whose metadata was new.
        looked_into: Those whose manifests or snapshots were read.
        waiting: Those that must still be looked into: by the next call.
        missing: Tables that are not there yet.
        failed: Tables that could not be read, and why.
    """

    due: tuple[Work, ...]
    looked_at: int
    changed: int
    looked_into: int
    waiting: int
    missing: tuple[str, ...]
    failed: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Looked:
    failed: Mapping[str, str]
    late: int


def look_for_work(
    specs: Sequence[AnyTable],
    connections: Connections,
    now: float,
    memory: Memory | None = None,
    most: int = MOST_LOOKS,
    patience: float = PATIENCE,
) -> Outlook:
    """Finds what is due, and why.

    Args:
        specs: The tables.
        connections: The outside systems.
        now: Seconds since the epoch.
        memory: Kept between calls, it makes quiet tables cheap; it is changed.
        most: Tables that are looked into at most.
        patience: Seconds after which no further table is looked into.

    Raises:
        PartDownError: The catalog or the storage does not answer.
    """
    memory = Memory() if memory is None else memory
    names = {things(spec, connections.settings).table: spec for spec in specs}
    with catalog_errors(connections.settings):
        heads = list(load_heads(connections.catalog, names, _still_known(memory, names)))
        failed = {str(h.name): _words(h.error) for h in heads if h.error}
        for head in heads:
            _take_in(head, names[head.name], memory)
        there = [h.name for h in heads if h.location]
        wanted = sorted((n for n in there if _wants(memory.tables[n], now)), key=lambda n: _looked(memory, n))
        looked = _look(wanted[:most], memory, connections, now, patience)
    return Outlook(
        due=tuple(work for name in there for work in works(memory.tables[name], now)),
        looked_at=len(there),
        changed=sum(h.table is not None for h in heads),
        looked_into=len(wanted[:most]) - looked.late,
        waiting=len(wanted[most:]) + looked.late,
        missing=tuple(str(h.name) for h in heads if not h.location and not h.error),
        failed={**failed, **looked.failed},
    )


def _still_known(memory: Memory, names: Mapping[TableName, AnyTable]) -> dict[TableName, str]:
    """Locations of what is remembered under the same spec; the rest is forgotten."""
    for name in [n for n, known in memory.tables.items() if names.get(n) != known.spec]:
        memory.forget(name)
    return dict(memory.locations)


def _take_in(head: Head, spec: AnyTable, memory: Memory) -> None:
    if head.location is None:
        memory.forget(head.name)
    elif head.table:
        facts, known = read_facts(head.table.metadata), memory.tables.get(head.name)
        memory.tables[head.name] = (
            replace(known, facts=facts) if known else Known(spec, str(head.name), facts)
        )
        memory.locations[head.name] = head.location


def _wants(known: Known, now: float) -> bool:
    return look_needed(known, now) or ask_expiry(known, now)


def _looked(memory: Memory, name: TableName) -> float:
    """Tables that nobody looked into yet come first."""
    found = memory.tables[name].found
    return found.at if found else float("-inf")


def _look(
    names: Iterable[TableName], memory: Memory, connections: Connections, now: float, patience: float
) -> _Looked:
    """Takes what only manifests and all snapshots tell into the memory, until the time is over."""
    failed: dict[str, str] = {}
    late: list[TableName] = []
    began = time.perf_counter()

    def look(name: TableName) -> None:
        if time.perf_counter() - began > patience:
            late.append(name)
            return
        try:
            table = load_table(connections.catalog, name)
            memory.tables[name] = _looked_into(memory.tables[name], table, now)
        except Exception as e:
            if is_outage(e):
                raise
            failed[str(name)] = _words(e)  # one broken table must not hide the others

    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="manifests") as pool:
        list(pool.map(look, names))
    return _Looked(failed, len(late))


def _looked_into(known: Known, table: Table, now: float) -> Known:
    metadata = table.metadata
    history = read_history(metadata)
    known = replace(known, facts=read_facts(metadata), history=history)
    if ask_expiry(known, now):
        known = replace(known, expirable=len(plan_expiry(metadata, known.spec.upkeep, now)), asked=now)
    if look_needed(known, now):
        known = replace(known, found=look_into(table, known.facts, history, known.spec, now))
    return known


def _words(error: Exception | None) -> str:
    return str(error).partition("\n")[0] or type(error).__name__
