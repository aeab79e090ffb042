"""What actors do: the engine's own works, another engine's, Kafka's, and the clock's."""

from __future__ import annotations

import random
from collections.abc import Callable

from pyiceberg.exceptions import CommitFailedException
from pyiceberg.manifest import DataFile, ManifestWriter
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation, Snapshot
from pyiceberg.table.update.snapshot import _FastAppendFiles

from frazil.errors import (
    CommitConflictError,
    CommitUnknownError,
    FrazilError,
    PositionLostError,
    TopicChangedError,
)
from frazil.landing.cut.create import begin_cut
from frazil.landing.cut.note import notes
from frazil.landing.land import land
from frazil.landing.ledger import read_ledger
from frazil.landing.redrive import redrive
from frazil.landing.replay.run import replay
from frazil.landing.rollback import roll_back
from frazil.tables.commit import move_ref, remove_snapshots
from frazil.tables.pyiceberg import transaction
from frazil.tables.snapshots import ancestors
from frazil.upkeep.compaction.run import compact
from frazil.upkeep.expiry import expire
from frazil.upkeep.kind import Order
from frazil.upkeep.orphans import remove_orphans
from frazil.upkeep.row_expiry.run import expire_rows
from kit.equality_deletes import DeleteManifestWriter
from kit.model.catalog import Applied
from kit.model.oracle import Broken
from kit.model.world import NAME, World

__all__ = ["WORKS", "do"]

INVISIBLE = ("is visible", "nothing was landed", "nothing was changed", "no row is lost")
"""What a message says where rows are as they were."""

Work = Callable[[World, random.Random], object]


def _land(world: World, _: random.Random) -> object:
    return land(world.spec, world.connections)


def _few(world: World, _: random.Random) -> object:
    return land(world.spec, world.connections, max_records=2)


def _compact(world: World, _: random.Random) -> object:
    return compact(world.spec, world.connections, world.store.now, Order(everything=True))


def _expire(world: World, _: random.Random) -> object:
    return expire(world.spec, world.connections, world.store.now)


def _expire_rows(world: World, _: random.Random) -> object:
    return expire_rows(world.spec, world.connections, world.store.now)


def _cut(world: World, _: random.Random) -> object:
    return begin_cut("month", "shop", [world.spec], world.connections)


def _orphans(world: World, _: random.Random) -> object:
    return remove_orphans(world.spec, world.connections, world.store.now)


def _redrive(world: World, _: random.Random) -> object:
    return redrive(world.spec, world.connections)


def _replay(world: World, dice: random.Random) -> object:
    """Of a span that the table holds, or nearly."""
    ledger = read_ledger(world.catalog.load_table(NAME.identifier).metadata)
    held = {p: (a, b) for p, (a, b) in (ledger.logs[-1][1] if ledger else {}).items() if a < b}
    if not held:
        return None
    partition = dice.choice(sorted(held))
    start, to = held[partition]
    first = dice.randrange(start, to)
    return replay(world.spec, world.connections, {partition: (first, dice.randrange(first, to) + 1)})


def _roll_back(world: World, dice: random.Random) -> object:
    line = _landed(world, world.catalog.load_table(NAME.identifier))
    return roll_back(world.spec, world.connections, dice.choice(line[:3]).snapshot_id)


def _landed(world: World, table: Table) -> list[Snapshot]:
    """Where a rollback may go: below the first landing other rows than Frazil's have no owner."""
    return [s for s in ancestors(table.metadata) if world.oracle.heads[s.snapshot_id].logs]


def _produce(world: World, dice: random.Random) -> object:
    for _ in range(dice.choice((1, 2, 3))):
        partition = dice.randrange(2)
        world.produce(partition, dice, bad=dice.random() < 0.2, gap=dice.random() < 0.1)
    return None


def _retain(world: World, dice: random.Random) -> object:
    partition = dice.randrange(2)
    return world.topic.retain(partition, world.topic.first[partition] + dice.randrange(4))


def _seven_hours(world: World, _: random.Random) -> object:
    world.store.now += 7 * 3600
    return None


def _recreate(world: World, dice: random.Random) -> object:
    """The topic is deleted and made again, and is as long as before."""
    ends = dict(world.topic.end)
    world.topic.begin_anew()
    for partition, end in ends.items():
        for _ in range(end):
            world.produce(partition, dice)
    return None


def _append(world: World, dice: random.Random) -> object:
    """Another engine's append."""
    table = world.catalog.load_table(NAME.identifier)
    row = ("", -1, dice.randrange(10**9))
    file = world.store.write_rows(table, [[*row]])
    world.oracle.adds.add(row)
    world.oracle.deletes = set()
    for _ in range(4):
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


def _turn_back(world: World, dice: random.Random) -> object:
    """Another engine's rollback: it knows no position."""
    table = world.catalog.load_table(NAME.identifier)
    tx = transaction(table)
    move_ref(tx, "main", dice.choice(_landed(world, table)[:3]).snapshot_id)
    try:
        return world.catalog.commit_table(table, tx._requirements, tx._updates)
    except Exception:  # noqa: BLE001 - another engine gives up
        return None


def _delete(world: World, _: random.Random) -> object:
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
    with DeletesByPosition(Operation.DELETE, tx, table.io) as snapshot:
        snapshot.append_data_file(deletes)
    try:
        return world.catalog.commit_table(table, tx._requirements, tx._updates)
    except Exception:  # noqa: BLE001 - another engine gives up
        return None


class DeletesByPosition(_FastAppendFiles):
    """PyIceberg writes manifests of data files only."""

    def new_manifest_writer(self, spec: PartitionSpec) -> ManifestWriter:
        """See `_SnapshotProducer.new_manifest_writer`."""
        output = self.new_manifest_output()
        return DeleteManifestWriter(spec, self.schema(), output, self._snapshot_id, "null")


def _forget(world: World, _: random.Random) -> object:
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


WORKS: dict[str, Work] = {
    "land": _land, "few": _few, "compact": _compact, "expire": _expire, "orphans": _orphans,
    "expire rows": _expire_rows, "cut": _cut,
    "redrive": _redrive, "replay": _replay, "roll back": _roll_back, "produce": _produce, "retain": _retain,
    "seven hours": _seven_hours, "recreate": _recreate,
    "append": _append, "turn back": _turn_back, "delete": _delete, "forget": _forget,
}  # fmt: skip
"""By name. Who does the last four is called `engine`."""


def do(world: World, actor: str, work: str, dice: random.Random) -> None:
    """Does one work; what is told of it must be true."""
    world.stage.step()
    before = len(world.catalog.applied)
    told, error = "", None
    try:
        report = WORKS[work](world, dice)
    except FrazilError as e:
        told, report, error = " ".join(str(e).split()), None, e
        world.told.append(f"{actor} {work}: {type(e).__name__}: {told}")
        if isinstance(e, PositionLostError):
            world.stuck = world.may_lose_its_position
        if isinstance(e, CommitUnknownError):
            return
    else:
        world.told.append(f"{actor} {work}: done")
    own = [a for a in world.catalog.applied[before:] if a.actor == actor and a.moved]
    if isinstance(error, CommitConflictError) and " times" in error.what:
        raise Broken(f"{actor} {work} was refused time and again: {told}")
    made = [a for a in own if a.table.name()[-1] == NAME.table]
    if isinstance(error, TopicChangedError) and world.topic.log == "log1":
        raise Broken(f"{actor} {work} said of a topic that nobody touched: {told}")
    visible = {s.snapshot_id for s in ancestors(world.table.metadata)}
    seen = [a for a in made if a.table.metadata.current_snapshot_id in visible]  # nobody rolled it back
    ended = {note.snapshot for note in notes(world.table.properties).values()}
    # One that ended at a cut stands; what is said is of the landing behind it.
    last = [a for a in seen if a.table.metadata.current_snapshot_id not in ended]
    if last and any(words in told.lower() for words in INVISIBLE):
        raise Broken(f"{actor} {work} moved main and said: {told}")
    if work in ("land", "few", "redrive") and report is not None:
        brought = report.redriven if work == "redrive" else report.records
        added = sum(_added(a, world) for a in made)
        if brought not in (
            added,
            sum(_added(a, world) for a in seen),
        ):  # one that was rolled back may be made again
            raise Broken(f"{actor} told of {brought} records and added {added}")


def _added(applied: Applied, world: World) -> int:
    """Rows that a commit added; of a table with a row per key only its ledger tells how many records came."""
    said = applied.table.current_snapshot().summary.additional_properties
    return int(said.get("frazil.records" if world.keyed else "added-records", 0))
