"""What is published is what was audited: the branch is there, as it was, in the very commit."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest

from frazil.errors import FrazilError
from kit.commits import COMMITS, NAME, Lake
from kit.lying import LyingCatalog, between

WORKS = {"landing": "landing_4", "derivation": "deriving_4", "compaction": "compaction_4"}
"""Kinds of work, and the branch of each."""


def drop(lake: Lake, branch: str) -> None:
    """What a cleaner does whose clock is ahead; expiry deletes the files then."""
    lake.table.manage_snapshots().remove_branch(branch).commit()


def write_more(lake: Lake, branch: str) -> None:
    """What nobody should do."""
    lake.append(99, branch=branch)


HAPPENINGS = {"is dropped": drop, "is written to": write_more}
Happening = Callable[[Lake, str], None]


@pytest.mark.parametrize("happens", HAPPENINGS.values(), ids=HAPPENINGS)
@pytest.mark.parametrize("kind", WORKS)
def test_nothing_is_published_of_a_branch_that_changed_after_the_audit(
    lake: Lake, kind: str, happens: Happening
) -> None:
    commit, head = lake.prepare(kind), lake.head
    happens(lake, WORKS[kind])

    with pytest.raises(FrazilError) as told:
        commit()

    assert (lake.head, lake.quantities) == (head, [0, 1, 2, 3])
    assert "quicker" not in str(told.value)


@pytest.mark.parametrize("happens", HAPPENINGS.values(), ids=HAPPENINGS)
@pytest.mark.parametrize("kind", WORKS)
def test_nothing_is_published_of_a_branch_that_changes_just_before_the_commit_arrives(
    lying: LyingCatalog, lake: Lake, kind: str, happens: Happening
) -> None:
    commit, head = lake.prepare(kind), lake.head
    lying.lies.append(between(lambda: happens(lake, WORKS[kind])))

    with pytest.raises(FrazilError) as told:
        commit()

    assert (lake.head, lake.quantities) == (head, [0, 1, 2, 3])
    assert "quicker" not in str(told.value)


@pytest.mark.parametrize("kind", WORKS)
def test_a_branch_that_is_gone_because_the_work_is_published_is_no_loss(lake: Lake, kind: str) -> None:
    commit = lake.prepare(kind)
    commit()
    head = lake.head

    with suppress(FrazilError):  # a compaction's files are gone
        commit()

    assert (lake.head, COMMITS[kind].seen(lake)) == (head, COMMITS[kind].after)
    assert WORKS[kind] not in lake.catalog.load_table(NAME.identifier).metadata.refs
