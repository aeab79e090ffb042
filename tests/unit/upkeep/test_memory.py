"""What upkeep holds of files does not grow with their columns, and a landing looks into few of them."""

from __future__ import annotations

import struct
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyiceberg.catalog.memory import InMemoryCatalog
from pyiceberg.io import FileIO
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat, ManifestEntry, ManifestFile
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.typedef import Record
from pyiceberg.types import LongType, NestedField

from frazil.spec.upkeep import Upkeep
from frazil.tables.catalogs.pyiceberg import live_entries
from frazil.tables.commits.replacement import same_rows
from frazil.tables.commits.rewrite import stage_same_rows
from frazil.tables.metadata.manifests import Entries, HeadReader, manifests_of, read_entries
from frazil.upkeep.census import take_census

WIDE, FILES, TARGET = 200, 200, 128 * 2**20
SAID = dict.fromkeys(range(1, WIDE + 1), 100_000)
BOUNDS = {column: struct.pack("<q", 1_000_000 + column) for column in SAID}


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """A table of many columns and of no file."""
    catalog = InMemoryCatalog("unit", warehouse=tmp_path.as_uri())
    catalog.create_namespace("n")
    return catalog.create_table(("n", "t"), Schema(*(NestedField(n, f"c{n}", LongType()) for n in SAID)))


def made_up(path: str, size: int = 1_000_000) -> DataFile:
    """A data file as its manifest describes it; nobody opens it."""
    file = DataFile.from_args(
        content=DataFileContent.DATA, file_path=path, file_format=FileFormat.PARQUET, partition=Record(),
        record_count=1000, file_size_in_bytes=size, column_sizes=SAID, value_counts=SAID,
        null_value_counts=SAID, nan_value_counts=None, lower_bounds=BOUNDS, upper_bounds=BOUNDS,
    )  # fmt: skip
    file.spec_id = 0
    return file


def append(table: Table, *paths: str) -> None:
    """A commit that names some files, in a manifest of their own."""
    with table.transaction() as tx, tx.update_snapshot().fast_append() as snapshot:
        for path in paths:
            snapshot.append_data_file(made_up(path))


def test_the_files_of_a_wide_table_are_held_without_the_statistics_of_its_columns(table: Table) -> None:
    """A hundred thousand of them take ten seconds to read: so the bytes of one file count."""
    append(table, *(f"s3://lake/n/t/data/{n}.parquet" for n in range(FILES)))
    tracemalloc.start()
    try:
        census = take_census(table, Upkeep(), TARGET, 0.0)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert census.files == FILES
    assert peak / FILES < 2**30 / 100_000, "PyIceberg's own entries take 52,000 bytes each"


def test_statistics_of_the_columns_that_are_asked_for_stay(table: Table) -> None:
    append(table, "a.parquet")

    head = HeadReader({7}).read(table)

    assert head
    assert head.entries["a.parquet"].data_file.lower_bounds == {7: BOUNDS[7]}


def test_files_that_stay_keep_all_their_statistics_when_others_of_their_manifest_are_replaced(
    table: Table,
) -> None:
    append(table, "a.parquet", "b.parquet", "c.parquet")
    append(table, "d.parquet")
    head = HeadReader().read(table)
    assert head

    with table.transaction() as tx:
        stage_same_rows(tx, same_rows(head, {"a.parquet", "d.parquet"}, [made_up("new.parquet")]), {})

    entries = {e.data_file.file_path: e for of in whole(table) for e in of}
    assert entries.keys() == {"b.parquet", "c.parquet", "new.parquet"}
    assert all(e.data_file.lower_bounds == BOUNDS for e in entries.values())
    assert all(e.data_file.value_counts == SAID for e in entries.values())
    assert [entries[path].sequence_number for path in ("b.parquet", "new.parquet")] == [1, 2]


def whole(table: Table) -> Iterator[Entries]:
    """The live entries of the head as they are written."""
    yield from read_entries(table.io, manifests_of(table, table.current_snapshot()))


def test_a_landing_looks_into_the_files_that_came_last_and_counts_all(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    append(table, *(f"old{n}.parquet" for n in range(12)))
    append(table, "new1.parquet", "new2.parquet")
    opened: list[int] = []

    def noted(io: FileIO, manifest: ManifestFile) -> Iterator[ManifestEntry]:
        opened.append(manifest.sequence_number)
        return live_entries(io, manifest)

    monkeypatch.setattr("frazil.tables.metadata.manifests.live_entries", noted)
    few = take_census(table, Upkeep(), TARGET, 0.0, most=20)
    all_of_them = take_census(table, Upkeep(), TARGET, 0.0, most=34)

    assert opened[0] == 2, "the manifest of the old files was left closed"
    assert sorted(opened[1:]) == [1, 2]
    assert (few.files, few.bytes, few.records) == (14, 14_000_000, 14_000)
    assert (few.small_files, few.not_looked_into) == (2, 12)
    assert few.sizes[-1].label == "not looked into"
    assert (all_of_them.small_files, all_of_them.not_looked_into) == (14, 0)
