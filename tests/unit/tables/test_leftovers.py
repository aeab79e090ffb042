"""Branches that works of older releases left in the middle: they go once no work can be at them."""

from __future__ import annotations

import pytest

from frazil.errors import FrazilError
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.commits.leftovers import drop_dead_branches
from frazil.tables.commits.stage import publish
from frazil.tables.commits.works import work_name
from kit.tables.branches import make_branch
from kit.tables.commits import NAME, Lake, landed, stage


def branches(lake: Lake) -> set[str]:
    return {ref for ref in lake.table.metadata.refs if ref != "main"}


def test_of_two_landings_at_once_the_slower_one_finds_itself_overtaken(lake: Lake) -> None:
    slow = stage(lake, work_name("landing_"), 4)
    landed(lake, 4, 5)

    with pytest.raises(FrazilError, match="was quicker"):
        publish(TableHandle(lake.catalog, NAME), slow)

    assert lake.quantities == [0, 1, 2, 3, 4, 5]


def test_a_young_branch_stays_as_it_may_be_published_still(lake: Lake) -> None:
    others = {work_name(f"{work}_") for work in ("landing", "redrive", "compaction", "expiring", "deriving")}
    for branch in others:
        make_branch(lake.catalog, NAME, branch)

    landed(lake, 4)
    drop_dead_branches(lake.table)

    assert branches(lake) == others
    assert lake.quantities == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("work", ["landing", "redrive", "replay", "deriving", "compaction", "expiring"])
def test_a_clean_up_drops_what_is_older_than_any_work_and_nothing_else(lake: Lake, work: str) -> None:
    young, old = work_name("landing_"), work_name(f"{work}_")
    old = old.replace(old.split("_")[1], f"{int(old.split('_')[1]) - 7 * 3600_000:013}")
    for branch in (young, old, "mine"):
        make_branch(lake.catalog, NAME, branch)

    drop_dead_branches(lake.table)

    assert branches(lake) == {young, "mine"}
