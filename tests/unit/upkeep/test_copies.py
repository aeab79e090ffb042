"""A compaction spares what one wrote already where old snapshots hold copies enough; a census agrees."""

from __future__ import annotations

from frazil.spec.upkeep import Upkeep
from frazil.tables.metadata.files import LiveFile
from frazil.upkeep.compaction.bins import Rule, gain_of
from frazil.upkeep.compaction.plan import Copies, Plan, plan_bins
from frazil.upkeep.work import MB

RULE = Rule.of(Upkeep(), 128 * MB)
COMPACTION, LANDING = 1, 2
"""Snapshots."""


def made_by(snapshot: int, *megabytes: float, partition: str = "a", deleted: int = 0) -> list[LiveFile]:
    return [
        LiveFile(
            f"{partition}-{snapshot}-{n}",
            int(size * MB),
            100,
            (partition,),
            0,
            n,
            deleted,
            snapshot_id=snapshot,
        )
        for n, size in enumerate(megabytes)
    ]


def planned(files: list[LiveFile], copies: float, **more: bool) -> Plan:
    return plan_bins(files, 0, RULE, Copies(int(copies * MB), frozenset({COMPACTION})), **more)


def taken(plan: Plan) -> list[float]:
    """Megabytes of the files that are rewritten."""
    return [f.bytes / MB for bins in plan.bins.values() for b in bins for f in b.files]


def test_while_copies_are_few_a_compaction_takes_what_the_last_one_left() -> None:
    files = [*made_by(COMPACTION, 20), *made_by(LANDING, 1, 1)]

    plan = planned(files, copies=100)

    assert (sorted(taken(plan)), plan.thrifty) == ([1, 1, 20], False)
    assert plan.bins == plan_bins(files, 0, RULE).bins


def test_where_one_more_copy_is_too_much_only_new_files_are_put_together() -> None:
    files = [*made_by(COMPACTION, 20), *made_by(LANDING, 1, 1)]

    plan = planned(files, copies=107)

    assert (taken(plan), plan.thrifty) == ([1, 1], True)
    assert (plan.copies, plan.allowed) == (107 * MB, 128 * MB)
    assert gain_of(plan.bins[("a",)], RULE).saved == 1


def test_a_large_table_may_have_copies_of_a_share_of_its_bytes() -> None:
    good = made_by(LANDING, *[128.0] * 10)

    assert planned(good, 0).allowed == int(0.4 * 1280 * MB)


def test_what_compacted_long_ago_is_taken_once_as_much_came_as_it_holds() -> None:
    old, enough = made_by(0, 20), 500

    assert taken(planned([*old, *made_by(LANDING, *[1] * 19)], enough)) == [1] * 19
    assert sorted(taken(planned([*old, *made_by(LANDING, *[1] * 20)], enough))) == [*[1] * 20, 20]


def test_a_file_that_lost_rows_or_is_too_large_is_never_spared() -> None:
    files = [*made_by(COMPACTION, 90, deleted=40), *made_by(COMPACTION, 600, partition="b")]

    assert sorted(taken(planned(files, copies=5000))) == [90, 600]


def test_bytes_that_are_left_go_to_the_partition_where_they_save_most_files() -> None:
    files = [
        *made_by(COMPACTION, 30, 30, partition="few"),
        *made_by(COMPACTION, *[2] * 30, partition="many"),
    ]

    plan = planned(files, copies=60)

    assert ({key: len(bins) for key, bins in plan.bins.items()}, plan.thrifty) == (
        {("few",): 0, ("many",): 1}, True,
    )  # fmt: skip


def test_everything_is_everything() -> None:
    files = made_by(COMPACTION, 20, 20, 128)

    assert taken(planned(files, copies=5000)) == []
    assert sorted(taken(planned(files, copies=5000, everything=True))) == [20, 20, 128]
