"""Of each guard a round that is broken without it; one that has none here is missed in the first round.

Work on the model or the engine changes rounds: `pytest tests/faults/test_guards.py -s` prints those
of today, and takes a minute more where these are old.
"""

from __future__ import annotations

__all__ = ["SEEDS"]

SEEDS: dict[str, int] = {
    "commits are bound to the head of main": 9,
    "a lost answer is looked for": 9,
    "no file is deleted before the outcome is known": 1,
    "files without a branch are published while no orphan removal can have taken them": 1,
    "files of a merge without a branch are published while no orphan removal can have taken them": 10,
    "the copy of the position counts only while main has not gone back behind it": 23,
    "a landing follows the position that it was planned from": 2,
    "what was read is what the topic holds": 3,
    "the files hold the rows that were counted": 3,
    "the topic that was read is the one that was planned": 4,
    "of two landings one keeps the dead letters": 1,
    "dead letters that a dead landing kept are not kept again": 22,
    "dead letters are kept before the landing is visible": 1,
    "a merge replaces files that are still there": 11,
    "a merge is dropped where rows were deleted since": 48,
    "a merge is put on the line that it was merged with": 94,
    "the rows that a merge keeps are counted": 23,
    "the rows that a merge keeps by columns are counted": 2,
    "the rows that one job decodes and merges are counted": 7,
    "a landing that would go past a cut is dropped": 43,
    "a cut begins where no table is past it": 240,
    "a redrive looks at the head that it is bound to": 1,
    "a redrive is dropped where the position went back": 1,
    "a redrive is dropped where rows were taken out since": 42,
    "the rows of a redrive are counted": 4,
    "a replay is of the topic that the table is of": 1,
    "the topic that a replay read is the one that was planned": 3,
    "what a replay read is what the topic holds": 15,
    "what a replay keeps of a file is counted": 37,
    "a replay brings back no row that was taken out": 1,
    "a replay is refused where another engine deleted rows, at each head that it meets": 1,
    "a replay brings back no more rows than were ever left out": 8,
    "a replay is dropped where rows were deleted since": 20,
    "a replay replaces files that are still there": 4,
    "a replay is dropped where others changed the same rows": 10,
    "a replay is dropped where main went back": 62,
    "a compaction ends a copy of a position that main does not hold": 73,
    "a snapshot expires only while no branch comes to name it": 46,
    "a compaction is put on files that are still there": 1,
    "a compaction is dropped where rows were deleted since": 1,
    "what a compaction wrote is counted": 2,
    "what a compaction by columns wrote is counted": 2,
    "files of a compaction by columns are put in place while no orphan removal can have taken them": 1,
    "what stays of files is put in place while no orphan removal can have taken it": 29,
    "what stays of files is put in place only while these are there": 24,
    "rows to be forgotten are looked for in the head that the commit is bound to": 76,
    "a redrive is dropped where rows were looked for to be forgotten since": 1,
    "a replay is dropped where rows were looked for to be forgotten since": 60,
    "a derivation is dropped where rows of its inputs were forgotten since": 1,
    "a derivation is dropped where rows of its own table were forgotten since": 23,
    "what is made of a table is looked for once its own rows are forgotten": 2,
}
