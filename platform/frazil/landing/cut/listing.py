"""The cuts that tables tell of, how far each is, and their end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from frazil.connections import Connections
from frazil.errors import UsageError
from frazil.landing.cut.note import Note, drop, notes
from frazil.landing.position.ledger import read_ledger
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.handle import TableHandle, writable_handle
from frazil.tables.catalogs.pyiceberg import transaction
from frazil.tables.commits.commit import commit

if TYPE_CHECKING:
    from pyiceberg.table import Table, Transaction

State = Literal["tagged", "landing", "passed", "gone", "not begun"]
"""landing: records wait; passed: the table went past it; gone: the tag was dropped, or expired."""


@dataclass(frozen=True, slots=True)
class CutTable:
    """One table of a cut.

    `snapshot_id`: what the tag is on. `ends`: by partition the offset before which all is in. `waiting`: how
    many offsets are left to be landed.
    """

    table: str
    state: State
    tag: str
    snapshot_id: int | None = None
    ends: Mapping[int, int] | None = None
    waiting: int = 0


@dataclass(frozen=True, slots=True)
class Cut:
    """A cut as its tables tell it; `at` and `until` are seconds since the epoch, `until` None: forever."""

    name: str
    pipeline: str
    at: float
    until: float | None
    by: str
    tables: tuple[CutTable, ...]

    @property
    def is_complete(self) -> bool:
        """Whether every table has its tag: only then do they read as of one moment."""
        return all(table.state == "tagged" for table in self.tables)

    @property
    def is_over(self) -> bool:
        """Whether it is complete, or was."""
        return all(table.state in ("tagged", "gone") for table in self.tables)

    @property
    def can_go_on(self) -> bool:
        """Whether landings bring it further."""
        return all(table.state in ("tagged", "landing") for table in self.tables)

    @property
    def state(self) -> str:
        """In one word, for people."""
        if self.is_complete:
            return "complete"
        return "incomplete" if self.can_go_on else "gone" if self.is_over else "broken"


def members_of(specs: Sequence[TableSpec], connections: Connections) -> list[TableHandle]:
    """The tables, each in the catalog of its own connection."""
    return [writable_handle(spec, connections.of(spec)) for spec in specs]


def read_cuts(members: Sequence[TableHandle]) -> list[Cut]:
    """All cuts of some tables, the newest first."""
    tables = {str(handle): handle.load_or_none() for handle in members}
    cuts: dict[str, dict[str, tuple[Note, Table]]] = {}
    for name, table in tables.items():
        for note in notes(table.properties).values() if table else ():
            assert table
            cuts.setdefault(note.name, {})[name] = note, table
    return sorted((_cut(of_cut) for of_cut in cuts.values()), key=lambda cut: -cut.at)


def cut_named(name: str, members: Sequence[TableHandle]) -> Cut:
    """One cut; raises UsageError where no table tells of it."""
    cuts = {cut.name: cut for cut in read_cuts(members)}
    if name in cuts:
        return cuts[name]
    raise UsageError(
        f"There is no cut {name}.",
        todo=f"Known are {', '.join(cuts)}." if cuts else "`frazil cut create NAME --pipeline P` makes one.",
    )


def drop_cut(name: str, members: Sequence[TableHandle]) -> None:
    """Removes the tags of a cut, and what its tables note of it."""

    def stage(table: Table) -> Transaction:
        tx = transaction(table)
        drop(tx, name)
        return tx

    for handle in members:
        if handle.load_or_none():
            commit(handle, stage, work="end of a cut")


def _cut(notes: Mapping[str, tuple[Note, Table]]) -> Cut:
    newest = max((note for note, _ in notes.values()), key=lambda note: note.at)
    until = None if newest.keep is None else (newest.at + newest.keep) / 1000
    tables = [_of_table(name, newest, *notes.get(name, ())) for name in newest.tables]
    return Cut(newest.name, newest.pipeline, newest.at / 1000, until, newest.by, tuple(tables))


def _of_table(name: str, newest: Note, note: Note | None = None, table: Table | None = None) -> CutTable:
    """How far one table is; it may tell of an earlier try."""
    ledger = read_ledger(table.metadata) if table else None
    if note is None or table is None or ledger is None or note.at != newest.at:
        return CutTable(name, "not begun", newest.tag)
    if note.snapshot is not None:
        ref = table.metadata.refs.get(note.tag)
        there = ref is not None and ref.snapshot_id == note.snapshot
        return CutTable(name, "tagged" if there else "gone", note.tag, note.snapshot, note.ends)
    state: State = "passed" if note.is_passed(ledger) else "landing"
    return CutTable(name, state, note.tag, ends=note.ends, waiting=note.waiting(ledger))
