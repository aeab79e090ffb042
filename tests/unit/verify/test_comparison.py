"""Faults that are planted among entries are found, each by its kind; where none are, none are found."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from frazil_verify.comparison import Comparison, Scope
from frazil_verify.entries import BAD, DELETE, ENTRY, GOOD, LARGE, NO_LSN, SKIPPED, Buckets, Entries, digest

SCOPE = Scope(landed={0: (0, 100), 1: (10, 90)}, kept={0: (0, 120), 1: (20, 120)})


def entries(*made: tuple[Any, ...]) -> Entries:
    """Of identity, row, offset, time, partition and kind; older rows are the same."""
    return np.array([(*each, each[1], b"", NO_LSN) for each in made], ENTRY)


@dataclass
class Made:
    """Records and rows that belong together, until something is planted."""

    records: list[tuple[Any, ...]] = field(default_factory=list)
    rows: list[tuple[Any, ...]] = field(default_factory=list)

    def compared(self, *, keyed: bool) -> Counter[str]:
        comparison = Comparison(SCOPE)
        compare = comparison.of_keyed if keyed else comparison.of_appended
        records, rows = entries(*self.records), entries(*self.rows)
        return Counter(each.kind for each in compare(records, rows))


def appended(chance: random.Random) -> Made:
    made = Made()
    for partition, (first, last) in {0: (0, 100), 1: (20, 90)}.items():
        for offset in range(first, last):
            kind = chance.choice([GOOD] * 8 + [BAD, SKIPPED])
            row = digest((partition, offset, chance.random()))
            entry = (b"", row, offset, 0, partition, kind)
            made.records.append(entry)
            if kind == GOOD:
                made.rows.append(entry)
    chance.shuffle(made.rows)
    return made


def keyed(chance: random.Random) -> Made:
    made, newest = Made(), {}
    for partition, offset in [(p, o) for p in (0, 1) for o in range(20, 90)]:
        name, kind = chance.randrange(30), chance.choice([GOOD] * 4 + [DELETE, DELETE, BAD])
        key = digest((partition, name))  # a key stays in its partition
        entry = (key, digest((partition, offset)), offset, chance.randrange(50), partition, kind)
        made.records.append(entry)
        if kind != BAD:
            newest[key] = entry
    made.rows = [entry for entry in newest.values() if entry[-1] == GOOD]
    return made


Plant = Callable[[Made, random.Random], str]
"""Plants a fault, and says of which kind it is."""


def _row(made: Made, chance: random.Random) -> int:
    return chance.randrange(len(made.rows))


def remove(made: Made, chance: random.Random) -> str:
    del made.rows[_row(made, chance)]
    return "missing"


def double(made: Made, chance: random.Random) -> str:
    made.rows.append(made.rows[_row(made, chance)])
    return "doubled"


def alter(made: Made, chance: random.Random) -> str:
    at = _row(made, chance)
    key, _, *rest = made.rows[at]
    made.rows[at] = (key, digest(("other",)), *rest)
    return "altered"


def invent(made: Made, chance: random.Random) -> str:
    made.rows.append((digest(("nobody",)), digest((1,)), 200, 0, 0, GOOD))
    return "outside"


def take_in_bad(made: Made, chance: random.Random) -> str:
    bad = chance.choice([each for each in made.records if each[-1] == BAD])
    made.rows.append((*bad[:-1], GOOD))
    return "bad"


def keep_deleted(made: Made, chance: random.Random) -> str:
    keys = {row[0] for row in made.rows}
    gone = [each for each in made.records if each[-1] == DELETE and each[0] not in keys]
    made.rows.append((*chance.choice(gone)[:-1], GOOD))
    return "undeleted"


def fall_behind(made: Made, chance: random.Random) -> str:
    for at in chance.sample(range(len(made.rows)), len(made.rows)):
        key, _, offset, *_ = made.rows[at]
        older = [r for r in made.records if r[0] == key and r[2] < offset and r[-1] == GOOD]
        if older:
            made.rows[at] = older[0]
            return "superseded"
    raise AssertionError("no key has an older change")


@pytest.mark.parametrize("seed", range(10))
def test_what_belongs_together_agrees(seed: int) -> None:
    chance = random.Random(seed)

    assert not appended(chance).compared(keyed=False)
    assert not keyed(chance).compared(keyed=True)


@pytest.mark.parametrize("plant", [remove, double, alter, invent, take_in_bad])
@pytest.mark.parametrize("seed", range(10))
def test_a_fault_among_appended_rows_is_found_by_its_kind(seed: int, plant: Plant) -> None:
    chance = random.Random(seed)
    made = appended(chance)

    kind = plant(made, chance)

    assert made.compared(keyed=False) == {kind: 1}


@pytest.mark.parametrize("plant", [remove, double, alter, invent, keep_deleted, fall_behind])
@pytest.mark.parametrize("seed", range(10))
def test_a_fault_among_rows_by_key_is_found_by_its_kind(seed: int, plant: Plant) -> None:
    chance = random.Random(seed)
    made = keyed(chance)

    kind = plant(made, chance)

    assert made.compared(keyed=True) == {kind: 1}


def test_rows_of_records_that_the_topic_lost_are_counted_and_no_finding() -> None:
    comparison = Comparison(SCOPE)
    row = entries((b"", digest((1,)), 15, 0, 1, GOOD))

    assert not list(comparison.of_appended(row[:0], row))
    assert comparison.unverifiable == 1


def test_rows_of_records_that_compaction_may_have_taken_are_counted_and_no_finding() -> None:
    comparison = Comparison(Scope(SCOPE.landed, SCOPE.kept, compacts=True))
    row = entries((digest(("k",)), digest((1,)), 50, 0, 1, GOOD))
    newer = entries((digest(("k",)), digest((2,)), 60, 0, 1, GOOD))

    assert not list(comparison.of_appended(row[:0], row))
    assert not list(comparison.of_keyed(row[:0], row))
    assert comparison.unverifiable == 2
    assert [each.kind for each in comparison.of_keyed(newer, row)] == ["superseded"]


def test_records_that_a_row_expiry_may_have_taken_are_counted_and_no_finding() -> None:
    comparison = Comparison(Scope(SCOPE.landed, SCOPE.kept, expired_before=1000))
    records = entries(*((b"", b"", at, time, 0, GOOD) for at, time in ((1, 999), (2, 1000))))

    findings = list(comparison.of_appended(records, records[:0]))

    assert [(each.kind, each.offset) for each in findings] == [("missing", 2)]
    assert comparison.expired == 1


@pytest.mark.parametrize("keyed", [False, True])
def test_a_record_that_is_too_large_is_a_row_or_bad(keyed: bool) -> None:
    """It is a row if more was allowed when it was landed; then it is compared as others are."""
    key, other = digest(("k",)), digest(("o",))
    records = entries(
        (key, b"a", 1, 0, 0, GOOD), (key, b"b", 2, 0, 0, LARGE), (other, b"c", 3, 0, 0, LARGE),
        (other, b"d", 4, 0, 0, GOOD),
    )  # fmt: skip
    older, large, newer = ((*each[:5], GOOD) for each in records[[0, 1, 3]].tolist())
    compare = Comparison.of_keyed if keyed else Comparison.of_appended

    def outcome(*rows: Any) -> tuple[list[str], list[int]]:
        comparison = Comparison(SCOPE)
        kinds = [each.kind for each in compare(comparison, records, entries(*rows))]
        return kinds, [offset for _, offset in comparison.unlanded]

    assert outcome(older, newer) == ([], [2] if keyed else [2, 3])
    landed = (large, newer) if keyed else (older, large, newer)
    assert outcome(*landed) == ([], [] if keyed else [3])
    changed = (key, b"x", *large[2:])
    assert outcome(*landed[:-2], changed, newer)[0] == ["altered"]
    assert outcome(newer)[0] == ["missing"]


def test_entries_come_back_from_the_bucket_that_they_were_put_into(tmp_path: Path) -> None:
    buckets = Buckets(tmp_path / "entries", 3)
    for number in range(20_000):
        buckets.add(number, (b"", digest((number,)), number, 0, 0, GOOD, b"", b"", NO_LSN))

    buckets_read: list[Entries] = [buckets.entries(bucket) for bucket in range(3)]

    assert sorted(np.concatenate(buckets_read)["offset"].tolist()) == list(range(20_000))
    assert all((entries["offset"] % 3 == bucket).all() for bucket, entries in enumerate(buckets_read))
