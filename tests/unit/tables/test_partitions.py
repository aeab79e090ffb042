"""What `partition_by` becomes: any transform of any column that a row has one value of."""

from __future__ import annotations

import pytest

from frazil.errors import SpecError
from frazil.formats.logical import Field, List, Primitive, Struct
from frazil.formats.types import to_iceberg
from frazil.spec.topic import TableSpec
from frazil.tables.layout import partition_spec

INNER = Struct((Field("deep", Primitive("string")),))
SCHEMA = to_iceberg(
    [
        Field("$$timestamp", Primitive("timestamptz")),
        Field("name", Primitive("string")),
        Field("inner", INNER),
        Field("many", List(Primitive("int"))),
    ]
)


def fields(*partition_by: str) -> list[tuple[str, str]]:
    """Names and transforms of the partition fields."""
    spec = TableSpec(topic="t", partition_by=partition_by)
    return [(f.name, str(f.transform)) for f in partition_spec(SCHEMA, spec.transforms).fields]


def test_every_transform_has_a_name_of_its_own() -> None:
    assert fields("year($$timestamp)", "name") == [("metadata_timestamp_year", "year"), ("name", "identity")]
    assert fields("bucket(16, name)", "bucket(4, name)", "truncate(2, name)") == [
        ("name_bucket", "bucket[16]"),
        ("name_bucket_4", "bucket[4]"),
        ("name_truncate", "truncate[2]"),
    ]


def test_a_nested_column_is_named_with_dots() -> None:
    assert fields("inner.deep", "bucket(3, inner.deep)") == [
        ("inner_deep", "identity"),
        ("inner_deep_bucket", "bucket[3]"),
    ]


@pytest.mark.parametrize(
    ("by", "why"),
    [
        ("nope", "no such column"),
        ("inner", "struct"),
        ("many.element", "many values"),
        ("day(name)", "takes no string"),
    ],
)
def test_what_has_no_single_value_or_does_not_fit_is_told(by: str, why: str) -> None:
    with pytest.raises(SpecError, match=why):
        fields(by)
