"""Of each guard a round that is broken without it."""

from __future__ import annotations

__all__ = ["SEEDS"]

SEEDS: dict[str, int] = {
    "commits are bound to the head of main": 37,
    "a branch is published as it was audited": 77,
    "a lost answer is looked for": 16,
    "no file is deleted before the outcome is known": 21,
    "a landing follows the position that it was planned from": 1,
    "what was read is what the topic holds": 3,
    "the files hold the rows that were counted": 3,
    "the copy of the position counts only while main has not gone back behind it": 23,
    "a compaction ends a copy of a position that main does not hold": 389,
    "the topic that was read is the one that was planned": 4,
    "branches of dead works go after six hours": 23,
    "a landing drops the branches of those it overtook": 50,
    "who gives up leaves no branch": 34,
    "a redrive looks at the head that it is bound to": 1,
    "a redrive is dropped where the position went back": 1,
    "of two landings one keeps the dead letters": 4,
    "dead letters that a dead landing kept are not kept again": 1,
    "dead letters are kept before the landing is visible": 1,
    "a snapshot expires only while no branch comes to name it": 15,
    "files without a branch are published while no orphan removal can have taken them": 1,
    "a compaction is put upon files that are still there": 1,
    "a compaction is dropped where rows were deleted since": 1,
    "a branch whose answer was lost is found made": 44,
    "what a compaction wrote is counted": 4,
    "files of a work that has not yet named them are no orphans": 158,
    "the rows of a redrive are counted": 4,
    "a merge replaces files that are still there": 5,
    "a merge is dropped where rows were deleted since": 97,
    "a merge is put upon the line that it was merged with": 149,
}
"""Seeds, tried first; others follow where the round changed."""
