"""The data files that can hold rows of some keys: chosen by metadata, laid upon a branch of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from frazil.derive.write import MARK
from frazil.errors import CommitConflictError
from frazil.spec.names import TableName
from frazil.tables.commit import commit
from frazil.tables.manifests import Entries, files_matching

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.expressions import BooleanExpression
    from pyiceberg.table import Table, Transaction


__all__ = ["Touched", "branch_of", "touched"]


@dataclass(frozen=True, slots=True)
class Touched:
    """Some data files of a head.

    Args:
        table: As loaded; the files are of its head.
        entries: The files.
    """

    table: Table
    entries: Entries

    @property
    def rows(self) -> dict[str, int]:
        """How many rows each has, by path."""
        return {e.data_file.file_path: e.data_file.record_count for e in self.entries}

    @property
    def bytes(self) -> int:
        """Of all of them."""
        return sum(e.data_file.file_size_in_bytes for e in self.entries)


def touched(table: Table, inside: BooleanExpression) -> Touched:
    """The files of the head that can hold a row for which `inside` is true. Opens no data file."""
    return Touched(table, files_matching(table, inside).entries)


def branch_of(catalog: Catalog, name: TableName, files: Touched, branch: str) -> int:
    """Makes a branch that holds nothing but those files, and what deletes rows in them; its snapshot's id.

    Raises:
        CommitConflictError: Others committed in between; the files may be others now.
    """
    from frazil.tables.rewrite import stage_branch

    head = files.table.metadata.current_snapshot_id

    def stage(table: Table) -> Transaction:
        if table.metadata.current_snapshot_id != head:
            raise CommitConflictError(
                f"Others committed to {name} while a derivation chose its files.",
                meaning="Nothing of this derivation is visible.",
                todo="Nothing: it tries again.",
            )
        tx = table.transaction()
        stage_branch(tx, branch, files.entries, MARK)
        return tx

    return commit(catalog, name, stage, work="branch").snapshot_id or 0
