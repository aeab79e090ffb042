"""What actors do: the engine's own works, another engine's, Kafka's, and the clock's."""

from __future__ import annotations

import random
from collections.abc import Callable

from frazil.derive.derive import derive
from frazil.errors import CommitUnknownError, FrazilError, PositionLostError
from frazil.landing.cut.create import begin_cut
from frazil.landing.land import land
from frazil.landing.position.ledger import read_ledger
from frazil.landing.repairs.redrive import redrive
from frazil.landing.repairs.rollback import roll_back
from frazil.landing.replay.run import replay
from frazil.upkeep.compaction.run import compact
from frazil.upkeep.expiry.expiry import expire
from frazil.upkeep.forgetting.condition import condition_of
from frazil.upkeep.forgetting.forget import forget
from frazil.upkeep.kind import Order
from frazil.upkeep.orphans import remove_orphans
from frazil.upkeep.row_expiry.run import expire_rows
from kit.model.claims import Claim
from kit.model.conditions import MARKED
from kit.model.works.derivations import made_spec
from kit.model.works.foreign import append, delete, landed, trim, turn_back
from kit.model.world import NAME, World

__all__ = ["WORKS", "do"]

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


def _forget(world: World, dice: random.Random) -> object:
    """Rows leave, older snapshots at once or later; once it says so they are nowhere, and stay away."""
    world.forgets = True
    ordered, rollbacks = world.marked(), world.oracle.rollbacks
    column = "key" if world.keyed else "quantity"
    table = world.catalog.load_table(NAME.identifier)
    condition = condition_of(table.schema(), f"{column} = {MARKED}")
    after = dice.choice((0.0, 12 * 3600.0))
    derived = () if world.keyed else (made_spec(),)
    report = forget(world.spec, world.connections, condition, derived, after=after)
    reads_on = any("has not read all" in reason for reason in report.in_the_way)
    if not reads_on and world.oracle.rollbacks == rollbacks:
        world.oracle.forgotten |= ordered
        world.oracle.refuse_forgotten(world.catalog)
    return report


def _derive(world: World, dice: random.Random) -> object:
    """A table that is made of the topic's goes on, or is made anew."""
    if world.keyed:
        return None
    return derive(made_spec(), world.connections, rebuild=dice.random() < 0.4)


def _cut(world: World, _: random.Random) -> object:
    return begin_cut("month", "shop", [world.spec], world.connections)


def _orphans(world: World, _: random.Random) -> object:
    return remove_orphans(world.spec, world.connections, world.store.now)


def _redrive(world: World, _: random.Random) -> object:
    return redrive(world.spec, world.connections)


def _replay(world: World, dice: random.Random) -> object:
    """Of a span that the table holds, or nearly."""
    ledger = read_ledger(world.catalog.load_table(NAME.identifier).metadata)
    spans = {p: (a, b) for p, (a, b) in (ledger.logs[-1][1] if ledger else {}).items() if a < b}
    if not spans:
        return None
    partition = dice.choice(sorted(spans))
    start, to = spans[partition]
    first = dice.randrange(start, to)
    return replay(world.spec, world.connections, {partition: (first, dice.randrange(first, to) + 1)})


def _roll_back(world: World, dice: random.Random) -> object:
    line = landed(world, world.catalog.load_table(NAME.identifier))
    return roll_back(world.spec, world.connections, dice.choice(line[:3]).snapshot_id)


def _produce(world: World, dice: random.Random) -> object:
    for _ in range(dice.choice((1, 2, 3))):
        partition = dice.randrange(2)
        world.produce(partition, dice, bad=dice.random() < 0.2, gap=dice.random() < 0.1)
    return None


def _retain(world: World, dice: random.Random) -> object:
    partition = dice.randrange(2)
    return world.topic.retain(partition, world.topic.first[partition] + dice.randrange(4))


def _mend(world: World, _: random.Random) -> object:
    """Whoever reads from now on can decode what was bad."""
    world.topic.mended = not world.keyed
    return None


def _seven_hours(world: World, _: random.Random) -> object:
    world.store.now += 7 * 3600
    return None


def _recreate(world: World, dice: random.Random) -> object:
    """The topic is deleted and recreated, and is as long as before."""
    ends = dict(world.topic.end)
    world.topic.begin_anew()
    for partition, end in ends.items():
        for _ in range(end):
            world.produce(partition, dice)
    return None


WORKS: dict[str, Work] = {
    "land": _land, "few": _few, "compact": _compact, "expire": _expire, "orphans": _orphans,
    "expire rows": _expire_rows, "forget": _forget, "derive": _derive, "cut": _cut,
    "redrive": _redrive, "replay": _replay, "roll back": _roll_back, "produce": _produce, "retain": _retain,
    "seven hours": _seven_hours, "recreate": _recreate, "mend": _mend,
    "append": append, "turn back": turn_back, "delete": delete, "trim": trim,
}  # fmt: skip
"""By name. Who does the last four is called `engine`."""


def do(world: World, actor: str, work: str, dice: random.Random) -> None:
    """Does one work; what is told of it must be true."""
    world.stage.step()
    before = len(world.catalog.applied)
    report, error = None, None
    try:
        report = WORKS[work](world, dice)
    except FrazilError as e:
        error = e
        if isinstance(e, PositionLostError):
            world.stuck = world.may_lose_its_position
    own = [a for a in world.catalog.applied[before:] if a.actor == actor and a.moved]
    claim = Claim(world, f"{actor} {work}", [a for a in own if a.table.name()[-1] == NAME.table])
    world.log.append(f"{actor} {work}: {claim.line(error)}")
    if isinstance(error, CommitUnknownError):
        return
    if error:
        claim.of_error(error)
    else:
        claim.of_report(work, report)
