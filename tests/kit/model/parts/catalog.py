"""A catalog in memory that keeps to Iceberg's REST protocol: requirements are checked, then all or nothing.

Each request is a step of the stage. A commit may meet a fate: its answer is lost, it is sent twice, it does
not arrive, or whoever sent it dies before or after it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from pyiceberg.catalog import MetastoreCatalog
from pyiceberg.catalog.noop import NoopCatalog
from pyiceberg.exceptions import CommitFailedException, NoSuchTableError, TableAlreadyExistsError
from pyiceberg.table import CommitTableResponse, Table
from pyiceberg.table.update import AddSnapshotUpdate
from requests.exceptions import ReadTimeout

from kit.model.parts.stage import Stage
from kit.model.parts.store import ModelIO, Store
from kit.wires.lying import LIES

__all__ = ["FATES", "ON_THE_WAY", "Applied", "ModelCatalog"]

FATES = (
    "answered", "dropped", "failed", "replayed", "unsent", "refused", "killed before", "killed after", "late",
)  # fmt: skip
"""Of a commit; the first one is the dull one. One that is late arrives when its sender has given it up."""

ON_THE_WAY = 6 * 3600.0
"""Seconds after which a request that did not arrive is lost: orphan removal waits longer than that."""


@dataclass(frozen=True)
class Applied:
    """A commit that was carried out: whose it was, and the table behind it."""

    actor: str
    table: Table
    fate: str
    before: int | None  # the head of `main` before

    @property
    def moved(self) -> bool:
        """Whether `main` has another head than before."""
        return self.table.metadata.current_snapshot_id != self.before


@dataclass
class _Law:
    """What holds of every commit."""

    seen: Callable[[Applied], None] = field(default=lambda _: None)


def renumbered(update: Any, before: Table) -> Any:
    """A snapshot with a number that the table takes."""
    if not isinstance(update, AddSnapshotUpdate):
        return update
    number = max(update.snapshot.sequence_number or 0, before.metadata.last_sequence_number + 1)
    return update.model_copy(
        update={"snapshot": update.snapshot.model_copy(update={"sequence_number": number})}
    )


class ModelCatalog(NoopCatalog, MetastoreCatalog):
    """Tables by name.

    Args:
        stage: Decides who moves, and what fails.
        store: Where the tables' files are.
        fates: The odds that a commit meets one.
    """

    def __init__(self, stage: Stage, store: Store, fates: float = 0.1) -> None:
        super().__init__("model", warehouse="memory://lake")
        self.stage, self.store, self.fates = stage, store, fates
        self.tables: dict[tuple[str, ...], tuple[Any, str]] = {}
        self.applied: list[Applied] = []
        self.met: list[str] = []
        self.law = _Law()
        self.checks_numbers = True  # that of snapshots grow, which is not a catalog's duty
        self._late: list[tuple[str, float, Callable[[], object]]] = []

    def load_table(self, identifier: Any) -> Table:
        """See `Catalog.load_table`."""
        self.stage.step()
        self.arrive()
        return self.look(self.identifier_to_tuple(identifier))

    def look(self, identifier: tuple[str, ...]) -> Table:
        """The table as it is; nobody moves."""
        if identifier not in self.tables:
            raise NoSuchTableError(f"{identifier}")
        metadata, location = self.tables[identifier]
        return Table(identifier, metadata, location, ModelIO(self.store), self)

    def places(self, identifier: tuple[str, ...]) -> set[tuple[Any, ...]]:
        """The records that a table's head holds; nobody moves."""
        table = self.look(identifier)
        return {*map(tuple, self.store.rows(table, table.metadata.current_snapshot_id))}

    def table_exists(self, identifier: Any) -> bool:
        """See `Catalog.table_exists`."""
        return self.identifier_to_tuple(identifier) in self.tables

    def create_namespace(self, *_: Any, **__: Any) -> None:
        """There are all."""

    def create_namespace_if_not_exists(self, *_: Any, **__: Any) -> None:
        """There are all."""

    def load_namespace_properties(self, *_: Any) -> dict[str, str]:
        """See `Catalog.load_namespace_properties`."""
        return {}

    def create_table(self, identifier: Any, *args: Any, **kwargs: Any) -> Table:
        """See `Catalog.create_table`."""
        name = self.identifier_to_tuple(identifier)
        self.stage.step()
        if name in self.tables:
            raise TableAlreadyExistsError(f"{name}")
        self.stage.effect()
        return self._keep(self._create_staged_table(name, *args, **kwargs))

    def commit_table(self, table: Table, requirements: Any, updates: Any) -> CommitTableResponse:
        """See `Catalog.commit_table`. A request that is hours on its way is lost."""
        sent = self.store.now
        self.stage.step()
        self.arrive()
        if self.store.now - sent > ON_THE_WAY:
            raise ReadTimeout("Read timed out.")
        self.stage.effect()
        fate = FATES[self.stage.dice.choose(len(FATES), self.fates)] if self.stage.now else FATES[0]
        if fate != FATES[0]:
            self.met.append(fate)
        if fate == "killed before":
            self.stage.kill()
        if fate == "late":
            send = partial(self._commit, table, requirements, updates, fate)
            self._late.append((self.stage.now, sent, send))
            raise ReadTimeout("Read timed out.")
        answer = self._answer(fate, lambda: self._commit(table, requirements, updates, fate))
        if fate == "killed after":
            self.stage.kill()
        self.stage.step()
        return answer

    def arrive(self) -> None:
        """What is late arrives now, or later still."""
        for late in [*self._late]:
            actor, sent, send = late
            if self.stage.now and self.stage.dice.choose(2, 0.5):
                continue
            self._late.remove(late)
            if self.store.now - sent > ON_THE_WAY:
                continue
            now, self.stage.now = self.stage.now, actor
            with suppress(CommitFailedException, ValueError):
                send()
            self.stage.now = now

    def _answer(self, fate: str, send: Callable[[], CommitTableResponse]) -> CommitTableResponse:
        answer: CommitTableResponse = LIES[fate](send, True) if fate in LIES else send()
        return answer

    def _commit(self, table: Table, requirements: Any, updates: Any, fate: str) -> CommitTableResponse:
        before = self.look(tuple(table.name()))
        if not self.checks_numbers:
            updates = tuple(renumbered(update, before) for update in updates)
        staged = self._update_and_stage_table(before, before.name(), requirements, updates)
        after = self._keep(staged)
        applied = Applied(self.stage.now, after, fate, before.metadata.current_snapshot_id)
        self.applied.append(applied)
        self.law.seen(applied)
        return CommitTableResponse(metadata=after.metadata, metadata_location=after.metadata_location)

    def _keep(self, staged: Any) -> Table:
        self.tables[tuple(staged.name())] = staged.metadata, staged.metadata_location
        self.store.put(staged.metadata_location, b"{}")
        return self.look(tuple(staged.name()))

    def _load_file_io(self, *_: Any, **__: Any) -> ModelIO:
        return ModelIO(self.store)
