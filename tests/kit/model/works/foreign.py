"""What another engine does to the table: it knows no position and no branch of ours."""

from __future__ import annotations

import random

from pyiceberg.exceptions import CommitFailedException
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation, Snapshot

from frazil.tables.catalogs.pyiceberg import transaction
from frazil.tables.commits.staging import move_ref, remove_snapshots
from frazil.tables.metadata.snapshots import ancestors
from kit.model.parts.catalog import ON_THE_WAY
from kit.model.world import NAME, World
from kit.tables.delete_files import DeleteFiles

__all__ = ["append", "delete", "landed", "trim", "turn_back"]


def append(world: World, dice: random.Random) -> object:
    """Another engine's append; one that takes hours gives up, for its file may have gone as an orphan."""
    table = world.catalog.load_table(NAME.identifier)
    row = ("", -1, dice.randrange(10**9))
    file = world.store.write_rows(table, [[*row]])
    world.oracle.adds.add(row)
    world.oracle.deletes = set()
    for _ in range(4):
        if world.store.now - world.store.written[file.file_path] > ON_THE_WAY:
            return None
        tx = transaction(table)
        with tx.update_snapshot().fast_append() as append:
            append.append_data_file(file)
        try:
            return world.catalog.commit_table(table, tx._requirements, tx._updates)
        except CommitFailedException:  # or it came through, and an answer was given twice
            table = world.catalog.load_table(NAME.identifier)
            if row in map(tuple, world.store.rows(table, table.metadata.current_snapshot_id)):
                return None
        except Exception:  # noqa: BLE001 - another engine gives up
            return None
    return None


def turn_back(world: World, dice: random.Random) -> object:
    """Another engine's rollback: it knows no position."""
    table = world.catalog.load_table(NAME.identifier)
    tx = transaction(table)
    move_ref(tx, "main", dice.choice(landed(world, table)[:3]).snapshot_id)
    try:
        return world.catalog.commit_table(table, tx._requirements, tx._updates)
    except Exception:  # noqa: BLE001 - another engine gives up
        return None


def delete(world: World, _: random.Random) -> object:
    """Another engine deletes a row by its position."""
    table = world.catalog.load_table(NAME.identifier)
    head = table.metadata.current_snapshot_id
    gone = {*map(tuple, world.store.rows(table, head))}
    files = [e for m in world.store.manifests(table, table.current_snapshot()) for e in world.store.named(m)]
    for file in (file for file in files if not file.deletes):
        for at, row in enumerate(map(tuple, world.store.rows_of(file.path))):
            record = world.topic.ever.get(row)
            if record and not record.bad and row in gone:
                world.oracle.deletes = {row}
                return _committed(world, table, world.store.write_deletes(table, [(file.path, at)]))
    return None


def _committed(world: World, table: Table, deletes: DataFile) -> object:
    tx = transaction(table)
    with DeleteFiles(Operation.DELETE, tx, table.io) as snapshot:
        snapshot.append_data_file(deletes)
    try:
        return world.catalog.commit_table(table, tx._requirements, tx._updates)
    except Exception:  # noqa: BLE001 - another engine gives up
        return None


def trim(world: World, _: random.Random) -> object:
    """Another engine's expiry: it leaves the heads, and deletes no file."""
    table = world.catalog.load_table(NAME.identifier)
    kept = {ref.snapshot_id for ref in table.metadata.refs.values()}
    tx = transaction(table)
    if gone := [s.snapshot_id for s in table.metadata.snapshots if s.snapshot_id not in kept]:
        remove_snapshots(tx, gone)
        try:
            return world.catalog.commit_table(table, tx._requirements, tx._updates)
        except Exception:  # noqa: BLE001 - another engine gives up
            return None
    return None


def landed(world: World, table: Table) -> list[Snapshot]:
    """Where a rollback may go: below the first landing other rows than Frazil's have no owner."""
    return [s for s in ancestors(table.metadata) if world.oracle.heads[s.snapshot_id].logs]
