"""Forgetting: rows leave a table, its dead letters, what is made of it, and in the end every snapshot.

What went can't come back by a rollback, for the snapshots go, too. The topic still holds the records: that is
for its owner.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import TYPE_CHECKING

from frazil.connections import Connections
from frazil.derive.derive import derive
from frazil.errors import FrazilError, behind
from frazil.landing.position.ledger import EMPTY, read_ledger
from frazil.spec.derived import DerivedSpec
from frazil.spec.names import TableName, writable
from frazil.spec.table import AnyTable
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.catalog import catalog_errors
from frazil.tables.catalogs.handle import TableHandle, writable_handle
from frazil.tables.commits.erasure import older_than_forgotten
from frazil.tables.metadata.manifests import delete_manifests
from frazil.tables.spark.session import spark_errors
from frazil.upkeep.expiry.expiry import expire
from frazil.upkeep.expiry.references import references_of
from frazil.upkeep.forgetting.condition import Condition
from frazil.upkeep.forgetting.letters import Letters, letters_of_query, letters_of_topic
from frazil.upkeep.forgetting.made import MadeOf, follow, made_of, refuse_behind
from frazil.upkeep.forgetting.proof import Proof, older_versions, prove, unnamed_with
from frazil.upkeep.forgetting.report import ForgetReport
from frazil.upkeep.forgetting.rows import (
    Going,
    Gone,
    Left,
    apply_deletes,
    came_since,
    count_going,
    leave_behind,
    take_rows,
)
from frazil.upkeep.run import show

if TYPE_CHECKING:
    from pyiceberg.table import Table

OnStep = Callable[[str], None]

_OLDER = "its older snapshots and files keep the values until they expire"
_APPLY = "`frazil compact TABLE --everything` applies them; then forget again"


def forget(
    spec: TableSpec,
    connections: Connections,
    condition: Condition,
    derived: Sequence[DerivedSpec],
    *,
    after: float,
    by: str = "",
    dry_run: bool = False,
    on_step: OnStep = lambda _: None,
) -> ForgetReport:
    """Forgets the rows of a table that match a condition.

    Args:
        derived: All derived tables: those that are made of the table are found among them.
        after: Seconds after which older snapshots and files go; 0: now, even if somebody reads them.
        by: Who asks for it, for the report.

    Raises:
        RetryError: A table that is made of this one has yet to read some of its rows.
        CommitConflictError: Others changed the same files time and again.
    """
    begun = time.monotonic()
    with spark_errors(connections.settings.of_upkeep), catalog_errors(connections.settings):
        work = _Forgetting(spec, connections, condition, tuple(derived), after, on_step)
        report = work.counted() if dry_run else work.done()
    return replace(report, by=by, seconds=round(time.monotonic() - begun, 3))


def proofs(
    spec: TableSpec, connections: Connections, condition: Condition, derived: Sequence[DerivedSpec]
) -> Iterator[Proof]:
    """Reads everything of a table, of its dead letters and of what is made of it."""
    name, catalog = writable(spec, connections.settings), connections.catalog
    with catalog_errors(connections.settings):
        made = made_of(name, condition, derived, connections)
        for each, own in ((name, condition), *((m.name, m.condition) for m in made if m.condition)):
            handle = TableHandle(catalog, each)
            yield prove(handle, own, connections.settings)
            if handle.dead_letters.load_or_none():
                yield prove(handle.dead_letters, own, connections.settings)


@dataclass
class _Forgetting:
    """The parts that the steps of one forgetting share."""

    spec: TableSpec
    connections: Connections
    condition: Condition
    derived: tuple[DerivedSpec, ...]
    after: float
    on_step: OnStep

    def __post_init__(self) -> None:
        self._handle = writable_handle(self.spec, self.connections)
        self._now = time.time()
        self._made = list(self._tables_made())
        for made in self._made:
            refuse_behind(made, self.connections, TableHandle(self.connections.catalog, made.source).load())
        self._letters = self._letters_of_topic()
        self._left: list[Left] = []

    @property
    def _rows(self) -> Going:
        after = self.spec.upkeep.orphans_after
        return Going(self._handle, self.condition.sql(), self.condition.expression, after, self._books)

    def _tables_made(self) -> Iterator[MadeOf]:
        """The tables made of this one, each looked for only once those before it are done."""
        return made_of(self._handle.name, self.condition, self.derived, self.connections)

    def counted(self) -> ForgetReport:
        """Counts only."""
        tables = [made for made in self._made if made.is_traced]
        letters = [self._letters, *(self._letters_of(made) for made in tables)]
        every = [*(each.going for each in letters if each), self._rows, *(made.going for made in tables)]
        gone = tuple(count_going(going, self.connections) for going in every)
        return replace(self._report(gone), dry_run=True, in_the_way=tuple(self._in_the_way()))

    def done(self) -> ForgetReport:
        """Takes the rows out, letters first: rows tell which of them were redriven."""
        due = int((self._now + self.after) * 1000)
        for spec, name in self._tables:
            apply_deletes(spec, self.connections, name)
        with behind(lambda: _before([left.gone for left in self._left])):
            if self._letters:
                self._take(self._letters.going, due)
            self.on_step("dead letters")
            self._take(self._rows, due)
            self._take_late(due)
            self.on_step("rows")
            unread = list(self._followed(due))
            self.on_step("derived tables")
            gone = (*(left.gone for left in self._left), *self._once_more(due))
            snapshots = self._expired() if self.after <= 0 else {}
        waits = (f"{name} has not read all of its input: derive it, then forget again" for name in unread)
        report = replace(self._report(gone), snapshots=snapshots)
        return replace(report, in_the_way=(*waits, *self._in_the_way(), *self._unnamed()))

    def _take(self, going: Going, due: int) -> None:
        self._left.append(Left(take_rows(going, self.connections, due), going))

    def _take_late(self, due: int) -> None:
        """Takes dead letters out of a table that was made since the first look, by work that began before.

        What is kept there behind this look compares what it began with, and is refused.
        """
        if self._letters is None and (letters := self._letters_of_topic()):
            self._take(letters.going, due)

    def _followed(self, due: int) -> Iterator[str]:
        """Takes the rows out of what is made of the table; those are named that have yet to read some.

        A table is looked for behind the commit that forgot rows of its input: one that is being made by then
        is refused to publish what it read before.
        """
        self._made = []
        for made in self._tables_made():
            self._made.append(made)
            if made.spec.kind == "full":
                derive(made.spec, self.connections)
                self._left.append(Left(leave_behind(made.handle, due)))
                continue
            if made.is_traced:
                if letters := self._letters_of(made):
                    self._take(letters.going, due)
                self._take(made.going, due)
            if not follow(made, self.connections, TableHandle(self.connections.catalog, made.source).load()):
                yield str(made.name)

    def _once_more(self, due: int) -> Iterator[Gone]:
        """Looks again where rows came behind the first look: a landing brought them, or a derivation."""
        for left in self._left:
            if left.going and came_since(left.going, left.gone):
                again = take_rows(left.going, self.connections, due)
                yield from (again,) if again.rows else ()

    def _letters_of_topic(self) -> Letters | None:
        table = self._handle.load()
        return letters_of_topic(self.spec, self.connections, table, self.condition)

    def _letters_of(self, made: MadeOf) -> Letters | None:
        if made.condition is None:
            return None
        return letters_of_query(made.spec, made.handle, made.condition)

    def _unnamed(self) -> Iterator[str]:
        """Files of work that died: no snapshot names them, and they hold such rows."""
        every = (
            (self._handle.name, self.condition),
            *((m.name, m.condition) for m in self._made if m.condition),
        )
        for name, condition in every:
            for file in unnamed_with(TableHandle(self.connections.catalog, name), condition):
                yield (
                    f"{name}: {file} holds such rows, and no snapshot names it "
                    f"(`frazil orphans {name}` deletes it once it is older than upkeep.orphans_after)"
                )

    def _books(self, table: Table, rows: int, work: str) -> Mapping[str, str]:
        """The ledger of the new snapshot; none where no row went, or where nothing was ever landed."""
        before = read_ledger(table.metadata)
        if before is None or not rows:
            return {}
        # A redriven row may be among them, whose dead letter can't be decoded: no redrive brings it back.
        past = int(self._now * 1000) if before.total_redriven else None
        entry = replace(EMPTY, forgotten=rows, expired_before=past, landing=work, version=version("frazil"))
        return entry.beside(before).properties()

    @property
    def _tables(self) -> list[tuple[AnyTable, TableName]]:
        return [(self.spec, self._handle.name), *((made.spec, made.name) for made in self._made)]

    def _expired(self) -> dict[str, tuple[str, ...]]:
        """Expires what is older, with its files, once readers are shown what is there now."""
        expired = {}
        for spec, name in self._tables:
            list(show(spec, self.connections, done=True))
            before = self._snapshots(name)
            expire(spec, self.connections, time.time())
            expired[str(name)] = tuple(sorted(before - self._snapshots(name)))
            list(show(spec, self.connections, done=True))
        self.on_step("snapshots")
        return expired

    def _snapshots(self, name: TableName) -> set[str]:
        both = (
            TableHandle(self.connections.catalog, each).load_or_none() for each in (name, name.dead_letters)
        )
        return {str(s.snapshot_id) for table in both if table for s in table.metadata.snapshots}

    def _in_the_way(self) -> Iterator[str]:
        """What keeps snapshots from before, or their files."""
        for spec, name in self._tables:
            for each in (name, name.dead_letters):
                table = TableHandle(self.connections.catalog, each).load_or_none()
                yield from (
                    f"{each}: {kept}" for kept in (older_than_forgotten(table.metadata) if table else ())
                )
                if table and delete_manifests(table):
                    yield f"{each}: delete files hide rows, or hold values of some ({_APPLY})"
                if table:
                    yield from (f"{each}: {kept}" for kept in self._versions(table))
                if table and self.after <= 0:
                    readers = references_of(spec, self.connections, table, time.time()).readers
                    yield from (f"{each}: {r.name} is behind ({r.todo})" for r in readers if r.since)

    def _versions(self, table: Table) -> Iterator[str]:
        """What the bucket keeps of files that went; rows may be gone by now, so nothing is raised."""
        try:
            for kept in older_versions(table, self.connections.settings):
                yield f"{kept.what} below {kept.path}: delete them, or let a lifecycle rule do it"
        except FrazilError as e:
            yield f"nobody knows whether the bucket keeps older versions of files: {e.what} {e.todo}"

    def _report(self, gone: tuple[Gone, ...]) -> ForgetReport:
        topic = f"topic {self.spec.topic}"
        kafka = "Kafka keeps the records until its retention, its compaction or a deletion takes them"
        feeds = [made.spec.feeds.topic for made in self._made if made.spec.feeds]
        return ForgetReport(
            table=str(self._handle),
            columns=self.condition.columns,
            condition_sha256=self.condition.digest,
            at=round(self._now, 3),
            due=round(self._now + self.after, 3),
            version=version("frazil"),
            gone=gone,
            unread_dead_letters=self._letters.unread if self._letters else 0,
            not_told={
                **{str(made.name): f"{made.why}; {_OLDER}" for made in self._made if made.why},
                topic: kafka,
                **{f"topic {feed}": kafka for feed in feeds},
            },
        )


def _before(gone: Sequence[Gone]) -> str:
    """What an error says of the tables before it."""
    rows = [f"{each.rows} of {each.table}" for each in gone if each.rows]
    return f"Rows are out of sight already: {', '.join(rows)}." if rows else ""
