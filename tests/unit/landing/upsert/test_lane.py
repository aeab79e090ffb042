"""Tasks of upserts by themselves, without Spark and Kafka: what they leave is what a dictionary says."""

from __future__ import annotations

import datetime as dt
import json
import random
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyiceberg.catalog.memory import InMemoryCatalog
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table

from frazil.formats.columns import metadata_columns, names_by_word, record_columns, table_fields
from frazil.formats.plain import Plain
from frazil.formats.protocol import KEY, VALUE, HalfSchemas
from frazil.formats.record_batch import ArrowRecords
from frazil.landing.lane.intake import Task
from frazil.landing.upsert.lane import deal
from frazil.landing.upsert.lane.deal import Deal
from frazil.landing.upsert.lane.merge import HeadFile, Merge
from frazil.landing.upsert.lane.newest import Identity, KeyIndex
from frazil.spec.names import TableName
from frazil.spec.topic import TableSpec
from frazil.tables.data_files import file_layout
from frazil.tables.layout import create_table
from frazil.tables.rows import batches_in
from frazil.tables.transfer import OldFile, files_written

SPEC = TableSpec.model_validate(
    {"topic": "t", "namespace": "n", "mode": "upsert", "key_format": "string", "value_format": "string"}
)
MB = 2**20

Change = tuple[str, str | None, int, int, int]
"""Key, value, partition, offset, and milliseconds."""


class Upserted:
    """A table, and landings into it by two tasks in each step."""

    def __init__(self, folder: Path) -> None:
        self.catalog = InMemoryCatalog("unit", warehouse=folder.as_uri())
        plain = Plain("string")
        self._key, self._value = (plain.decoder(HalfSchemas(half, plain, "s")) for half in (KEY, VALUE))
        fields = table_fields(SPEC, record_columns(SPEC, self._key.columns, self._value.columns))
        self.table: Table = create_table(
            self.catalog, TableName("n", "t"), fields, [("bucket[4]", "key")], {}
        )
        self.files: dict[str, tuple[HeadFile, ...]] = {}
        self._written: list[DataFile] = []
        self.layout = file_layout(self.table)
        names = dict(zip((f.name for f in self.table.schema().fields), self.layout.schema.names, strict=True))
        at = (names[names_by_word(SPEC)[word]] for word in ("partition", "offset", "timestamp"))
        self.identity = Identity(("key",), *at)

    def land(self, *slices: Sequence[Change], anew: bool = False) -> dict[str, int]:
        """Lands what each task of the first step reads; the counts of all of the second."""
        dealt = pa.Table.from_batches([b for of in slices for b in self._deal().run([batch(of)])])
        merge = Merge(
            self.layout, self.identity, self.files, anew=anew, apart=False, small=MB, most=2 * MB,
            version=version("frazil"),
        )  # fmt: skip
        found = pa.Table.from_batches(
            [
                told
                for task in (0, 1)
                for told in merge.run(dealt.filter(pc.equal(dealt["task"], task)).to_batches())
            ]
        )
        merges = [json.loads(text) for text in found["merge"].drop_null().to_pylist()]
        self._put(found.filter(found["merge"].is_valid()), {p for m in merges for p in m["removed"]})
        reports = [json.loads(text) for text in found["report"].drop_null().to_pylist()]
        names = {name for m in merges for name in m} - {"removed", "values"}
        sent = {name: sum(r[name] for r in reports) for name in ("sent", "bad", "read")}
        return sent | {name: sum(m[name] for m in merges) for name in names}

    @property
    def rows(self) -> dict[str, str]:
        """The value of each key, which is there once."""
        paths = {each.file.path for of in self.files.values() for each in of}
        told = [file for file in self._written if file.file_path in paths]
        rows = [r for b in batches_in(self.table, self.table.schema(), told) for r in b.to_pylist()]
        found = {row["key"]: row["value"] for row in rows}
        assert len(found) == len(rows)
        return found

    def _put(self, found: pa.Table, removed: set[str]) -> None:
        new = files_written(self.table, found)
        self._written += new
        for file in new:
            each = HeadFile(OldFile(file.file_path, file.file_size_in_bytes), (None,))
            place = deal.place_of([file.partition[0]])
            self.files[place] = (*self.files.get(place, ()), each)
        left = {p: tuple(f for f in of if f.file.path not in removed) for p, of in self.files.items()}
        self.files = left

    def _deal(self) -> Deal:
        key, value = self._key.arrow(), self._value.arrow()
        assert key
        assert value
        task = Task(
            records=ArrowRecords(key, value, (True, False), (), (("key", True),), needs_key=True),
            layout=self.layout,
            metadata={c.word: c.name(SPEC.metadata_names) for c in metadata_columns(SPEC)},
            topic="t",
            epochs={0: [(0, 1)]},
            keeps_bad=True,
        )
        return Deal(task, self.identity, 2, {}, version("frazil"))


def batch(changes: Iterable[Change]) -> pa.RecordBatch:
    keys, values, partitions, offsets, times = zip(*changes, strict=True)
    moments = [dt.datetime.fromtimestamp(t / 1000, dt.UTC) for t in times]
    return pa.RecordBatch.from_pydict(
        {
            "raw_key": pa.array([k.encode() if k else None for k in keys], pa.binary()),
            "raw_value": pa.array([v.encode() if v else None for v in values], pa.binary()),
            "partition": pa.array(partitions, pa.int32()),
            "offset": pa.array(offsets, pa.int64()),
            "timestamp": pa.array(moments, pa.timestamp("us", "UTC")),
            "timestampType": pa.array([0 for _ in keys], pa.int32()),
            "too_large": pa.nulls(len(keys), pa.string()),
            "header_keys": pa.array([[] for _ in keys], pa.list_(pa.string())),
            "header_values": pa.array([[] for _ in keys], pa.list_(pa.binary())),
        }
    )


@pytest.fixture
def upserted(tmp_path: Path) -> Upserted:
    return Upserted(tmp_path)


def changes_of(chance: random.Random, first: int, count: int) -> list[Change]:
    """Of 200 keys in one partition each; one of five ends its row."""
    found: list[Change] = []
    for offset in range(first, first + count):
        number = chance.randrange(200)
        value = None if chance.random() < 0.2 else f"v{offset}"
        found.append((f"k{number}", value, number % 3, offset, chance.randrange(1000)))
    return found


@pytest.mark.parametrize("held", [deal.HELD, 1000], ids=["at once", "dealt out in parts"])
def test_what_is_left_is_what_a_dictionary_says(
    upserted: Upserted, monkeypatch: pytest.MonkeyPatch, held: int
) -> None:
    monkeypatch.setattr(deal, "HELD", held)
    chance, wanted = random.Random(1), dict[str, str]()
    for number in range(6):
        changes = changes_of(chance, 300 * number, 300)
        before = dict(wanted)
        for key, value, *_ in changes:
            wanted |= {} if value is None else {key: value}
            if value is None:
                wanted.pop(key, None)

        counts = upserted.land(changes[:200], changes[200:])  # each slice has changes of all partitions

        touched = {key for key, *_ in changes}
        assert upserted.rows == wanted
        assert counts["sent"] == counts["received"]
        assert counts["gone"] == counts["left_out"] == len(touched & before.keys())
        assert counts["come"] == len(touched & wanted.keys())
        assert counts["deleted"] == len((touched & before.keys()) - wanted.keys())


def test_of_two_partitions_the_timestamp_decides_whichever_task_read_which(upserted: Upserted) -> None:
    first: list[Change] = [("a", "old", 0, 1, 900), ("b", "x", 0, 2, 100), ("b", "newest", 1, 3, 100)]
    second: list[Change] = [("a", "last of 0", 0, 7, 10), ("a", "of 1", 1, 5, 50)]

    upserted.land(first, second)

    assert upserted.rows == {"a": "of 1", "b": "newest"}  # offset 7 is the last of its partition, and older


def test_a_change_that_is_older_than_its_row_is_left_out(upserted: Upserted) -> None:
    upserted.land([("a", "there", 0, 5, 500), ("b", "there", 0, 6, 500)])
    files = dict(upserted.files)

    counts = upserted.land([("a", "late", 1, 0, 400), ("b", None, 1, 1, 400)])

    assert upserted.rows == {"a": "there", "b": "there"}
    assert upserted.files == files
    assert (counts["come"], counts["gone"], counts["received"]) == (0, 0, 2)


def test_offsets_that_began_anew_are_newer(upserted: Upserted) -> None:
    upserted.land([("a", "there", 0, 5, 500)])
    upserted.land([("a", "again", 0, 1, 100)], anew=True)

    assert upserted.rows == {"a": "again"}


def test_a_record_without_a_key_is_bad_whether_it_has_a_value_or_not(upserted: Upserted) -> None:
    counts = upserted.land([("", "x", 0, 1, 1), ("", None, 0, 2, 1), ("a", "y", 0, 3, 1)])

    assert upserted.rows == {"a": "y"}
    assert (counts["read"], counts["bad"], counts["sent"]) == (3, 2, 1)


def test_a_file_whose_bounds_have_none_of_the_keys_is_not_opened(upserted: Upserted) -> None:
    upserted.land([("a", "there", 0, 5, 500)])
    ((place, (file,)),) = [(p, of) for p, of in upserted.files.items() if of]
    upserted.files = {place: (HeadFile(OldFile("nowhere", file.file.bytes), (("b", "c"),)),)}

    counts = upserted.land([("a", "again", 0, 6, 500)])

    assert (counts["gone"], counts["come"]) == (0, 1)


def test_a_key_of_several_columns_is_found_where_all_are_of_one() -> None:
    keys = pa.table({"a": [1, 1, 2], "b": ["x", "y", "x"], "c": [True, True, False]})
    others: dict[str, list[Any]] = {
        "a": [1, 2, 2, 1, None, 3],
        "b": ["y", "x", "y", "x", "x", "x"],
        "c": [True, False, False, False, True, True],
    }

    found = KeyIndex(keys).find(pa.table(others).columns)

    assert found.to_pylist() == [1, 2, None, None, None, None]
