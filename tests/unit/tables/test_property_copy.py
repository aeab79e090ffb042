"""The copy of the position in the table's properties counts only as far as the head goes."""

from __future__ import annotations

import pytest

from frazil.errors import FrazilError
from kit.tables.commits import Lake, landed, position


def expire_all_but(lake: Lake, *kept: int) -> None:
    """What another engine does that knows nothing of positions."""
    every = {s.snapshot_id for s in lake.table.snapshots()}
    lake.table.maintenance.expire_snapshots().by_ids(sorted(every - {*kept})).commit()


def roll_back(lake: Lake, snapshot_id: int) -> None:
    """What another engine does that leaves the properties as they are."""
    lake.table.manage_snapshots().rollback_to_snapshot(snapshot_id).commit()


def touch(lake: Lake) -> int:
    """A snapshot of another tool, that says nothing of a position."""
    lake.append()
    return lake.head


def test_the_copy_tells_the_position_where_expiry_took_the_snapshots_that_did(lake: Lake) -> None:
    expire_all_but(lake, touch(lake))

    assert position(lake.table) == {0: 4}


def test_a_copy_that_is_newer_than_the_head_is_refused_with_a_way_out(lake: Lake) -> None:
    older = touch(lake)
    expire_all_but(lake, older, landed(lake, 4, 5))
    roll_back(lake, older)
    assert lake.quantities == [0, 1, 2, 3]  # while the copy says that offsets up to 6 are there

    with pytest.raises(FrazilError) as raised:
        position(lake.table)

    assert raised.value.todo
    assert "6" in str(raised.value)


def test_a_rollback_that_keeps_the_snapshots_that_tell_needs_no_copy(lake: Lake) -> None:
    older = touch(lake)
    landed(lake, 4, 5)
    roll_back(lake, older)

    assert position(lake.table) == {0: 4}


def test_a_copy_of_a_version_that_noted_no_sequence_number_is_taken_as_it_is(lake: Lake) -> None:
    expire_all_but(lake, touch(lake))
    younger = [key for key in lake.table.properties if key.startswith("frazil.") and "sequence" in key]
    with lake.table.transaction() as tx:
        tx.remove_properties(*younger) if younger else tx.set_properties({"old": "yes"})

    assert position(lake.table) == {0: 4}
