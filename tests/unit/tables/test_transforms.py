"""Values of partitions, of columns as tasks get them."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest
from pyiceberg.transforms import BucketTransform, Transform, TruncateTransform
from pyiceberg.types import DecimalType

from frazil.tables.transforms import transformed

KIND = pa.decimal128(12, 2)


@pytest.mark.parametrize("transform", [BucketTransform(4), TruncateTransform(10)], ids=str)
def test_decimals_have_the_same_partition_wherever_they_stand_in_memory(transform: Transform) -> None:  # type: ignore[type-arg]
    """Spark sends them at a multiple of eight bytes, where iceberg-rust panics."""
    column = pa.array([Decimal("1.05"), None, Decimal("-7.31")], KIND)
    valid, numbers = column.buffers()
    for before in (0, 8):  # one of both is no multiple of sixteen
        memory = pa.py_buffer(b"\0" * before + numbers.to_pybytes())
        sent = pa.Array.from_buffers(KIND, len(column), [valid, memory.slice(before)])

        partitions = transformed(sent, transform, DecimalType(12, 2))

        assert partitions.equals(transformed(column, transform, DecimalType(12, 2)))
