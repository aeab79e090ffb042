"""Tasks of upserts by themselves, without Spark and Kafka: what they leave is what a dictionary says.

FRAZIL_TEST_ROW_IDS says after how many landings, of twelve kinds, each key still has the id of its row.
"""

from __future__ import annotations

import math
import os
import random
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from frazil.formats.columns.columns import record_columns
from frazil.formats.plain import Plain
from frazil.formats.protocol import KEY, VALUE, HalfSchemas
from frazil.formats.record import RecordDecoder
from frazil.formats.row_key import row_key
from frazil.landing.upsert.lane import deal
from frazil.landing.upsert.lane.met import HeadFile
from frazil.landing.upsert.lane.newest import Identity, KeyIndex
from frazil.spec.topic import TableSpec
from frazil.tables.writing import transfer
from frazil.tables.writing.sorting import SortKey
from frazil.tables.writing.transfer import OldFile
from kit.tables.upserted import BUCKETS, MB, Divided, Upserted

SPEC = TableSpec.model_validate(
    {"topic": "t", "namespace": "n", "mode": "upsert", "key_format": "string", "value_format": "string"}
)

KINDS = 12
ROUNDS = math.ceil(int(os.environ.get("FRAZIL_TEST_ROW_IDS", "60")) / KINDS)
LANDINGS = 20
"""Into one table; further ones go into a table of other changes."""

BY_VALUE: Divided = (("truncate[2]", "value"),)
"""Partitions that a row leaves when it changes."""

Change = tuple[str, str | None, int, int, int]
"""Key, value, partition, offset, and milliseconds."""


class Texts(Upserted):
    """A table of texts."""

    def __init__(
        self, folder: Path, divided: Divided = BUCKETS, order: tuple[SortKey, ...] = (), **more: Any
    ) -> None:
        plain = Plain("string")
        key, value = (plain.decoder(HalfSchemas(half, plain, "s")) for half in (KEY, VALUE))
        columns = record_columns(SPEC, key.columns, value.columns)
        decoder = RecordDecoder(key, value, columns, "delete", (), row_key(SPEC, columns))
        super().__init__(folder, SPEC, decoder, divided, order=order, **more)

    def send(self, *slices: Sequence[Change], anew: bool = False) -> dict[str, int]:
        """See `land`; an empty key is none."""
        raws = [
            [(k.encode() if k else None, v.encode() if v else None, *place) for k, v, *place in of]
            for of in slices
        ]
        return self.land(*raws, anew=anew)

    @property
    def values(self) -> dict[str, str]:
        """The value of each key."""
        return {key: row["value"] for key, row in self.rows.items()}


@pytest.fixture(autouse=True, params=[False, True], ids=["two steps", "one task"])
def one_task(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small landing shares its job with others: one task does both steps."""
    monkeypatch.setattr(Upserted, "one_task", request.param)


@pytest.fixture
def upserted(tmp_path: Path) -> Texts:
    return Texts(tmp_path)


def changes_of(chance: random.Random, first: int, count: int) -> list[Change]:
    """Of 200 keys in one partition each; one of five ends its row."""
    changes: list[Change] = []
    for offset in range(first, first + count):
        number = chance.randrange(200)
        value = None if chance.random() < 0.2 else f"v{offset}"
        changes.append((f"k{number}", value, number % 3, offset, chance.randrange(1000)))
    return changes


@pytest.mark.each_time(
    "two steps-in buckets-at once", "two steps-whole-dealt out in parts",
    "two steps-by a value-dealt out in parts",
    "one task-in buckets-dealt out in parts", "one task-whole-at once", "one task-by a value-at once",
)  # fmt: skip
@pytest.mark.parametrize("most", [deal.HELD, 1000], ids=["at once", "dealt out in parts"])
@pytest.mark.parametrize("divided", [BUCKETS, (), BY_VALUE], ids=["in buckets", "whole", "by a value"])
def test_what_is_left_is_what_a_dictionary_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, divided: Divided
) -> None:
    monkeypatch.setattr(deal, "HELD", most)
    upserted = Texts(tmp_path, divided)
    chance, wanted = random.Random(1), dict[str, str]()
    for number in range(6):
        changes = changes_of(chance, 300 * number, 300)
        before = dict(wanted)
        for key, value, *_ in changes:
            wanted |= {} if value is None else {key: value}
            if value is None:
                wanted.pop(key, None)

        counts = upserted.send(changes[:200], changes[200:])  # each slice has changes of all partitions

        touched = {key for key, *_ in changes}
        assert upserted.values == wanted
        assert upserted.wrong == ""
        assert counts["sent"] == counts["received"]
        assert counts["gone"] == counts["left_out"] == len(touched & before.keys())
        assert counts["added"] == len(touched & wanted.keys())
        assert counts["deleted"] == len((touched & before.keys()) - wanted.keys())


@pytest.mark.each_time(
    "two steps-in buckets-by vectors", "two steps-whole-rewritten", "two steps-by a value-rewritten",
    "one task-in buckets-rewritten", "one task-whole-by vectors", "one task-by a value-by vectors",
)  # fmt: skip
@pytest.mark.parametrize("vectors", [0.0, 0.4], ids=["rewritten", "by vectors"])
@pytest.mark.parametrize("divided", [BUCKETS, (), BY_VALUE], ids=["in buckets", "whole", "by a value"])
def test_a_key_keeps_the_id_of_its_row_until_it_is_deleted(
    tmp_path: Path, divided: Divided, vectors: float
) -> None:
    for seed in range(math.ceil(ROUNDS / LANDINGS)):
        folder, landings = tmp_path / str(seed), min(LANDINGS, ROUNDS - seed * LANDINGS)
        table = Texts(folder, divided, row_ids=True, vectors=vectors, small=1 if vectors else MB)
        by_vectors = vectored_while_keys_keep_their_ids(table, random.Random(2 + seed), landings)
        assert bool(by_vectors) == bool(vectors)
        shutil.rmtree(folder)


def vectored_while_keys_keep_their_ids(table: Texts, chance: random.Random, landings: int) -> int:
    """Lands random changes, compares the ids of all rows after each landing; how many went by vectors."""
    table.send([(f"k{n}", "begun", n % 3, n, 0) for n in range(200)])
    ids = {key: row_id for key, (row_id, _) in table.identities.items()}
    ever, by_vectors = {*ids.values()}, 0
    for number in range(1, 1 + landings):
        changes = changes_of(chance, 200 * number, 30)
        last = {key: value for key, value, *_ in changes}

        counts = table.send(changes)

        assert table.wrong == ""
        assert counts["gone"] == counts["left_out"] + counts["vectored"]
        by_vectors += counts["vectored"]
        row_ids = table.identities
        assert row_ids.keys() == table.values.keys()
        kept = {key: row_id for key, row_id in ids.items() if last.get(key, "") is not None}
        assert kept.items() <= {key: row_id for key, (row_id, _) in row_ids.items()}.items()
        new = {row_id for key, (row_id, _) in row_ids.items() if key not in kept}
        assert not new & ever  # a row that was deleted and comes again has another id
        ever |= new
        assert len({row_id for row_id, _ in row_ids.values()}) == len(row_ids)
        assert {key for key, (_, changed) in row_ids.items() if changed == number + 1} == {
            key for key, value in last.items() if value is not None
        }
        ids = {key: row_id for key, (row_id, _) in row_ids.items()}
    return by_vectors


def test_a_value_that_becomes_null_in_a_row_that_stays_is_seen(
    upserted: Texts, monkeypatch: pytest.MonkeyPatch
) -> None:
    upserted.send([(f"k{number}", f"v{number}", 0, number, 1) for number in range(40)])
    whole = transfer.rows_fitted

    def losing(*of: Any) -> pa.RecordBatch:
        batch = whole(*of)
        at = batch.schema.get_field_index("value")
        if at < 0:  # only the columns of the key are read
            return batch
        kept = pa.array([None, *batch.column(at).to_pylist()[1:]], batch.schema.field(at).type)
        return batch.set_column(at, batch.schema.field(at), kept)

    monkeypatch.setattr(transfer, "rows_fitted", losing)

    upserted.send([("k39", "new", 0, 40, 1)])

    assert re.fullmatch(
        r"column value has \d+ values in the new files, and \d+ in the old ones, of which 1 went; 1 came",
        upserted.wrong,
    )


def test_rows_that_come_are_sorted_if_the_table_wants_it(tmp_path: Path) -> None:
    table = Texts(tmp_path, (), (SortKey("value", ascending=False, nulls_first=True),))

    table.send([(f"k{number}", f"v{number * 7 % 10}", 0, number, 1) for number in range(10)])

    assert [row["value"] for row in table.rows.values()] == [f"v{number}" for number in range(9, -1, -1)]


def test_of_two_partitions_the_timestamp_decides_whichever_task_read_which(upserted: Texts) -> None:
    first: list[Change] = [("a", "old", 0, 1, 900), ("b", "x", 0, 2, 100), ("b", "newest", 1, 3, 100)]
    second: list[Change] = [("a", "last of 0", 0, 7, 10), ("a", "of 1", 1, 5, 50)]
    third: list[Change] = [("c", "of 0", 0, 8, 70), ("c", "of 1", 1, 6, 60)]

    upserted.send(first, second, third)

    # Offset 7 is the last of its partition, and older.
    assert upserted.values == {"a": "of 1", "b": "newest", "c": "of 0"}


def test_where_the_times_of_a_row_and_a_change_are_equal_the_greater_partition_wins(upserted: Texts) -> None:
    upserted.send([("a", "there", 1, 5, 500), ("b", "there", 1, 6, 500)])

    upserted.send([("a", "of 0", 0, 0, 500)], [("b", "of 2", 2, 0, 500)])

    assert upserted.values == {"a": "there", "b": "of 2"}


@pytest.mark.parametrize("key", ["a", "c"])
def test_the_least_and_the_greatest_key_of_a_file_are_looked_for_in_it(tmp_path: Path, key: str) -> None:
    table = Texts(tmp_path, ())
    table.send([("a", "x", 0, 1, 1), ("b", "x", 0, 2, 1), ("c", "x", 0, 3, 1)])
    ((place, (file,)),) = table.files.items()
    table.files = {place: (HeadFile(file.file, (("a", "c"),)),)}

    counts = table.send([(key, "y", 0, 4, 1)])

    assert (counts["gone"], counts["added"]) == (1, 1)


def test_a_change_that_is_older_than_its_row_is_left_out(upserted: Texts) -> None:
    upserted.send([("a", "there", 0, 5, 500), ("b", "there", 0, 6, 500)])
    files = dict(upserted.files)

    counts = upserted.send([("a", "late", 1, 0, 400), ("b", None, 1, 1, 400)])

    assert upserted.values == {"a": "there", "b": "there"}
    assert upserted.files == files
    assert (counts["added"], counts["gone"], counts["received"]) == (0, 0, 2)


def test_offsets_that_began_anew_are_newer(upserted: Texts) -> None:
    upserted.send([("a", "there", 0, 5, 500)])
    upserted.send([("a", "again", 0, 1, 100)], anew=True)

    assert upserted.values == {"a": "again"}


def test_a_record_without_a_key_is_bad_whether_it_has_a_value_or_not(upserted: Texts) -> None:
    counts = upserted.send([("", "x", 0, 1, 1), ("", None, 0, 2, 1), ("a", "y", 0, 3, 1)])

    assert upserted.values == {"a": "y"}
    assert (counts["read"], counts["bad"], counts["sent"]) == (3, 2, 1)


def test_a_file_whose_bounds_have_none_of_the_keys_is_not_opened(upserted: Texts) -> None:
    upserted.send([("a", "there", 0, 5, 500)])
    ((place, (file,)),) = [(p, of) for p, of in upserted.files.items() if of]
    upserted.files = {place: (HeadFile(OldFile("nowhere", file.file.bytes), (("b", "c"),)),)}

    counts = upserted.send([("a", "again", 0, 6, 500)])

    assert (counts["gone"], counts["added"]) == (0, 1)


def test_keys_that_are_uuids_are_found_and_the_last_change_of_each_is_kept() -> None:
    numbers = pa.array([bytes([n]) * 16 for n in (1, 2, 1)], pa.binary(16)).cast(pa.uuid())
    changes = pa.table({"id": numbers, "partition": [0, 0, 0], "offset": [5, 6, 7], "at": [3, 2, 1]})

    newest = Identity(("id",), "partition", "offset", "at").newest(changes)

    assert sorted(newest["offset"].to_pylist()) == [6, 7]
    assert KeyIndex(newest.select(["id"])).find([changes["id"]]).to_pylist() == [1, 0, 1]


def test_a_key_of_several_columns_is_found_where_all_are_of_one() -> None:
    keys = pa.table({"a": [1, 1, 2], "b": ["x", "y", "x"], "c": [True, True, False]})
    others: dict[str, list[Any]] = {
        "a": [1, 2, 2, 1, None, 3],
        "b": ["y", "x", "y", "x", "x", "x"],
        "c": [True, False, False, False, True, True],
    }

    places = KeyIndex(keys).find(pa.table(others).columns)

    assert places.to_pylist() == [1, 2, None, None, None, None]
