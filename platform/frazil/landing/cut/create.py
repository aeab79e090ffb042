"""Begins a cut: all topics are asked for their ends at one moment, and every table notes its own.

All that is left is to land: the landing ends there, and the table is tagged.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from importlib.metadata import version
from typing import TYPE_CHECKING, ClassVar

from frazil.connections import Connections, apart
from frazil.errors import (
    CommitUnknownError,
    FrazilError,
    NotYetError,
    OvertakenError,
    RetryError,
    TopicChangedError,
    UsageError,
)
from frazil.kafka.facts import TopicFacts, topic_facts
from frazil.landing.cut.listing import Cut, cut_named, drop_cut, members_of, read_cuts
from frazil.landing.cut.note import Note, drop, set_tag
from frazil.landing.position.ledger import EMPTY, Ledger, read_ledger
from frazil.spec.names import TableName, writable
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.catalog import catalog_errors
from frazil.tables.catalogs.handle import TableHandle, name_of
from frazil.tables.commits.stage import Staged, StagedFiles, publish
from frazil.tables.commits.works import work_name

if TYPE_CHECKING:
    from pyiceberg.table import Table, Transaction

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_TRIES = 5  # how often the ends are asked for where others land past them before the tables note them


def begin_cut(
    name: str,
    pipeline: str,
    specs: Sequence[TableSpec],
    connections: Connections,
    *,
    keep: timedelta | None = None,
    by: str = "",
) -> Cut:
    """Begins a cut, or finds one that is under way; tables that stand at its end already are tagged.

    Args:
        name: Lower case letters, digits, `_` and `-`; the tags are called `cut_<name>`.
        specs: The tables of the pipeline that Frazil lands.
        keep: How long the tags stay; None: until they are dropped.
        by: Who asks for it.

    Raises:
        UsageError: There is such a cut already, or the name can't be one.
        NotYetError: A table holds nothing yet.
        RetryError: Others landed past the ends each time before the tables noted them.
    """
    _refuse_name(name)
    with catalog_errors(connections.settings):
        members = members_of(specs, connections)
        there = next((cut for cut in read_cuts(members) if cut.name == name), None)
        if there and (there.pipeline != pipeline or there.is_over):
            raise _there_already(there)
        if there and there.can_go_on:
            return there
        until = None if keep is None else int(keep.total_seconds() * 1000)
        for _ in range(_TRIES):
            now = int(time.time() * 1000)
            note = Note(name, pipeline, now, "", {}, tuple(map(str, members)), until, by)
            try:
                _begin(note, specs, connections, members)
            except _Passed:
                continue
            except FrazilError:
                drop_cut(name, members)
                raise
            return cut_named(name, members)
        drop_cut(name, members)
    raise _no_moment(name, pipeline)


class _Passed(OvertakenError):
    """A table holds more than its topic did when it was asked."""


def _refuse_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} can't name a cut.",
            meaning="Nothing was changed.",
            todo="Write up to 64 lower case letters, digits, _ or -, such as 2026-11.",
        )


def _no_moment(name: str, pipeline: str) -> RetryError:
    return RetryError(
        f"No moment was found for the cut {name}: each time a landing was past the topic's end by then.",
        meaning="There is no such cut; the tables are as they were.",
        todo=f"`frazil pause --pipeline {pipeline} --because cut`, create the cut, then `frazil "
        f"resume --pipeline {pipeline}`.",
    )


def _begin(
    note: Note, specs: Sequence[TableSpec], connections: Connections, members: Sequence[TableHandle]
) -> None:
    facts: dict[TableName, TopicFacts] = {}
    for own, clients in apart(specs, connections):
        known = topic_facts(clients.admin, [spec.topic for spec in own])
        names = {writable(spec, connections.settings): spec.topic for spec in own}
        facts |= {name: known[topic] for name, topic in names.items() if topic in known}
    for handle in members:
        entry = replace(
            EMPTY, because=f"cut {note.name}", landing=work_name("cut_"), version=version("frazil")
        )
        begun = _Begun(StagedFiles(), entry, note, facts.get(handle.name))
        try:
            publish(handle, begun)
        except CommitUnknownError:
            with suppress(FrazilError):  # what is raised below says that the outcome is not known
                publish(handle, _GivenUp(StagedFiles(), entry))
            raise


@dataclass(frozen=True)
class _Begun(Staged):
    """No rows: only where landings are to end.

    The commit moves the table's head: a landing that is under way finds the note.
    """

    resumes: ClassVar[bool] = False
    work: ClassVar[str] = "cut"

    entry: Ledger
    note: Note
    facts: TopicFacts | None

    def next_entry(self, table: Table) -> Ledger:
        """See `Staged.next_entry`."""
        name = name_of(table)
        before = read_ledger(table.metadata)
        if before is None or self.facts is None:
            raise NotYetError(
                f"Nothing was landed into {name} yet, or its topic is not there.",
                meaning="There is no cut.",
                todo="Land the whole pipeline once; then create the cut.",
            )
        if before.topic_id != self.facts.topic_id:
            raise TopicChangedError(
                f"The topic {before.topic} was recreated since it was landed into {name}.",
                meaning="There is no cut.",
                todo=f"`frazil land {name}` says what to do.",
            )
        if self._noted(before).is_passed(before):
            raise _Passed(f"{name} holds more than its topic did when it was asked.")
        return self.entry.beside(before)

    def settle(self, tx: Transaction, table: Table) -> None:
        """See `Staged.settle`."""
        before = read_ledger(table.metadata)
        assert before, "see `next_entry`"
        gone = drop(tx, self.note.name)
        note = self._noted(before)
        tx.set_properties(note.properties)
        if note.is_reached(before):
            set_tag(tx, note, tx.table_metadata.refs["main"].snapshot_id, gone)

    def _noted(self, before: Ledger) -> Note:
        """The note of this table. A partition in which nothing ever was has no end."""
        assert self.facts, "see `next_entry`"
        ends = {
            p: end for p, end in self.facts.end.items() if p in before.position or end > self.facts.first[p]
        }
        return replace(self.note, log=before.log, ends=ends)


@dataclass(frozen=True)
class _GivenUp(Staged):
    """Moves the head of a table whose note may be on its way: bound to the old head, it is refused then."""

    resumes: ClassVar[bool] = False
    work: ClassVar[str] = "end of a cut"

    entry: Ledger

    def next_entry(self, table: Table) -> Ledger:
        """See `Staged.next_entry`."""
        before = read_ledger(table.metadata)
        assert before, "the note that was sent found one"
        return self.entry.beside(before)


def _there_already(cut: Cut) -> UsageError:
    return UsageError(
        f"There is a cut {cut.name} of pipeline {cut.pipeline} already.",
        meaning="Nothing was changed.",
        todo=f"Take another name, or `frazil cut drop {cut.name}` first.",
    )
