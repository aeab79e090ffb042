"""Branches of works that died go with the next work that is published, those of the living stay."""

from __future__ import annotations

import pytest

from frazil.errors import FrazilError
from frazil.landing.publication import Landed
from frazil.tables.branches import drop_outlived, new_branch
from frazil.tables.stage import publish
from kit.commits import NAME, Lake, landed, stage


def branches(lake: Lake) -> set[str]:
    return {ref for ref in lake.table.metadata.refs if ref != "main"}


def test_a_killed_landings_branch_goes_with_the_next_landing(lake: Lake) -> None:
    stage(lake, new_branch("landing_"), 7)  # and was killed: it stands at the present position

    landed(lake, 4, 5)

    assert branches(lake) == set()
    assert lake.quantities == [0, 1, 2, 3, 4, 5]


def test_of_two_landings_at_once_the_slower_one_finds_itself_overtaken(lake: Lake) -> None:
    slow = stage(lake, new_branch("landing_"), 4)
    landed(lake, 4, 5)

    with pytest.raises(FrazilError, match="was quicker"):
        publish(lake.catalog, NAME, slow)

    assert lake.quantities == [0, 1, 2, 3, 4, 5]


def test_a_branch_of_other_work_stays_as_it_may_be_published_still(lake: Lake) -> None:
    others = {new_branch(work) for work in ("redrive_", "compaction_", "expiring_", "deriving_")}
    for branch in others:
        lake.table.manage_snapshots().create_branch(lake.head, branch).commit()

    landed(lake, 4)

    assert branches(lake) == others


def test_a_branch_that_its_landing_drops_meanwhile_is_no_reason_to_fail(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = new_branch("landing_")
    lake.table.manage_snapshots().create_branch(lake.head, other).commit()
    staged, put = stage(lake, "landing_4", 4), Landed.put
    tries: list[int] = []

    def meanwhile(*arguments: object) -> None:
        tries.append(1)
        if len(tries) == 1:
            lake.table.manage_snapshots().remove_branch(other).commit()
        put(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Landed, "put", meanwhile)
    publish(lake.catalog, NAME, staged)

    assert (len(tries), branches(lake)) == (2, set())
    assert lake.quantities == [0, 1, 2, 3, 4]


def test_a_clean_up_drops_what_is_older_than_any_work_and_nothing_else(lake: Lake) -> None:
    young, old = new_branch("landing_"), new_branch("compaction_")
    old = old.replace(old.split("_")[1], f"{int(old.split('_')[1]) - 7 * 3600_000:013}")
    for branch in (young, old, "mine"):
        lake.table.manage_snapshots().create_branch(lake.head, branch).commit()

    drop_outlived(lake.catalog, NAME, lake.table)

    assert branches(lake) == {young, "mine"}
