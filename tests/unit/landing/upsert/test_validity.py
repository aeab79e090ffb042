"""From when to when versions of rows hold: whatever is landed together, they are those of all records."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import Any

import duckdb
import pyarrow as pa
import pytest
import sqlglot

from frazil.formats.columns.columns import names_by_word
from frazil.landing.upsert.truncates.notes import Truncates
from frazil.landing.upsert.truncates.truncate import Truncate
from frazil.landing.upsert.validity import BEFORE, CURRENT, NEW, SINCE, UNTIL, validity
from frazil.spec.topic import TableSpec
from kit.records.versions import Sent, Version, versions_of

SPEC = TableSpec(topic="t", mode="cdc", versions="all", metadata_names="portable")
NAMES = names_by_word(SPEC)
WORDS = ("partition", "offset", "op", "timestamp", "valid-from", "valid-to", "current", "source-time")
COLUMNS = ("id", *(NAMES[word] for word in WORDS))
ARROW = (
    *(pa.string(), pa.int32(), pa.int64(), pa.string()),
    *(*[pa.int64()] * 3, pa.bool_(), pa.int64(), pa.bool_()),  # a time is a number here
)

Row = tuple[str, int, int, str | None, int, int | None, int | None, bool | None, int | None]
"""A row of the table: `COLUMNS`."""


@dataclass
class Landings:
    """A table of versions, landed as the engine does: its SQL over the rows that it would look at."""

    duck: duckdb.DuckDBPyConnection
    rows: list[Row] = field(default_factory=list)
    known: list[Truncate] = field(default_factory=list)
    looked_at: int = 0

    def land(self, records: Iterable[Sent]) -> None:
        every = list(records)
        truncating = [Truncate(t.partition, t.offset, t.stamped, t.time, None) for t in every if t.op == "t"]
        put = self._judged([], [row_of(t) for t in every if t.op != "t"], Truncates())
        truncates = Truncates(tuple(truncating), tuple(self.known))
        near = self._near([row for row, _ in put], truncates, any(r[3] is None and not b for r, b in put))
        self.looked_at = len(near)
        rows_judged = self._judged(near, [r for r, _ in put], truncates.for_rows_since(min_stamp(put)))
        self.rows = [*set(self.rows) - set(near), *(r for r, _ in rows_judged)]
        self.known += truncating

    def versions(self) -> set[Version]:
        versions = {(key, p, o, since, until, now) for key, p, o, _, _, since, until, now, _ in self.rows}
        assert len(versions) == len(self.rows)
        return versions

    def _near(self, put: Sequence[Row], truncates: Truncates, unsure: bool) -> list[Row]:
        """The rows that the engine looks at."""
        times = [*(row[5] for row in put), truncates.since]
        low = min((t for t in times if t is not None), default=0)
        keys = {row[0] for row in (self.rows if truncates.new else put)}
        return [r for r in self.rows if r[0] in keys and (unsure or r[6] is None or r[6] >= low)]

    def _judged(
        self, stored: Sequence[Row], new: Sequence[Row], truncates: Truncates
    ) -> list[tuple[Any, bool | None]]:
        """The rows with what is found of them, and whether a delete is before each."""
        rows = [(*row, False) for row in stored] + [(*row, True) for row in new]
        if not rows:
            return []
        columns = zip((*COLUMNS, NEW), ARROW, zip(*rows, strict=True), strict=True)
        self.duck.register("rows", pa.table({name: pa.array(values, kind) for name, kind, values in columns}))
        query = "rows"
        for name, sql in validity(SPEC, ["id"], truncates):
            steps = f"*, {sql} AS `{name}` FROM {query}" if name else f"* FROM {query} WHERE {sql}"
            query = f"(SELECT {steps})"
        asked = ", ".join(f"`{c}`" for c in (*COLUMNS[:5], SINCE, UNTIL, CURRENT, COLUMNS[-1], BEFORE))
        rows_judged = self.duck.execute(in_duckdb(f"SELECT {asked} FROM {query}")).fetchall()
        return [(row[:-1], row[-1]) for row in rows_judged]


@cache
def in_duckdb(sql: str) -> str:
    """Most landings ask the same, and translating it takes longer than running it."""
    (translated,) = sqlglot.transpile(sql, read="spark", write="duckdb")
    return translated


def row_of(record: Sent) -> Row:
    return (
        record.key,
        record.partition,
        record.offset,
        record.op,
        record.stamped,
        None,
        None,
        None,
        record.time,
    )


def min_stamp(put: Sequence[tuple[Row, bool | None]]) -> int | None:
    return min((row[4] for row, _ in put), default=None)


@pytest.fixture
def landings() -> Landings:
    duck = duckdb.connect()
    for function in ("timestamp_micros", "epoch_us"):
        duck.execute(f"CREATE MACRO {function}(t) AS t")
    return Landings(duck)


def drawn(chance: random.Random, count: int, partitions: int, truncates: float = 0) -> list[Sent]:
    """Records of few keys, with deletes, tombstones with and without one, and clocks that go back."""
    ends, records = [0] * partitions, []
    for number in range(count):
        partition = chance.randrange(partitions)
        key, time = chance.choice("abc"), 10 * number + chance.choice((0, 0, 0, 3, -35, 40))
        stamp = time + chance.choice((0, 0, 7, -20, 30))
        if chance.random() < truncates:
            records.append(Sent("", partition, ends[partition], time, "t", stamp))
            ends[partition] += 1
        op = chance.choice(("c", "u", "u", "r", "d", None))
        for word in (op, None) if op == "d" and chance.random() < 0.8 else (op,):
            records.append(Sent(key, partition, ends[partition], time + (word is None), word, stamp))
            ends[partition] += 1
    return records


@pytest.mark.parametrize(
    "seeds", [range(3), pytest.param(range(3, 15), marks=pytest.mark.nightly)], ids=["few", "more"]
)
@pytest.mark.parametrize("truncates", [0, 0.15])
@pytest.mark.parametrize("partitions", [1, 3])
def test_versions_are_those_of_all_records_whatever_was_landed_when(
    landings: Landings, partitions: int, truncates: float, seeds: range
) -> None:
    for seed in seeds:
        chance = random.Random(seed)
        records = drawn(chance, 30, partitions, truncates)
        landings.rows, landings.known, done = [], [], [0] * partitions
        while any(done[t.partition] <= t.offset for t in records):
            ends = [at + chance.randrange(7) for at in done]  # partitions are behind each other
            batch = [t for t in records if done[t.partition] <= t.offset < ends[t.partition]]
            landings.land(batch)
            done = ends
            landed = [t for t in records if t.offset < done[t.partition]]
            assert landings.versions() == versions_of(landed), seed


def test_no_two_versions_of_a_key_hold_at_once(landings: Landings) -> None:
    landings.land(drawn(random.Random(1), 200, 3))

    for key in "abc":
        spans = sorted((r[5], r[6]) for r in landings.rows if r[0] == key and r[5] != r[6])
        assert len(spans) > 10
        assert all(until is not None and until <= since for (_, until), (since, _) in pairwise(spans))


def test_a_landing_looks_at_what_holds_now_however_long_the_history_is(landings: Landings) -> None:
    for number in range(20):
        landings.land([Sent("a", 0, number, number, "u")])

    assert landings.looked_at == 1


def test_a_version_stays_ended_where_the_one_that_ended_it_was_forgotten(landings: Landings) -> None:
    landings.land([Sent("a", 0, 0, 10, "u"), Sent("a", 0, 1, 20, "u")])
    landings.rows = [row for row in landings.rows if row[2] == 0]

    landings.land([Sent("a", 0, 2, 50, "u"), Sent("b", 0, 3, 5, "u")])  # the early one has all be looked at

    assert landings.versions() == {
        ("a", 0, 0, 10, 20, False),
        ("a", 0, 2, 50, None, True),
        ("b", 0, 3, 5, None, True),
    }


def test_a_truncate_ends_what_is_older_and_a_late_version_too(landings: Landings) -> None:
    landings.land([Sent("a", 0, 0, 10, "u"), Sent("b", 1, 0, 20, "u"), Sent("c", 1, 1, 90, "u")])

    landings.land([Sent("", 0, 1, 50, "t"), Sent("a", 0, 2, 60, "u")])
    landings.land([Sent("d", 1, 2, 30, "u"), Sent("e", 0, 3, 40, "u")])

    assert landings.versions() == {
        ("a", 0, 0, 10, 50, False),
        ("b", 1, 0, 20, 50, False),
        ("c", 1, 1, 90, None, True),
        ("a", 0, 2, 60, None, True),
        ("d", 1, 2, 30, 50, False),
        ("e", 0, 3, 40, None, True),  # behind the truncate in its own partition
    }


def test_a_truncate_ends_what_was_landed_before_its_topic_was_made_again(landings: Landings) -> None:
    landings.land([Sent("a", 0, 70, 10, "u")])

    landings.land([Sent("b", 0, 0, 20, "u"), Sent("", 0, 1, 30, "t"), Sent("c", 0, 2, 40, "u")])

    assert landings.versions() == {
        ("a", 0, 70, 10, 30, False),
        ("b", 0, 0, 20, 30, False),
        ("c", 0, 2, 40, None, True),
    }


def test_a_landing_behind_a_truncate_looks_at_its_own_keys_again(landings: Landings) -> None:
    landings.land([Sent(key, 0, at, at, "u") for at, key in enumerate("abcdef")])
    landings.land([Sent("", 1, 0, 3, "t")])
    looked_at = landings.looked_at

    landings.land([Sent("f", 0, 6, 10, "u")])

    assert (looked_at, landings.looked_at) == (6, 1)
