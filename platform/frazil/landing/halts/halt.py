"""A table is stopped: by a person, for a while or for Tableflow; or by records that need a person."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import TYPE_CHECKING, ClassVar

from frazil.errors import NotYetError, PausedError, StopError
from frazil.landing.position.ledger import EMPTY, Ledger, read_ledger
from frazil.tables.catalogs.handle import TableHandle, name_of
from frazil.tables.commits.commit import set_properties
from frazil.tables.commits.stage import Staged, StagedFiles, publish
from frazil.tables.commits.suspension import PAUSE, SUSPENDED, SUSPENDED_BY, TABLEFLOW, is_halted
from frazil.tables.commits.works import work_name

if TYPE_CHECKING:
    from pyiceberg.table import Table, Transaction


def halt(
    handle: TableHandle,
    by: str,
    because: str,
    reason: Callable[[Ledger], str],
    *,
    run_id: str = "",
) -> Ledger:
    """Stops the landing of a table until `resume`; the ledger at which it stands then.

    The commit that says so moves the table's head: a landing that is under way finds it, and is dropped.

    Args:
        by: One of the values of `SUSPENDED_BY`.
        because: Noted in the snapshot.
        reason: What the table says while it is stopped, of the ledger at which it is.

    Raises:
        NotYetError: Nothing was landed yet.
        StopError: Somebody stopped it already.
    """
    entry = replace(
        EMPTY, because=because, landing=work_name(f"{by}_"), run_id=run_id, version=version("frazil")
    )
    published = publish(handle, _Halt(StagedFiles(), entry, by, reason))
    ledger = read_ledger(published.table.metadata)
    assert ledger, f"{published.snapshot_id} is one"
    return ledger


def refuse_halted(table: Table) -> None:
    """Refuses a table that a person stopped.

    Raises:
        PausedError: It is paused.
        StopError: The topic is Tableflow's by now.
    """
    name = name_of(table)
    by, why = table.properties.get(SUSPENDED_BY), table.properties.get(SUSPENDED, "")
    if by == PAUSE:
        raise PausedError(
            f"Table {name} is {why}.",
            meaning="Nothing was landed. The topic keeps the records, as long as its retention allows.",
            todo=f"`frazil resume {name}` lands what waits.",
        )
    if by == TABLEFLOW:
        raise StopError(
            f"The topic of {name} was released to Tableflow.",
            where=why,
            meaning="Nothing was landed.",
            todo=f"`frazil resume {name}` lands it by Frazil again, from where it stopped.",
        )


def suspend(handle: TableHandle, reason: str, offsets: Mapping[int, int]) -> None:
    """Stops a table at records that need a person, if it still waits for those from these offsets on."""
    set_properties(handle, {SUSPENDED: reason}, only=lambda table: _waits(table, offsets))


def _waits(table: Table, offsets: Mapping[int, int]) -> bool:
    """Whether nobody has landed, or left out, records from these offsets on, or paused the table."""
    now = read_ledger(table.metadata)
    waits = all((now.position if now else {}).get(p, 0) <= offset for p, offset in offsets.items())
    return waits and not is_halted(table.properties)


@dataclass(frozen=True)
class _Halt(Staged):
    """No rows: only that nothing is landed from here on, and why."""

    resumes: ClassVar[bool] = False
    work: ClassVar[str] = "halt"

    entry: Ledger
    by: str
    reason: Callable[[Ledger], str]

    def next_entry(self, table: Table) -> Ledger:
        """See `Staged.next_entry`."""
        before = read_ledger(table.metadata)
        if before is None:
            raise NotYetError(
                f"Nothing was landed into {name_of(table)} yet.",
                meaning="There is no landing to stop. Nothing was changed.",
                todo="Take the table out of its pipeline, or write mode: tableflow.",
            )
        refuse_halted(table)
        return self.entry.beside(before)

    def put(self, tx: Transaction, table: Table, summary: Mapping[str, str]) -> None:
        """See `Staged.put`."""
        super().put(tx, table, summary)
        before = read_ledger(table.metadata)
        assert before, "see `next_entry`"
        tx.set_properties({SUSPENDED: self.reason(before), SUSPENDED_BY: self.by})
