"""What one compaction takes, round by round, and within which bounds."""

from __future__ import annotations

import random

import pytest

from frazil.spec.upkeep import Upkeep
from frazil.tables.metadata.files import LiveFile
from frazil.upkeep.compaction.bins import Rule
from frazil.upkeep.compaction.plan import Round, plan_rounds

MB, GB = 2**20, 2**30
RULE = Rule.of(Upkeep(), 128 * MB)
NOW = 7
"""Id of the layout that new files have."""


def small(count: int, partition: str = "a", size: int = 32 * MB, layout: int = NOW) -> list[LiveFile]:
    return [
        LiveFile(f"{layout}-{partition}-{n}", size, 1000, (partition,), layout, sequence=n)
        for n in range(count)
    ]


def landed(sizes: list[int]) -> list[LiveFile]:
    return [LiveFile(str(n), size, 1000, ("a",), NOW, sequence=n) for n, size in enumerate(sizes)]


def planned(files: list[LiveFile], most: int = 10 * GB, **more: bool) -> list[Round]:
    return plan_rounds(files, NOW, RULE, most, **more)


def test_a_round_is_about_a_gigabyte_and_all_rounds_together_are_bounded() -> None:
    rounds = planned(small(200), most=4 * GB)

    assert all(r.bytes <= GB for r in rounds)
    assert 4 * GB - 128 * MB <= sum(r.bytes for r in rounds) <= 4 * GB


def test_one_bin_is_taken_however_tight_the_bound() -> None:
    (only,) = planned(small(8), most=1)

    assert (len(only.files), only.into) == (4, 1)


def test_the_partition_that_gains_most_comes_first() -> None:
    files = [*small(2, "few"), *small(40, "many", MB), *small(1, "alone")]

    (only,) = planned(files)

    assert [len(b.files) for b in only.bins] == [40, 2]
    assert {f.partition for f in only.bins[0].files} == {("many",)}


def test_bins_hold_files_that_were_landed_after_each_other() -> None:
    (only,) = planned(list(reversed(small(8))))

    assert [[f.sequence for f in b.files] for b in only.bins] == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_small_files_of_an_older_layout_go_before_the_others_and_by_themselves() -> None:
    older, current = planned([*small(4), *small(2, "x", layout=1), *small(2, "y", layout=2)])

    assert (older.older, len(older.files)) == (True, 4)
    assert (current.older, len(current.files)) == (False, 4)


def test_everything_takes_files_of_the_right_size_too_and_has_no_bound() -> None:
    files = small(30, size=120 * MB)

    assert planned(files) == []
    assert sum(len(r.files) for r in planned(files, most=1, everything=True)) == 30


def test_files_of_which_no_two_make_one_are_joined_as_soon_as_that_leaves_fewer() -> None:
    """On a busy machine each compaction of a fast table makes a file of half the size or a little more."""
    (only,) = planned(small(7, size=72 * MB))

    assert [(len(b.files), b.into) for b in only.bins] == [(3, 2), (3, 2)]


@pytest.mark.parametrize("seed", range(50))
def test_after_a_compaction_the_bytes_of_a_partition_say_how_many_files_there_are(seed: int) -> None:
    dice = random.Random(seed)
    least = dice.randint(1, 90)
    sizes = [dice.randint(least, least + 30) * MB for _ in range(dice.randint(1, 60))]

    while rounds := planned(landed(sizes)):
        taken = {f.path for r in rounds for f in r.files}
        made = [bin_.bytes // bin_.into for r in rounds for bin_ in r.bins for _ in range(bin_.into)]
        sizes = [f.bytes for f in landed(sizes) if f.path not in taken] + made

    assert len(sizes) <= sum(sizes) // RULE.small + 1


def test_a_bin_whose_files_are_partly_gone_is_left_out() -> None:
    (only,) = planned(small(8))

    left = only.among({f"{NOW}-a-{n}" for n in range(7)})

    assert left
    assert [f.sequence for f in left.files] == [0, 1, 2, 3]
    assert only.among(()) is None
