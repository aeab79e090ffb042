"""Which files of a table become one where rows of theirs go, and which take the rows that came."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog.memory import InMemoryCatalog
from pyiceberg.manifest import DataFile, FileFormat
from pyiceberg.typedef import Record

from frazil.formats.logical import Field, Primitive
from frazil.landing.upsert.arrow import plan_bins
from frazil.landing.upsert.divisions import keeps_files_apart
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.creation import create_table
from kit.tables.commits import NAME

MB = 2**20
SPEC = TableSpec.model_validate({"topic": "t", "mode": "upsert", "write": {"target_file_size": "100MiB"}})


def file(path: str, size: int, place: int = 0) -> DataFile:
    made = DataFile.from_args(
        file_path=path, file_format=FileFormat.PARQUET, partition=Record(place), record_count=1,
        file_size_in_bytes=size * MB,
    )  # fmt: skip
    made.spec_id = 0
    return made


def planned(
    old: list[DataFile], new: list[DataFile], spec: TableSpec = SPEC, *, apart: bool = False
) -> dict[str, str]:
    """The paths of each bin's old files, and of the new ones that come into it."""
    bins = plan_bins(old, new, spec, apart=apart)
    return {"".join(f.file_path for f in b.old): "".join(f.file_path for f in b.new) for b in bins}


def test_small_files_of_a_partition_become_one_with_what_came_there() -> None:
    old = [file("a", 40), file("b", 5), file("c", 10, 1)]
    new = [file("x", 1), file("y", 1, 1), file("z", 1, 2)]

    assert planned(old, new) == {"ab": "x", "c": "y"}


def test_a_file_of_the_right_size_stays_by_itself() -> None:
    assert planned([file("a", 90), file("b", 5)], [file("x", 1)]) == {"a": "", "b": "x"}
    assert planned([file("a", 90)], [file("x", 1)]) == {"a": ""}


def test_files_that_are_too_large_together_stay_apart_and_the_smallest_takes_what_came() -> None:
    assert planned([file("a", 70), file("b", 60)], [file("x", 20)]) == {"a": "", "b": "x"}
    assert planned([file("a", 70), file("b", 60)], [file("x", 60)]) == {"a": "", "b": ""}


def test_files_that_bounds_tell_apart_are_not_mixed() -> None:
    assert planned([file("a", 5), file("b", 5)], [file("x", 1)], apart=True) == {"a": "", "b": ""}


@pytest.mark.parametrize(
    ("spec", "apart"),
    [
        ({}, False),  # small, for else it would be in buckets
        ({"partition_by": ()}, True),
        ({"partition_by": ("key",)}, False),
        ({"partition_by": ("key",), "sort_by": ("symbol",)}, True),
        ({"sort_by": ("symbol",)}, True),
    ],
)
def test_bounds_tell_files_apart_where_the_spec_sorts_or_wants_no_partitions(
    tmp_path: Path, spec: dict[str, Any], apart: bool
) -> None:
    own = TableSpec(topic="t", mode="upsert", **spec)
    catalog = InMemoryCatalog("here", warehouse=tmp_path.as_uri())
    table = create_table(TableHandle(catalog, NAME), [Field("key", Primitive("long"))], own.transforms, {})

    assert keeps_files_apart(own, table) == apart
