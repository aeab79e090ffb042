"""Whether engines that can't run here can read a table, by what their documents say."""

from __future__ import annotations

import pytest
from pyiceberg.schema import Schema
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

from frazil.checks.readers import READERS, Reader, column_types, reader_of, refusals_of
from frazil.errors import UsageError

PLAIN = Schema(NestedField(1, "id", LongType()), NestedField(2, "$$offset", LongType()))


each = pytest.mark.parametrize("reader", READERS.values(), ids=READERS)


@each
def test_plain_columns_are_read(reader: Reader) -> None:
    assert [*refusals_of(reader, column_types(PLAIN), 2)] == []


@each
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
    assert [*refusals_of(reader, column_types(PLAIN), 3)] == ["it reads format version 2, and this is 3"]


@each
def test_names_that_differ_in_capitals_only_are_one(reader: Reader) -> None:
    schema = Schema(NestedField(1, "Id", LongType()), NestedField(2, "id", LongType()))

    assert [text.split()[0] for text in refusals_of(reader, column_types(schema), 2)] == ["Id", "id"]


def test_a_reader_of_which_nothing_is_known_is_refused() -> None:
    with pytest.raises(UsageError, match="Nothing is known of the reader paper") as error:
        reader_of("paper")

    assert all(name in error.value.todo for name in READERS)
