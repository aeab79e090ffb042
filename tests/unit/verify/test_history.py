"""When versions of rows held, by the verifier, beside what a list of changes says: docs/cdc.md."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Any

import numpy as np
import pytest

from frazil_verify.changes.truncates import Truncate, emptied
from frazil_verify.comparison import Comparison, Scope
from frazil_verify.entries import DELETE, ENTRY, GOOD, NO_LSN, TOMBSTONE, Entries, digest
from kit.records.versions import Sent, Version, versions_of

PARTITIONS = (0, 1)
WHOLE = Scope(dict.fromkeys(PARTITIONS, (0, 100)), dict.fromkeys(PARTITIONS, (0, 100)))
SHORT = Scope(WHOLE.landed, {0: (5, 100), 1: (0, 100)})
KINDS = {"c": GOOD, "d": DELETE, None: TOMBSTONE}


def drawn(number: int) -> list[Sent]:
    """Changes of three keys in two partitions, with clocks that go back, and truncates."""
    chance = Random(number)
    made = []
    for offset in range(24):
        op = chance.choice(("c", "c", "c", "d", None, "t" if number % 2 else "c"))
        key = "" if op == "t" else chance.choice("abc")
        made.append(
            Sent(key, chance.choice(PARTITIONS), offset, chance.randrange(30), op, chance.randrange(30))
        )
    return made


def records(sent: Iterable[Sent]) -> tuple[Entries, list[Truncate]]:
    changes = [
        (digest((s.key,)), b"r", s.offset, s.stamped, s.partition, KINDS[s.op], b"r", b"", s.time)
        for s in sent
        if s.op != "t"
    ]
    truncates = [Truncate(s.partition, s.offset, s.stamped, s.time) for s in sent if s.op == "t"]
    return np.array(changes, ENTRY), truncates


def rows(versions: Iterable[Version]) -> Entries:
    made = [
        (digest((key,)), b"r", offset, 0, partition, GOOD, b"r", digest(valid), NO_LSN)
        for key, partition, offset, *valid in versions
        for valid in [tuple(valid)]
    ]
    return np.array(made, ENTRY)


def compared(sent: list[Sent], shown: Iterable[Version], scope: Scope = WHOLE) -> tuple[list[Any], int]:
    changes, truncates = records(sent)
    comparison = Comparison(scope, truncates=truncates)
    findings = [(f.kind, f.partition, f.offset) for f in comparison.of_versions(changes, rows(shown))]
    return findings, comparison.unverifiable


@pytest.mark.parametrize("number", range(40))
def test_versions_hold_when_a_list_of_changes_says(number: int) -> None:
    sent = drawn(number)
    versions = sorted(versions_of(sent), key=lambda version: version[1:3])
    key, partition, offset, since, until, _ = versions[number % len(versions)]
    others = [each for each in versions if each[1:3] != (partition, offset)]
    longer = (key, partition, offset, since, None if until is not None else since + 99, until is not None)

    assert compared(sent, versions) == ([], 0)
    assert compared(sent, others) == ([("missing", partition, offset)], 0)
    assert compared(sent, [*others, longer]) == ([("altered", partition, offset)], 0)


def test_where_records_are_gone_it_is_not_judged_when_versions_held() -> None:
    sent = [Sent("a", 0, 6, 10, None), Sent("a", 0, 7, 20, "c"), Sent("b", 0, 8, 30, "c")]
    shown: list[Version] = [("a", 0, 7, 25, None, True), ("b", 0, 8, 30, None, True)]

    assert compared(sent, shown, SHORT) == ([], 1)
    assert compared(sent, shown[:1], SHORT) == ([("missing", 0, 8)], 1)


def test_a_truncate_of_another_partition_leaves_keys_that_are_not_judged() -> None:
    changes, truncates = records([
        Sent("a", 0, 1, 5, "c"), Sent("b", 1, 2, 5, "c"), Sent("c", 1, 3, 9, "c"), Sent("", 0, 4, 7, "t"),
        Sent("a", 0, 5, 8, "c"), Sent("d", 0, 3, 6, "c"),
    ])  # fmt: skip

    known, others = emptied(changes, truncates, marks=False)

    kinds = {(each["partition"], each["offset"]): each["kind"] for each in known}
    assert kinds == {(0, 1): DELETE, (0, 3): DELETE, (0, 5): GOOD, (1, 3): GOOD}
    assert [each["offset"] for each in others] == [2]
    marked = {each["offset"] for each in emptied(changes, truncates, marks=True)[1]}
    assert marked == {2, 3}
    by_log = {each["offset"] for each in emptied(changes, truncates, marks=True, by_log=True)[1]}
    assert by_log == {1, 2, 3, 5}
