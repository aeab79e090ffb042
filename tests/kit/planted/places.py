"""Faults of whole rows: gone, doubled, of another place, of another key, or of a bad record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from random import Random
from typing import Any

from kit.planted.columns import Values
from kit.planted.faults import Found, Plant, finding, pick, place_of
from kit.planted.tables import Case
from kit.planted.topics import Place, Sent


def row_gone(case: Case, chance: Random) -> list[Found]:
    row = case.last.pop(chance.randrange(len(case.last)))
    return [finding("missing", place_of(row))]


def row_doubled(case: Case, chance: Random) -> list[Found]:
    row = chance.choice(case.last)
    case.last.insert(chance.randrange(len(case.last)), deepcopy(row))
    return [finding("doubled", place_of(row))]


def doubled_and_altered(case: Case, chance: Random) -> list[Found]:
    row = deepcopy(chance.choice(case.last))
    row["name"] += "!"
    case.last.insert(chance.randrange(len(case.last)), row)
    return [finding("doubled", place_of(row))]


def rows_of_a_landing_gone(case: Case, chance: Random) -> list[Found]:
    end, of_first = case.topic.ends[1], chance.random() < 0.5
    parts: tuple[list[Values], list[Values]] = [], []
    for row in case.last:
        parts[(row["$$offset"] < end[row["$$partition"]]) == of_first].append(row)
    case.last[:], gone = parts
    return [finding("missing", place_of(row)) for row in gone]


def rows_of_a_partition_doubled(case: Case, chance: Random) -> list[Found]:
    partition = chance.randrange(2)
    again = [deepcopy(row) for row in case.last if row["$$partition"] == partition]
    case.last.extend(again)
    return [finding("doubled", place_of(row)) for row in again]


def moved_into_a_gap(case: Case, chance: Random) -> list[Found]:
    gaps = case.topic.gaps
    row = chance.choice(case.last)
    if not gaps:
        return []
    before, (row["$$partition"], row["$$offset"]) = place_of(row), chance.choice(gaps)
    lost = [finding("missing", before)] if case.shape.mode == "append" else []
    return [*lost, finding("baseless", place_of(row))]


def of_another_partition(case: Case, chance: Random) -> list[Found]:
    taken = {record.place for record in case.topic.records}
    row = pick(case.last, chance, lambda r: (1 - r["$$partition"], r["$$offset"]) not in taken)
    if row is None:
        return []
    before, row["$$partition"] = place_of(row), 1 - row["$$partition"]
    lost = [finding("missing", before)] if case.shape.mode == "append" else []
    return [*lost, finding("baseless" if place_of(row) in case.topic.gaps else "outside", place_of(row))]


def of_no_partition(case: Case, chance: Random) -> list[Found]:
    row = chance.choice(case.last)
    before, row["$$partition"] = place_of(row), 7
    lost = [finding("missing", before)] if case.shape.mode == "append" else []
    return [*lost, finding("outside", place_of(row))]


def without_reason(case: Case, chance: Random) -> list[Found]:
    gaps = case.topic.gaps
    if not gaps:
        return []
    place = chance.choice(gaps)
    case.last.append(_at(deepcopy(chance.choice(case.last)), place, "nobody"))
    return [finding("baseless", place)]


def behind_the_position(case: Case, chance: Random) -> list[Found]:
    """A row of a record that no landing has taken yet."""
    record = chance.choice(case.topic.waiting)
    if case.shape.mode != "append" and record.key in {r.key for r in case.topic.landed}:
        return []
    case.last.append(deepcopy(record.row))
    return [finding("outside", record.place)]


def of_a_bad_record(case: Case, chance: Random) -> list[Found]:
    bad = [record for record in case.topic.landed if record.kind == "bad"]
    if not bad:
        return []
    place = chance.choice(bad).place
    case.last.append(_at(deepcopy(chance.choice(case.last)), place, "nobody"))
    return [finding("bad", place)]


def _at(row: Values, place: Place, key: str) -> Values:
    row["$$partition"], row["$$offset"] = place
    row["key"] = key
    return row


def _older(case: Case, record: Sent) -> list[Sent]:
    """Changes of the same key before one, each of which made a row."""
    same = [r for r in case.topic.landed if r.key == record.key and r.kind == "good"]
    return [r for r in same if r.offset < record.offset]


def older_version(case: Case, chance: Random) -> list[Found]:
    newest = {r.place: r for r in case.topic.newest().values()}
    row = pick(case.last, chance, lambda row: _older(case, newest[place_of(row)]))
    if row is None:
        return []
    older = chance.choice(_older(case, newest[place_of(row)]))
    row.clear()
    row.update(deepcopy(older.row))
    return [finding("superseded", older.place)]


def older_version_beside(case: Case, chance: Random) -> list[Found]:
    newest = {r.place: r for r in case.topic.newest().values()}
    row = pick(case.last, chance, lambda row: _older(case, newest[place_of(row)]))
    if row is None:
        return []
    older = chance.choice(_older(case, newest[place_of(row)]))
    case.last.insert(chance.randrange(len(case.last)), deepcopy(older.row))
    return [finding("doubled", older.place)]


def delete_undone(case: Case, chance: Random) -> list[Found]:
    gone = [r for r in case.topic.newest().values() if r.kind == "delete" and _older(case, r)]
    if not gone:
        return []
    record = chance.choice(_older(case, chance.choice(gone)))
    case.last.append(deepcopy(record.row))
    return [finding("undeleted", record.place)]


def deleted_key_kept(case: Case, chance: Random) -> list[Found]:
    """The row is of the delete itself."""
    gone = [r for r in case.topic.newest().values() if r.kind == "delete"]
    if not gone:
        return []
    record = chance.choice(gone)
    case.last.append(deepcopy(record.row))
    return [finding("undeleted", record.place)]


def key_of_nobody(case: Case, chance: Random) -> list[Found]:
    row = chance.choice(case.last)
    row["key"] = "nobody"
    return [finding("missing", place_of(row)), finding("out_of_place", place_of(row))]


def keys_exchanged(case: Case, chance: Random) -> list[Found]:
    if len(case.last) < 2:
        return []
    one, other = chance.sample(case.last, 2)
    one["key"], other["key"] = other["key"], one["key"]
    return [finding("out_of_place", place_of(row)) for row in (one, other)]


ROWS: Mapping[str, Plant] = {
    "a row gone": row_gone,
    "a row doubled": row_doubled,
    "a row doubled, one of them altered": doubled_and_altered,
    "the rows of a landing gone": rows_of_a_landing_gone,
    "the rows of a partition doubled": rows_of_a_partition_doubled,
    "an offset shifted": moved_into_a_gap,
    "a partition exchanged": of_another_partition,
    "a partition that the topic lacks": of_no_partition,
    "a row without a reason": without_reason,
    "a row of a record behind the position": behind_the_position,
    "a bad record that became a row": of_a_bad_record,
}
KEYS: Mapping[str, Plant] = {
    "an older version": older_version,
    "an older version beside the newest": older_version_beside,
    "a delete undone": delete_undone,
    "a deleted key kept": deleted_key_kept,
    "a key that nobody has": key_of_nobody,
    "two keys exchanged": keys_exchanged,
}


_VALIDITY = ("$$valid-from", "$$valid-to", "$$current")


def validity(fits: Callable[[Values], Any], change: Callable[[Values], Values]) -> Plant:
    """Another time in which a version held."""

    def plant(case: Case, chance: Random) -> list[Found]:
        row = pick(case.last, chance, fits)
        if row is None:
            return []
        row.update(change(row))
        return [finding("altered", place_of(row), *_VALIDITY)]

    return plant


def _ended(row: Values) -> bool:
    return row["$$op"] != "d" and not row["$$current"]


def values_of_another_version(case: Case, chance: Random) -> list[Found]:
    row = pick(case.last, chance, lambda row: row["$$op"] != "d")
    others = [r for r in case.last if row and r["key"] == row["key"] and r["$$op"] != "d"]
    if row is None or not (other := pick(others, chance, lambda r: r["amount"] != row["amount"])):
        return []
    row["amount"] = other["amount"]
    return [finding("altered", place_of(row), "amount")]


def delete_without_its_version(case: Case, chance: Random) -> list[Found]:
    row = pick(case.last, chance, lambda row: row["$$op"] == "d")
    if row is None:
        return []
    case.last.remove(row)
    return [finding("missing", place_of(row))]


VERSIONS: Mapping[str, Plant] = {
    "a version that did not end": validity(_ended, lambda row: {"$$valid-to": None, "$$current": True}),
    "a version that ended early": validity(_ended, lambda row: {"$$valid-to": row["$$valid-to"] - 1}),
    "a version that ended with the last": validity(
        lambda row: row["$$current"], lambda row: {"$$valid-to": row["$$valid-from"] + 1, "$$current": False}
    ),
    "a version that begins late": validity(_ended, lambda row: {"$$valid-from": row["$$valid-from"] + 1}),
    "a version that is not current": validity(lambda row: row["$$current"], lambda _: {"$$current": False}),
    "the values of another version": values_of_another_version,
    "a version gone": row_gone,
    "a version doubled": row_doubled,
    "a delete without its version": delete_without_its_version,
    "a version of nobody": key_of_nobody,
}
