"""Small commits that no other commit can invalidate: made on the head of the moment, tried again."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import stamina

from frazil.spec.names import TableName
from frazil.tables.catalog import load_table

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table

__all__ = ["branch_from_head", "drop_branch", "leave_branch", "remove_properties", "set_properties"]

_TRIES = 10

_log = logging.getLogger(__name__)


def branch_from_head(catalog: Catalog, name: TableName, branch: str) -> None:
    """Makes a branch of what `main` is now."""
    from pyiceberg.exceptions import CommitFailedException

    def commit(table: Table) -> None:
        head = table.current_snapshot()
        if head is None:
            raise CommitFailedException("whoever makes the table is about to give it a head")
        table.manage_snapshots().create_branch(head.snapshot_id, branch).commit()

    _again(catalog, name, commit)


def drop_branch(catalog: Catalog, name: TableName, branch: str) -> None:
    """Drops a branch, if it is there."""

    def commit(table: Table) -> None:
        if branch in table.metadata.refs:
            table.manage_snapshots().remove_branch(branch).commit()

    _again(catalog, name, commit)


def leave_branch(catalog: Catalog, name: TableName, branch: str) -> None:
    """Drops a branch on the way out; a failure is only logged, for the error before it is the one to tell."""
    try:
        drop_branch(catalog, name, branch)
    except Exception:  # noqa: BLE001 - see above
        _log.warning("branch %s of %s could not be dropped", branch, name, exc_info=True)


def set_properties(catalog: Catalog, name: TableName, properties: dict[str, str]) -> None:
    """Sets table properties."""

    def commit(table: Table) -> None:
        with table.transaction() as tx:
            tx.set_properties(properties)

    _again(catalog, name, commit)


def remove_properties(catalog: Catalog, name: TableName, keys: Iterable[str]) -> None:
    """Removes those of the table properties that are there."""

    def commit(table: Table) -> None:
        if there := [key for key in keys if key in table.properties]:
            with table.transaction() as tx:
                tx.remove_properties(*there)

    _again(catalog, name, commit)


def _again(catalog: Catalog, name: TableName, commit: Callable[[Table], None]) -> None:
    from pyiceberg.exceptions import CommitFailedException

    for attempt in stamina.retry_context(
        on=CommitFailedException, attempts=_TRIES, wait_initial=0.02, wait_max=1.0
    ):
        with attempt:
            commit(load_table(catalog, name))
