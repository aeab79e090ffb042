"""Changes of a database by columns, task by task: what they leave is what the database would say."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from frazil.landing.upsert.lane import deal
from kit.records.debezium_records import Debezium
from kit.records.envelopes import AT, SEEN
from kit.tables.upserted import Raw, Upserted

MODES: Mapping[str, Mapping[str, str]] = {
    "hard": {},
    "soft": {"delete": "soft"},
    "log": {"delete": "soft", "order_by": "source.lsn"},
}
WAYS = pytest.mark.parametrize("mode", MODES)


class Database:
    """A table of a database: its rows, and the records of its changes, in one order everywhere."""

    def __init__(self, mode: str, seed: int) -> None:
        self.source = Debezium("avro", namespace="n", **MODES[mode])
        self.is_soft = mode != "hard"
        self.rows: dict[str, int] = {}
        self.gone: dict[str, tuple[int, str]] = {}  # the last value, and what ended it
        self.chance, self.number = random.Random(seed), 0

    def more(self, count: int, truncate: bool) -> list[Raw]:
        """Records of changes; a truncate is one of them."""
        when = self.chance.randrange(count) if truncate else -1
        return [raw for n in range(count) for raw in (self._emptied() if n == when else self._changed())]

    def _changed(self) -> list[Raw]:
        key, self.number = f"k{self.chance.randrange(30)}", self.number + 1
        at = {"ts_ms": self.number, "lsn": self.number}
        if key in self.rows and self.chance.random() < 0.4:
            self.gone[key] = (self.rows.pop(key), "d")
            delete = self._record(key, self.source.change("d", None, **at))
            return [delete] if self.chance.random() < 0.3 else [delete, self._record(key, None)]
        op = "u" if key in self.rows else self.chance.choice("cr")
        self.rows[key] = self.number
        self.gone.pop(key, None)
        row = {"key": key, "quantity": self.number, "note": None, "at": AT, "seen": SEEN}
        return [self._record(key, self.source.change(op, row, **at))]

    def _emptied(self) -> list[Raw]:
        self.number += 1
        self.gone |= {key: (value, "t") for key, value in self.rows.items()}
        self.rows = {}
        return [self._record("", self.source.change("t", None, ts_ms=self.number, lsn=self.number))]

    def _record(self, key: str, value: bytes | None) -> Raw:
        """Offsets and times of all partitions go on as one."""
        self.number += 1
        raw = self.source.key(key) if key else None
        return raw, value, sum(key.encode()) % 3, self.number, self.number

    @property
    def expected(self) -> dict[str, tuple[int, str]]:
        """What the table must hold: of each key the value, and what ended it."""
        living = {key: (value, "") for key, value in self.rows.items()}
        return living | self.gone if self.is_soft else living


def rows_of(table: Upserted) -> dict[str, tuple[int, str]]:
    deleted, op = "_x24_x24deleted", "_x24_x24op"
    rows = {key: _plain(row) for key, row in table.rows.items()}
    return {k: (r["quantity"], r[op] if r.get(deleted) else "") for k, r in rows.items()}


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {name.replace("$$", "_x24_x24"): value for name, value in row.items()}


def landed(table: Upserted, raws: Sequence[Raw]) -> dict[str, int]:
    """By two tasks, each of which reads a part of every partition."""
    middle = len(raws) // 2
    return table.land(raws[:middle], raws[middle:])


@pytest.fixture(autouse=True, params=[False, True], ids=["two steps", "one task"])
def one_task(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small landing shares its job with others: one task does both steps."""
    monkeypatch.setattr(Upserted, "one_task", request.param)


@pytest.mark.each_time(
    "two steps-at once-0-hard", "two steps-dealt out in parts-0-soft", "two steps-dealt out in parts-0-log",
    "one task-dealt out in parts-0-hard", "one task-at once-0-soft", "one task-at once-0-log",
)  # fmt: skip
@WAYS
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("most", [deal.HELD, 1000], ids=["at once", "dealt out in parts"])
def test_rows_are_those_of_the_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str, seed: int, most: int
) -> None:
    monkeypatch.setattr(deal, "HELD", most)
    database = Database(mode, seed)
    table = Upserted(tmp_path, database.source.spec, database.source.decoder())
    for number in range(5):
        before = set(database.expected)

        counts = landed(table, database.more(60, truncate=number in (1, 3)))

        assert rows_of(table) == database.expected
        assert table.wrong == ""
        assert counts["gone"] == counts["left_out"]
        assert counts["added"] + counts["marked"] - counts["gone"] == len(database.expected) - len(before)
        assert counts["bad"] == 0


@WAYS
def test_a_truncate_alone_ends_the_rows_of_partitions_that_nothing_else_came_to(
    tmp_path: Path, mode: str
) -> None:
    database = Database(mode, 1)
    table = Upserted(tmp_path, database.source.spec, database.source.decoder())
    landed(table, database.more(60, truncate=False))
    rows, gone = len(database.rows), len(database.gone) if database.is_soft else 0

    counts = table.land(database._emptied())

    assert rows_of(table) == database.expected
    assert table.wrong == ""
    assert (counts["deleted"], counts["gone"], counts["received"], counts["added"]) == (rows, rows, 0, 0)
    assert len(table.rows) == (rows + gone if database.is_soft else 0)


def test_a_delete_that_is_unknown_is_remembered_if_the_log_says_the_order(tmp_path: Path) -> None:
    for mode in MODES:
        database = Database(mode, 1)
        source, folder = database.source, tmp_path / mode
        table = Upserted(folder, source.spec, source.decoder())

        counts = table.land([(source.key("a"), source.change("d", None, lsn=9), 0, 1, 1)])
        late = {"key": "a", "quantity": 1, "note": None, "at": None, "seen": None}
        table.land([(source.key("a"), source.change("c", late, lsn=5), 1, 7, 99)])

        assert counts["added"] == (mode == "log")
        assert rows_of(table) == ({"a": (None, "d")} if mode == "log" else {"a": (1, "")})


@WAYS
def test_a_tombstone_behind_a_delete_that_was_landed_changes_nothing(tmp_path: Path, mode: str) -> None:
    source = Debezium("avro", namespace="n", **MODES[mode])
    table = Upserted(tmp_path, source.spec, source.decoder())
    row = {"key": "a", "quantity": 1, "note": None, "at": None, "seen": None}
    table.land([(source.key("a"), source.change("c", row), 0, 1, 1)])
    table.land([(source.key("a"), source.change("d", None), 0, 2, 2)])
    before = table.rows

    counts = table.land([(source.key("a"), None, 0, 3, 3)])

    assert table.rows == before
    assert (counts["gone"], counts["added"], counts["received"]) == (0, 0, 1)
