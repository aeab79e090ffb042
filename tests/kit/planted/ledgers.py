"""Faults in what a table says of itself: positions, counts, and its dead letters."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from kit.planted.faults import COUNT, Found, Plant, finding, place_of
from kit.planted.tables import Case, landed_rows


def position_ahead(case: Case, chance: Random) -> list[Found]:
    """The position says that waiting records are landed."""
    partition = chance.randrange(2)
    case.spans[1][partition] = case.spans[1][partition][0], case.topic.ends[3][partition]
    waiting = [r for r in case.topic.waiting if r.partition == partition]
    if case.shape.mode == "append":
        return [finding("missing", record.place) for record in waiting]
    rows = {row["key"]: place_of(row) for row in case.last}
    newest = {record.row["key"]: record for record in waiting}
    return [
        finding("superseded", rows[key]) if key in rows else finding("missing", record.place)
        for key, record in newest.items()
    ]


def position_behind(case: Case, chance: Random) -> list[Found]:
    """The position leaves records out whose rows are there."""
    rows = [row for row in case.last if row["$$offset"] >= case.topic.ends[1][row["$$partition"]]]
    if not rows:
        return []
    partition, offset = place_of(chance.choice(rows))
    if case.shape.mode != "append" and _deletes(case, partition, offset):
        return []
    case.spans[1][partition] = case.spans[1][partition][0], offset
    return [
        finding("outside", place_of(row))
        for row in rows
        if row["$$partition"] == partition and row["$$offset"] >= offset
    ]


def _deletes(case: Case, partition: int, offset: int) -> bool:
    """Whether a delete, without which a key would have a row, is behind an offset."""
    kinds = [(r.partition == partition and r.offset >= offset, r.kind) for r in case.topic.landed]
    return (True, "delete") in kinds


def ledger_skips(case: Case, chance: Random) -> list[Found]:
    return _begins(case, chance.randrange(2), 1)


def ledger_overlaps(case: Case, chance: Random) -> list[Found]:
    return _begins(case, chance.randrange(2), -1)


def _begins(case: Case, partition: int, by: int) -> list[Found]:
    start, end = case.spans[1][partition]
    case.spans[1][partition] = start + by, end
    return [finding("ledger", (partition, start + by))]


def claims_another_number(case: Case, chance: Random) -> list[Found]:
    if case.shape.mode != "append":
        return []
    landing = chance.randrange(2)
    count = len(landed_rows(case, landing))
    case.claimed[landing] = count + chance.choice((-1, 1))
    return [COUNT]


def bad_records_not_counted(case: Case, chance: Random) -> list[Found]:
    if not case.counted["bad"] or case.shape.letters:
        return []
    case.counted["bad"] -= 1
    return [finding("unaccounted", (-1, -1))]


def letter_of_a_row(case: Case, chance: Random) -> list[Found]:
    place = place_of(chance.choice(case.last))
    case.letters.append(place)
    return [finding("letter_landed", place)]


def letter_gone(case: Case, chance: Random) -> list[Found]:
    if not case.letters:
        return []
    return [finding("letter_missing", case.letters.pop(chance.randrange(len(case.letters))))]


def letter_in_the_place_of_a_row(case: Case, chance: Random) -> list[Found]:
    row = case.last.pop(chance.randrange(len(case.last)))
    case.letters.append(place_of(row))
    case.counted["bad"] += 1
    case.counted["dead-letters"] += 1
    return [finding("set_aside", place_of(row))]


def compaction_lost_a_row(case: Case, chance: Random) -> list[Found]:
    row = case.shown.pop(chance.randrange(len(case.shown)))
    return [finding("missing", place_of(row))]


LEDGERS: Mapping[str, Plant] = {
    "a position ahead": position_ahead,
    "a position behind": position_behind,
    "a ledger that skips": ledger_skips,
    "a ledger that overlaps": ledger_overlaps,
}
COUNTS: Mapping[str, Plant] = {
    "a ledger that counts other rows": claims_another_number,
    "bad records that are not counted": bad_records_not_counted,
}
LETTERS: Mapping[str, Plant] = {
    "a dead letter that is a row": letter_of_a_row,
    "a dead letter gone": letter_gone,
    "a dead letter in the place of a row": letter_in_the_place_of_a_row,
}
COMPACTIONS: Mapping[str, Plant] = {"a compaction that lost a row": compaction_lost_a_row}
