"""Envelopes by columns: the verdict on each record, and its row, are what their texts say."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from frazil.exact import values_of
from kit.records.debezium_records import Debezium
from kit.records.envelopes import AT, SEEN

MARK = "__debezium_unavailable_value"
LAST = 253_402_300_799_999
INFINITY = 9223372036825200000
Raw = tuple[bytes | None, bytes | None]


def row(**other: Any) -> dict[str, Any]:
    return {"key": "k", "quantity": 5, "note": "n", "at": AT, "seen": SEEN, **other}


WAYS = pytest.mark.parametrize("written", ["avro", "json", "embedded"])
Made = Callable[[Debezium], Raw]
CASES: list[tuple[Made, str]] = [
    (lambda s: (s.key("k"), s.change("c", row())), "put"),
    (lambda s: (s.key("k"), s.change("r", row(note=None, at=None, seen=None))), "put"),
    (lambda s: (s.key("k"), s.change("u", row(), row())), "put"),
    (lambda s: (s.key("k"), s.change("d", None, row())), "delete"),
    (lambda s: (s.key("k"), s.change("d", None, row(note=MARK))), "delete"),
    (lambda s: (s.key("k"), s.change("d", row(note=MARK))), "delete"),
    (lambda s: (s.key("k"), None), "delete"),
    (lambda s: (None, s.change("t", None)), "truncate"),
    (lambda s: (s.key("k"), s.change("t", None)), "truncate"),
    (lambda s: (s.key("k"), s.change("u", None)), "no_row"),
    (lambda s: (s.key("k"), s.change("c", None, row())), "no_row"),
    (lambda s: (s.key("k"), s.change("x", row())), "operation x"),
    (lambda s: (s.key("k"), s.change("", None)), "operation "),
    (lambda s: (s.key("k"), s.change("C", row())), "operation C"),
    (lambda s: (s.key("k"), s.change("u", row(note=MARK))), "unavailable_value note"),
    (lambda s: (s.key("k"), s.change("u", row(key=MARK, note=MARK))), "unavailable_value key"),
    (lambda s: (s.key("k"), s.change("u", row(at=INFINITY))), "infinity at"),
    (lambda s: (s.key("k"), s.change("r", row(at=-9223372036832400000))), "infinity at"),
    (lambda s: (s.key("k"), s.change("u", row(at=INFINITY, note=MARK))), "unavailable_value note"),
    (lambda s: (s.key("k"), s.change("u", row())[:-1]), "bad"),
    (lambda s: (s.key("k"), s.change("u", row(seen="yesterday"))), "bad"),
    (lambda s: (s.key("k"), b"\1nothing"), "bad"),
    (lambda s: (s.key("k")[:-1], s.change("u", row())), "bad key"),
    (lambda s: (b"", s.change("t", None)), "bad key"),
    (lambda s: (None, s.change("u", row())), "no key"),
    (lambda s: (None, s.change("d", None)), "no key"),
    (lambda s: (None, None), "no key"),
]
"""Records, and what each of them is."""

GOOD = ("put", "delete", "truncate")
OF_OTHERS = ("bad", "bad key", "no key")


@WAYS
def test_each_record_gets_its_verdict_and_its_reason(written: str) -> None:
    source = Debezium(written)

    batch = source.decoded([made(source) for made, _ in CASES])

    expected = [what for _, what in CASES]
    assert batch.ok.tolist() == [what in GOOD for what in expected]
    assert batch.bad.tolist() == [what not in GOOD for what in expected]
    assert batch.change
    faults = [None if what in (*GOOD, *OF_OTHERS) else what for what in expected]
    assert values_of(batch.change.fault) == faults
    assert batch.change.truncates.tolist() == [
        what == "truncate" or n == 23 for n, what in enumerate(expected)
    ]


@WAYS
def test_in_the_place_of_the_envelope_stands_the_row_and_a_delete_has_none(written: str) -> None:
    source = Debezium(written)
    raws = [
        (source.key("a"), source.change("c", row(key="other"), lsn=None)),
        (source.key("b"), source.change("d", None, row(), ts_ms=-62_135_596_800_001)),
        (
            source.key("c"),
            source.change("u", row(note=None, quantity=7), ts_ms=LAST, lsn=2**63 - 1),
        ),
        (source.key("bad"), source.change("u", row())[:-1]),
        (source.key("d"), None),
    ]

    batch = source.decoded(raws)
    columns = {name: values_of(array) for name, array in batch.columns().items()}

    moment = 1_759_992_800_500_000  # 2025-10-09T06:53:20.5Z
    assert columns == {
        "key": ["a", "b", "c", "d"],
        "quantity": [5, None, 7, None],
        "note": ["n", None, None, None],
        "at": [AT, None, AT, None],
        "seen": [moment, None, moment, None],
    }
    assert batch.change
    assert values_of(batch.change.op) == ["c", "d", "u", None, None]
    assert values_of(batch.change.time) == [1_760_000_000_123_000, None, LAST * 1000, None, None]
    assert values_of(batch.change.lsn) == [None, 77, 2**63 - 1, None, None]


@WAYS
def test_tombstones_that_are_to_be_left_out_are_neither_rows_nor_bad(written: str) -> None:
    source = Debezium(written, on_null_value="skip")

    batch = source.decoded(
        [(source.key("k"), None), (None, None), (source.key("k"), source.change("d", None))]
    )

    assert (batch.ok.tolist(), batch.bad.tolist()) == ([False, False, True], [False, False, False])


@WAYS
@pytest.mark.parametrize("seed", range(3))
def test_drawn_changes_among_damaged_ones_are_what_was_sent(written: str, seed: int) -> None:
    source, chance = Debezium(written), random.Random(seed)
    raws: list[Raw] = []
    rows: list[tuple[Any, ...] | None] = []
    for _ in range(300):
        key, op = f"k{chance.randrange(9)}", chance.choice("crudt")
        note, at = chance.choice([None, "", "x", MARK[:-1]]), chance.choice([None, AT, 0, -1])
        after = row(key=key, quantity=chance.randrange(9), note=note, at=at) if op in "cru" else None
        value: bytes | None = source.change(op, after, chance.choice([None, row(note=MARK)]))
        if op == "d" and chance.random() < 0.5:
            value = None
        if value and chance.random() < 0.2:
            cut = chance.randrange(5, len(value) - 1)
            raws.append((source.key(key), value[:cut]))
            rows.append(None)
            continue
        raws.append((None if op == "t" else source.key(key), value))
        after_values = after or {"quantity": None, "note": None, "at": None}
        rows.append(
            (None if op == "t" else key, after_values["quantity"], after_values["note"], after_values["at"])
        )

    batch = source.decoded(raws)
    columns = batch.columns()
    names = ("key", "quantity", "note", "at")
    good = iter(zip(*(values_of(columns[name]) for name in names), strict=True))

    assert [next(good) if ok else None for ok in batch.ok] == rows
