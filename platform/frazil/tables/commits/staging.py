"""What a commit can change beside files: branches and tags, snapshots that go, the format's version."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from pyiceberg.table import Transaction


def is_staged(tx: Transaction) -> bool:
    """Whether anything is staged."""
    return bool(tx._updates)


def remove_snapshots(tx: Transaction, snapshot_ids: Iterable[int]) -> None:
    """Removes snapshots, as long as no branch or tag comes to name one of them."""
    from pyiceberg.table.update import RemoveSnapshotsUpdate

    tx._apply((RemoveSnapshotsUpdate(snapshot_ids=list(snapshot_ids)),))
    for name, ref in tx._table.metadata.refs.items():
        assert_ref(tx, name, ref.snapshot_id)


def upgrade_format(tx: Transaction, version: int) -> None:
    """Gives the table a newer format version; `Transaction.upgrade_table_version` refuses 3."""
    from pyiceberg.table.update import UpgradeFormatVersionUpdate

    tx._updates += (UpgradeFormatVersionUpdate(format_version=version),)


def assert_ref(tx: Transaction, ref: str, snapshot_id: int | None) -> None:
    """Requires that a branch is where it was; None: that there is none.

    `Transaction._stage` would drop a second requirement of the same type.
    """
    from pyiceberg.table.update import AssertRefSnapshotId

    tx._requirements += (AssertRefSnapshotId(ref=ref, snapshot_id=snapshot_id),)


def add_tag(
    tx: Transaction, tag: str, snapshot_id: int, keep: int | None = None, instead: int | None = None
) -> None:
    """Makes a tag that is not there yet; it goes `keep` milliseconds from now with an expiry.

    `instead` is the snapshot of a tag of that name that the same commit removes: a catalog compares with
    what is there before the commit. Iceberg counts a tag's age from the time of its snapshot (Java's
    RemoveSnapshots).
    """
    rules = {} if keep is None else {"max_ref_age_ms": keep + _age(tx, snapshot_id)}
    _set_ref(tx, tag, snapshot_id, rules, "tag")
    assert_ref(tx, tag, instead)


def _age(tx: Transaction, snapshot_id: int) -> int:
    snapshot = tx.table_metadata.snapshot_by_id(snapshot_id)
    return max(0, int(time.time() * 1000) - snapshot.timestamp_ms) if snapshot else 0


def remove_ref(tx: Transaction, ref: str) -> None:
    """Removes a branch or a tag."""
    from pyiceberg.table.update import RemoveSnapshotRefUpdate

    tx._apply((RemoveSnapshotRefUpdate(ref_name=ref),))


def move_ref(tx: Transaction, ref: str, snapshot_id: int) -> None:
    """Points a branch that is there to another snapshot; its rules of retention stay."""
    before = tx.table_metadata.refs[ref]
    rules = before.model_dump(include={"max_ref_age_ms", "max_snapshot_age_ms", "min_snapshots_to_keep"})
    _set_ref(tx, ref, snapshot_id, rules)
    assert_ref(tx, ref, before.snapshot_id)


def _set_ref(
    tx: Transaction,
    ref: str,
    snapshot_id: int,
    rules: dict[str, Any],
    kind: Literal["branch", "tag"] = "branch",
) -> None:
    from pyiceberg.table.update import SetSnapshotRefUpdate

    tx._apply((SetSnapshotRefUpdate(ref_name=ref, type=kind, snapshot_id=snapshot_id, **rules),))
