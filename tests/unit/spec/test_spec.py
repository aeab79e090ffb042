from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from frazil.spec.derived import DerivedSpec
from frazil.spec.topic import TableSpec


def test_a_topic_alone_is_enough() -> None:
    spec = TableSpec(topic="stock_trades")

    assert spec.mode == "append"
    assert spec.publish == ("glue", "snowflake")
    assert spec.on_bad_record == "suspend"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("30s", timedelta(seconds=30)),
        ("15m", timedelta(minutes=15)),
        ("1.5h", timedelta(minutes=90)),
        ("7 d", timedelta(days=7)),
        (90, timedelta(seconds=90)),
    ],
)
def test_durations_are_read_as_people_write_them(written: Any, meant: timedelta) -> None:
    assert TableSpec(topic="t", freshness=written).freshness == meant


def test_sizes_are_read_as_people_write_them() -> None:
    assert TableSpec(topic="t", write={"page_size": "2MiB"}).write.page_size == 2 * 2**20


def test_transforms_are_taken_apart() -> None:
    spec = TableSpec(
        topic="t", partition_by=("day($$timestamp)", "bucket(16, symbol)", "truncate(4,user-id)", "side")
    )

    assert spec.transforms == (
        ("day", "$$timestamp"),
        ("bucket[16]", "symbol"),
        ("truncate[4]", "user-id"),
        ("identity", "side"),
    )


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("topic", "stock trades", "Kafka takes letters"),
        ("table", "Trades", "lower-case"),
        ("namespace", "a.b", "lower-case"),
        ("freshness", "5 parsecs", "15m"),
        ("partition_by", ["days(ts)"], "year|month|day|hour"),
        ("partition_by", ["bucket(16"], "quote what holds a comma"),
        ("partition_by", ["a column"], "truncate(n, column) ["),
        ("value_subject", "", "at least 1 character"),
        ("owners", ["data team"], "team:name"),
        ("tags", {"cost centre": "7"}, "Dagster takes no other"),
        ("tags", {"team": "a" * 64}, "at most 63"),
        ("publish", ["snowflake"], "through Glue"),
        ("land_when", {"records": 0}, "greater than or equal to 1"),
        ("subject_names", "record", "needs record_type"),
        ("other_types", ["shop.Refund"], "write subject_names"),
        ("sort_by", ["price downwards"], "asc|desc"),
        ("sort_by", ["zorder(a, b)", "c"], "stands alone"),
        ("key_fields", ["id"], "with mode: upsert only"),
        ("on_null_value", "delete", "needs mode: upsert"),
        ("write", {"compression": "rar"}, "zstd"),
        ("write", {"compression": "gzip", "compression_level": 6}, "a level of zstd"),
    ],
)
def test_what_would_fail_later_is_refused_at_once(field: str, value: Any, expected: str) -> None:
    with pytest.raises(ValidationError) as refused:
        TableSpec.model_validate({"topic": "t", field: value})

    assert expected in str(refused.value)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ({"value_schema": "a.avsc", "value_format": "json"}, "a.avsc is no schema of value_format: json"),
        ({"key_schema": "k.proto", "key_format": "string"}, "k.proto is no schema of key_format: string"),
        ({"key_schema": "k.xsd"}, "ends with .avsc, .json, .proto"),
    ],
)
def test_a_schema_file_of_another_format_is_refused(written: dict[str, str], expected: str) -> None:
    with pytest.raises(ValidationError) as refused:
        TableSpec.model_validate({"topic": "t", **written})

    assert expected in str(refused.value)


def test_a_derived_table_rewrites_its_files() -> None:
    with pytest.raises(ValidationError, match="derived ones rewrite files"):
        DerivedSpec.model_validate({"table": "t", "sql": "SELECT 1", "write": {"delete": "vector"}})


def test_a_schema_file_goes_with_its_own_format() -> None:
    spec = TableSpec.model_validate({"topic": "t", "value_schema": "a.proto", "value_format": "protobuf"})

    assert spec.value_format == "protobuf"


def test_a_null_value_deletes_where_rows_have_a_key_unless_the_spec_says_otherwise() -> None:
    assert TableSpec(topic="t", mode="upsert").on_null_value == "delete"
    assert TableSpec(topic="t", mode="upsert", on_null_value="skip").on_null_value == "skip"
    assert TableSpec(topic="t", mode="cdc").on_null_value == "delete"
    assert TableSpec(topic="t").on_null_value == "bad"


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ({"on_null_value": "keep"}, "would make a row"),
        ({"key_fields": ["a", "b", "a"]}, "a is there twice"),
        ({"write": {"delete": "vector"}}, "needs format_version: 3"),
    ],
)
def test_what_upserts_can_not_do_is_refused_at_once(written: dict[str, Any], expected: str) -> None:
    with pytest.raises(ValidationError) as refused:
        TableSpec.model_validate({"topic": "t", "mode": "upsert", **written})

    assert expected in str(refused.value)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ({"on_null_value": "keep"}, "would make a row"),
        ({"key_fields": ["a"]}, "message.key.columns"),
        ({"key_format": "none"}, "mode: cdc needs the key"),
        ({"value_format": "bytes"}, "has no fields"),
        ({"value_format": "protobuf"}, "in Avro and JSON"),
        ({"current_by": ["id"]}, "current_by is for mode: append"),
        ({"order_by": "source.lsn"}, "needs mode: cdc and delete: soft"),
        ({"delete": "soft", "mode": "upsert"}, "delete: soft marks rows of a database"),
        ({"versions": "all", "mode": "upsert"}, "versions: all keeps the changes of a database"),
        ({"versions": "all", "delete": "soft"}, "every row stays anyway"),
        ({"versions": "all", "keep_rows_for": "7d"}, "it may hold now all the same"),
        ({"versions": "all", "format_version": 3, "write": {"delete": "vector"}}, "deletes no row"),
    ],
)
def test_what_changes_of_a_source_can_not_do_is_refused_at_once(
    written: dict[str, Any], expected: str
) -> None:
    with pytest.raises(ValidationError) as refused:
        TableSpec.model_validate({"topic": "t", "mode": "cdc", **written})

    assert expected in str(refused.value)


@pytest.mark.parametrize(
    ("written", "means"),
    [("TopicNameStrategy", "topic"), ("RecordNameStrategy", "record"),
     ("io.confluent.kafka.serializers.subject.TopicRecordNameStrategy", "topic_record")],
)  # fmt: skip
def test_ways_to_name_a_subject_have_confluents_names_too(written: str, means: str) -> None:
    assert TableSpec(topic="t", subject_names=written, record_type="R").subject_names == means  # type: ignore[arg-type]


def test_what_becomes_of_a_column_is_a_type_or_leave_out() -> None:
    spec = TableSpec(topic="t", columns={"ssn": "leave_out", "n": "decimal(20, 0)"})

    assert spec.columns == {"ssn": "leave_out", "n": "decimal(20,0)"}
    with pytest.raises(ValidationError, match="'number' is no type"):
        TableSpec(topic="t", columns={"n": "number"})


@pytest.mark.parametrize(
    ("written", "by_vector"),
    [
        ({}, False),
        ({"format_version": 3}, True),
        ({"format_version": 3, "write": {"delete": "vector"}}, True),
        ({"format_version": 3, "write": {"delete": "rewrite"}}, False),
        ({"format_version": 3, "mode": "append"}, False),
        ({"format_version": 3, "mode": "cdc", "versions": "all"}, False),
    ],
)
def test_vectors_mark_changed_rows_of_version_3_unless_the_spec_says_otherwise(
    written: dict[str, Any], by_vector: bool
) -> None:
    assert (
        TableSpec.model_validate({"topic": "t", "mode": "upsert", **written}).deletes_by_vector == by_vector
    )
