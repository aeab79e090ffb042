"""Folders of partitions are names that every store takes, whatever a column is called."""

from __future__ import annotations

import re

import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import LongType, NestedField

from frazil.tables.folders import folder_of

SEAWEEDFS = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*=[^/]+")
"""https://github.com/seaweedfs/seaweedfs/blob/master/weed/s3api/s3tables/iceberg_layout.go: else 403."""


def folder(name: str) -> str:
    schema = Schema(NestedField(1, "n", LongType(), required=True))
    spec = PartitionSpec(PartitionField(1, 1000, IdentityTransform(), name))
    return folder_of(spec, schema, Record(8))


@pytest.mark.parametrize(
    "name", ["1st", "order-id", "Ünï", "日本", "עברית", "a.b", "@id", 'quo"te', "a b", "🚋"]
)
def test_a_store_takes_the_folder_whatever_the_partition_is_called(name: str) -> None:
    assert SEAWEEDFS.fullmatch(folder(name))


@pytest.mark.parametrize("name", ["id", "_id", "Order_ID2", "metadata_timestamp_day"])
def test_a_plain_name_stays_as_it_is(name: str) -> None:
    assert folder(name) == f"{name}=8"
