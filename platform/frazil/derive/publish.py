"""A derivation that is written, as it is published: files that come, and files that go."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

from frazil.derive.ledger import DerivedLedger, read_derived
from frazil.errors import CommitConflictError, OvertakenError
from frazil.spec.names import TableName
from frazil.tables.branches import DERIVING
from frazil.tables.snapshots import ancestors, summary_of
from frazil.tables.stage import Staged

if TYPE_CHECKING:
    from pyiceberg.manifest import ManifestEntry
    from pyiceberg.table import Table, Transaction

__all__ = ["Derived"]


@dataclass(frozen=True)
class Derived(Staged):
    """Files of rows, and the position that they bring the table to.

    Args:
        ledger: What the snapshot will say, but for its totals.
        base: The derivation whose ledger was the newest one when this one was planned; empty: there was none.
        whole: Whether the files stand for all rows of the table.
        removed: Else the files in whose place they are: path to rows.
    """

    ledger: DerivedLedger
    base: str
    whole: bool = False
    removed: Mapping[str, int] = field(default_factory=dict)

    work: ClassVar[str] = "derivation"
    resumes: ClassVar[bool] = False
    rivals: ClassVar[str] = DERIVING

    def upon(self, name: TableName, table: Table) -> DerivedLedger:
        """See `Staged.upon`. A rebuild may leave the position as it is, so it goes by the derivation."""
        before = read_derived(table.metadata, rebuild=self.whole)
        newest = before.derivation if before else ""
        if newest != self.base:
            raise OvertakenError(
                f"Another derivation of {name}, or a rollback, was quicker; this one was dropped.",
                where=f"newest is {newest or 'none'}, planned behind {self.base or 'none'}",
                meaning="Every row of the inputs counts exactly once; nothing of this derivation is visible.",
                todo="Nothing. Derive again if rows wait.",
            )
        if self.whole:
            return replace(self.ledger, removed=_rows(table)).following(None)
        return replace(self.ledger, removed=sum(self.removed.values())).following(before)

    def put(self, tx: Transaction, table: Table, said: Mapping[str, str]) -> None:
        """See `Staged.put`.

        Raises:
            CommitConflictError: A compaction wrote files anew in whose place these ones are.
        """
        from frazil.tables.swap import Swap

        entries, touched = _held(table, None if self.whole else self.removed)
        if not self.whole and len(entries) != len(self.removed):
            raise CommitConflictError(
                f"Files of {'.'.join(table.name())} were written anew while a derivation merged them.",
                meaning="Nothing of this derivation is visible.",
                todo="Nothing: it tries again.",
            )
        if entries:
            Swap(tx, said, entries, touched, self.staged.files).commit()
        else:
            super().put(tx, table, said)


def _held(table: Table, paths: Collection[str] | None) -> tuple[tuple[ManifestEntry, ...], frozenset[str]]:
    """Entries of those files that the head names (None: of all), and the manifests that name them."""
    from pyiceberg.manifest import ManifestContent
    from pyiceberg.utils.concurrent import ExecutorFactory

    if paths is not None and not paths:
        return (), frozenset()
    head = table.current_snapshot()
    data = [m for m in head.manifests(table.io) if m.content == ManifestContent.DATA] if head else []
    read = ExecutorFactory.get_or_create().map(lambda m: m.fetch_manifest_entry(table.io), data)
    named = {
        m.manifest_path: [e for e in entries if paths is None or e.data_file.file_path in paths]
        for m, entries in zip(data, read, strict=True)
    }
    return (
        tuple(e for entries in named.values() for e in entries),
        frozenset(path for path, entries in named.items() if entries),
    )


def _rows(table: Table) -> int:
    return int(summary_of(next(ancestors(table.metadata), None)).get("total-records", 0))
