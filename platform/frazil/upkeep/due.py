"""Which upkeep is due, over all tables: from metadata alone, and of quiet tables from its location."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from frazil.connections import Connections
from frazil.spec.names import TableName, things
from frazil.spec.table import AnyTable
from frazil.tables.catalogs.catalog import catalog_errors, is_outage
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.catalogs.pointers import AT_ONCE, Pointer, load_pointers
from frazil.upkeep.facts import read_facts, read_history
from frazil.upkeep.kind import Finding, Kind, Known, View, Work
from frazil.upkeep.kinds import KINDS

if TYPE_CHECKING:
    from pyiceberg.table import Table


MOST_LOOKS = 100
"""Tables that one call looks into; the others wait for the next call."""

PATIENCE = 5.0
"""Seconds for which one call looks into tables."""


Memory = dict[TableName, Known]
"""What earlier looks found; who looks again and again keeps it."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """One look at all tables."""

    due: tuple[Work, ...]
    looked_at: int  # how many tables are there
    changed: int  # how many of them had new metadata
    looked_into: int  # how many had their manifests or snapshots read
    waiting: int  # how many must still be looked into, by the next call
    missing: tuple[str, ...]
    failed: Mapping[str, str]


def joined(looks: Sequence[Outlook]) -> Outlook:
    """Looks at the tables of several connections, as one."""
    return Outlook(
        due=tuple(work for look in looks for work in look.due),
        looked_at=sum(look.looked_at for look in looks),
        changed=sum(look.changed for look in looks),
        looked_into=sum(look.looked_into for look in looks),
        waiting=sum(look.waiting for look in looks),
        missing=tuple(name for look in looks for name in look.missing),
        failed={name: why for look in looks for name, why in look.failed.items()},
    )


def look_for_work(
    specs: Sequence[AnyTable],
    connections: Connections,
    now: float,
    memory: Memory | None = None,
    most: int = MOST_LOOKS,
    patience: float = PATIENCE,
    kinds: Collection[Kind] | None = None,
) -> Outlook:
    """Finds what is due, and why, at a time in seconds since the epoch.

    A memory that is kept between calls makes quiet tables cheap. At most `most` tables are looked into, and
    none after `patience` seconds. `kinds` are those that are asked for; None: all.
    """
    memory, kinds = Memory() if memory is None else memory, kinds or KINDS.values()
    names = {things(spec, connections.settings).table: spec for spec in specs if not spec.is_read_only}
    with catalog_errors(connections.settings):
        pointers = list(load_pointers(connections.catalog, names, _still_known(memory, names)))
        if outage := next((p.error for p in pointers if p.error and is_outage(p.error)), None):
            raise outage
        failed = {str(p.name): _words(p.error) for p in pointers if p.error}
        for pointer in pointers:
            _take_in(pointer, names[pointer.name], memory)
        there = [p.name for p in pointers if p.location]
        wanted = [n for n in there if any(kind.needs_look(memory[n], now) for kind in kinds)]
        wanted.sort(key=lambda name: _looked(memory[name]))
        unread, late = _look(wanted[:most], memory, connections, now, patience, kinds)
    return Outlook(
        due=tuple(work for name in there for work in _works(memory[name], now, kinds)),
        looked_at=len(there),
        changed=sum(p.metadata is not None for p in pointers),
        looked_into=len(wanted[:most]) - late,
        waiting=len(wanted[most:]) + late,
        missing=tuple(str(p.name) for p in pointers if not p.location and not p.error),
        failed={**failed, **unread},
    )


def _works(known: Known, now: float, kinds: Collection[Kind]) -> Iterable[Work]:
    for kind in kinds:
        if reason := kind.why_due(known, now):
            yield Work(kind, known.spec, known.table, reason.text, reason.numbers)


def _still_known(memory: Memory, names: Mapping[TableName, AnyTable]) -> dict[TableName, str]:
    """Locations of what is remembered under the same spec; the rest is forgotten."""
    for name in [n for n, known in memory.items() if names.get(n) != known.spec]:
        del memory[name]
    return {name: known.location for name, known in memory.items()}


def _take_in(pointer: Pointer, spec: AnyTable, memory: Memory) -> None:
    name = pointer.name
    if pointer.location is None:
        memory.pop(name, None)
    elif pointer.metadata:
        facts = read_facts(pointer.metadata)
        known = memory.get(name) or Known(spec, str(name), facts)
        memory[name] = replace(known, facts=facts, location=pointer.location)


def _looked(known: Known) -> float:
    """When somebody last looked into a table; those that nobody looked into come first."""
    return max((finding.at for finding in known.findings.values()), default=float("-inf"))


def _look(
    names: Iterable[TableName],
    memory: Memory,
    connections: Connections,
    now: float,
    patience: float,
    kinds: Collection[Kind],
) -> tuple[dict[str, str], int]:
    """Remembers what only manifests and all snapshots tell, until the time is over.

    Gives the tables that could not be read, and why, and how many the time was too short for.
    """
    failed: dict[str, str] = {}
    late: list[TableName] = []
    began = time.perf_counter()

    def look(name: TableName) -> None:
        if time.perf_counter() - began > patience:
            late.append(name)
            return
        try:
            table = TableHandle(connections.catalog, name).load()
            memory[name] = _looked_into(memory[name], table, now, kinds)
        except Exception as e:
            if is_outage(e):
                raise
            failed[str(name)] = _words(e)  # one broken table must not hide the others

    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="manifests") as pool:
        list(pool.map(look, names))
    return failed, len(late)


def _looked_into(known: Known, table: Table, now: float, kinds: Collection[Kind]) -> Known:
    facts, view = read_facts(table.metadata), View(table)
    known = replace(known, facts=facts, history=read_history(table.metadata))
    findings = {
        kind.name: Finding(now, facts, kind.look(view, known, now))
        for kind in kinds
        if kind.needs_look(known, now)
    }
    return replace(known, findings={**known.findings, **findings})


def _words(error: Exception | None) -> str:
    return str(error).partition("\n")[0] or type(error).__name__
