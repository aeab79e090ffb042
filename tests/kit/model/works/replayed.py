"""A table of two landings whose offsets are read once more, among stand-ins."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.table import Table

from frazil.checks.run import run_check
from frazil.landing.land import land
from frazil.landing.position.ledger import Ledger, read_ledger
from frazil.tables.catalogs.handle import TableHandle
from frazil.upkeep.forgetting.rows import Going, take_rows
from kit.model.parts.edges import edges
from kit.model.parts.stage import Dice
from kit.model.world import NAME, SPEC, World

__all__ = [
    "SKIPPING",
    "adds_up",
    "forget_letters",
    "just_before_the_commit",
    "ledger",
    "letters",
    "make",
    "rows",
    "two_landings",
]

SKIPPING = SPEC.model_copy(update={"on_bad_record": "skip"})


@contextmanager
def two_landings() -> Iterator[World]:
    """Offsets 0 to 3 of partition 0, of which 1 is bad and 2 is a gap, and then 3 and 4."""
    with edges() as doubles:
        doubles.world = world = World(Dice())
        world.topic.produce(0)
        world.topic.produce(0, bad=True)
        world.topic.produce(0, gap=True)
        land(SPEC, world.connections)
        world.topic.produce(0)
        world.topic.produce(0)
        land(SPEC, world.connections)
        yield world
        assert world.oracle.broken is None


def rows(world: World) -> list[int]:
    """The offsets of partition 0 that are rows."""
    table = world.table
    return sorted(at for _, p, at in world.store.rows(table, table.metadata.current_snapshot_id) if p == 0)


def letters(world: World) -> list[int]:
    table = world.catalog.look(NAME.dead_letters.identifier)
    return sorted(at for _, _, at in world.store.rows(table, table.metadata.current_snapshot_id))


def ledger(world: World) -> Ledger:
    newest_ledger = read_ledger(world.table.metadata)
    assert newest_ledger
    return newest_ledger


def make(world: World, offset: int, *, bad: bool) -> None:
    """What the decoder makes of a record from now on."""
    place = (world.topic.log, 0, offset)
    world.topic.ever[place] = replace(world.topic.ever[place], bad=bad)


@contextmanager
def just_before_the_commit(world: World, others: Callable[[], object]) -> Iterator[list[Table]]:
    """What others do once, between a replay's last look at the table and its commit."""
    commit, late = world.catalog.commit_table, list[Table]()

    def delayed(table: Table, requirements: Any, updates: Any) -> Any:
        if "frazil.replayed" in str(updates) and table.name()[-1] == NAME.table and not late:
            late.append(table)
            others()
        return commit(table, requirements, updates)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(world.catalog, "commit_table", delayed)
        yield late


def forget_letters(world: World) -> None:
    """All of them, and no row."""
    every = Going(
        TableHandle(world.catalog, NAME).dead_letters, "`quantity` IN (0)", AlwaysTrue(), timedelta(days=3)
    )
    assert take_rows(every, world.connections, due=0).rows == 1


def adds_up(world: World) -> bool:
    return run_check("row_count", SPEC, world.connections).passed
