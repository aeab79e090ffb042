"""Whether engines that can't run here can read a table, by what their documents say."""

from __future__ import annotations

import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadata, new_table_metadata
from pyiceberg.table.snapshots import Operation, Snapshot, Summary
from pyiceberg.table.sorting import SortOrder
from pyiceberg.transforms import BucketTransform, IdentityTransform, TruncateTransform
from pyiceberg.types import (
    BinaryType,
    FixedType,
    ListType,
    LongType,
    NestedField,
    StringType,
    StructType,
    TimeType,
    UUIDType,
)

from frazil.checks.readers import READERS, Reader, column_types, layout_refusals, reader_of, refusals_of
from frazil.errors import UsageError

PLAIN = Schema(NestedField(1, "id", LongType()), NestedField(2, "$$offset", LongType()))


each = pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
of_hive = pytest.mark.parametrize("reader", [READERS[name] for name in ("athena", "redshift", "impala")])


@each
def test_plain_columns_are_read(reader: Reader) -> None:
    assert [*refusals_of(reader, column_types(PLAIN), 2)] == []


@of_hive
def test_types_that_it_lacks_are_named_however_deep(reader: Reader) -> None:
    inner = StructType(NestedField(5, "at", TimeType()), NestedField(6, "note", StringType()))
    schema = Schema(
        NestedField(1, "id", UUIDType()),
        NestedField(2, "hash", FixedType(16)),
        NestedField(3, "visits", ListType(4, inner)),
        NestedField(7, "raw", BinaryType()),
    )

    assert [*refusals_of(reader, column_types(schema), 2)] == [
        "id is uuid", "hash is fixed", "visits.element.at is time"
    ]  # fmt: skip


@each
def test_a_newer_format_is_named(reader: Reader) -> None:
    newer = reader.newest + 1

    assert [*refusals_of(reader, column_types(PLAIN), newer)] == [
        f"it reads format version {reader.newest}, and this is {newer}"
    ]


def table(parts: PartitionSpec, **summary: str) -> TableMetadata:
    """One with a snapshot of that summary."""
    made = new_table_metadata(PLAIN, parts, SortOrder(), "s3://lake/t")
    summary_made = Summary(Operation.APPEND, **summary)
    head = Snapshot(snapshot_id=1, sequence_number=1, timestamp_ms=1, manifest_list="l", summary=summary_made)
    return made.model_copy(update={"snapshots": [head], "current_snapshot_id": 1})


@pytest.mark.parametrize(
    ("name", "refusals"),
    [
        ("fabric", ["files are partitioned by bucket", "files are partitioned by truncate"]),
        ("snowflake", ["rows are deleted by equality; `frazil compact --everything` applies that"]),
        ("athena", []),
    ],
)
def test_partitions_and_deletes_that_it_lacks_are_named(name: str, refusals: list[str]) -> None:
    fields = (BucketTransform(16), TruncateTransform(4), IdentityTransform())
    spec = PartitionSpec(*(PartitionField(1, 1000 + i, each, f"p{i}") for i, each in enumerate(fields)))

    assert [*layout_refusals(READERS[name], table(spec, **{"total-equality-deletes": "3"}))] == refusals
    assert [*layout_refusals(READERS[name], table(PartitionSpec()))] == []


@each
def test_names_that_differ_in_capitals_only_are_one(reader: Reader) -> None:
    schema = Schema(NestedField(1, "Id", LongType()), NestedField(2, "id", LongType()))

    assert [text.split()[0] for text in refusals_of(reader, column_types(schema), 2)] == ["Id", "id"]


def test_a_reader_of_which_nothing_is_known_is_refused() -> None:
    with pytest.raises(UsageError, match="Nothing is known of the reader paper") as error:
        reader_of("paper")

    assert all(name in error.value.todo for name in READERS)
