"""Debezium's envelope: which columns its row becomes, what its notes mean, and what is none."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from frazil.errors import ConfigureError, SchemaRefusedError
from frazil.formats.columns.columns import metadata_names, table_fields
from frazil.formats.debezium.envelope import Envelope, envelope
from frazil.formats.halves import schemas_of
from frazil.formats.logical import Field, Primitive, Struct, Type
from frazil.formats.protocol import KEY, VALUE, Half, HalfSchemas, WriterSchema
from frazil.formats.record import file_fields, row_columns
from frazil.formats.row_key import row_key
from frazil.spec.topic import TableSpec
from kit.records.envelopes import (
    FIELDS,
    JSON_ENVELOPE,
    JSON_KEY,
    KEY_FIELDS,
    avro_envelope,
    embedded,
    record,
)

SPEC = TableSpec(topic="shop.public.orders", mode="cdc")
TEXT, INT, LONG = Primitive("string"), Primitive("int"), Primitive("long")
ROW = Struct((Field("key", TEXT), Field("quantity", INT)))
COLUMNS = {
    "key": TEXT,
    "quantity": INT,
    "note": TEXT,
    "at": Primitive("timestamp"),
    "seen": Primitive("timestamptz"),
}


def columns(half: Half, kind: str, *schemas: Any, spec: TableSpec = SPEC) -> Struct:
    """The columns of a half by its versions, oldest first."""
    writers = [WriterSchema(n, n, json.dumps(schema), kind) for n, schema in enumerate(schemas, 1)]
    return schemas_of(spec, half, writers).columns


def types(fields: Sequence[Field]) -> dict[str, Type]:
    return {f.name: f.type for f in fields}


@pytest.mark.parametrize(
    ("kind", "key", "value"),
    [
        ("AVRO", record("Key", KEY_FIELDS), avro_envelope()),
        ("JSON", JSON_KEY, JSON_ENVELOPE),
        ("JSON", embedded(JSON_KEY), embedded(JSON_ENVELOPE)),
    ],
)
def test_the_table_has_the_columns_of_the_row(kind: str, key: Any, value: Any) -> None:
    actual = row_columns(SPEC, columns(KEY, kind, key), columns(VALUE, kind, value))

    assert types(actual.fields) == COLUMNS
    assert {f.name for f in actual.fields if f.optional} == {"note", "at", "seen"}
    assert list(row_key(SPEC, actual).columns) == ["key"]


def test_files_beside_the_pipeline_tell_the_same_columns(tmp_path: Path) -> None:
    (tmp_path / "key.avsc").write_text(json.dumps(record("Key", KEY_FIELDS)))
    (tmp_path / "value.avsc").write_text(json.dumps(avro_envelope()))
    files = {"key_schema": tmp_path / "key.avsc", "value_schema": tmp_path / "value.avsc"}

    columns_of_files = file_fields(SPEC.model_copy(update=files))

    assert columns_of_files
    assert COLUMNS.items() <= types(columns_of_files).items()
    assert "after" not in types(columns_of_files)


def test_the_table_says_what_was_done_last_and_when_by_the_source() -> None:
    in_table = table_fields(SPEC, row_columns(SPEC, Struct(ROW.fields[:1]), changes(ROW)))

    own = {"$$op": TEXT, "$$source-time": Primitive("timestamptz"), "$$source-lsn": LONG}
    assert own.items() <= types(in_table).items()
    assert not own.keys() & set(metadata_names(TableSpec(topic="t", mode="upsert")))
    portable = SPEC.model_copy(update={"metadata_names": "portable"})
    assert "cflt_metadata_source_time" in metadata_names(portable)


def test_where_deleted_rows_stay_the_table_says_which_and_since_when() -> None:
    soft = SPEC.model_copy(update={"delete": "soft"})

    kinds = types(table_fields(soft, row_columns(soft, Struct(ROW.fields[:1]), changes(ROW))))

    own = {"$$deleted": Primitive("boolean"), "$$deleted-at": Primitive("timestamptz")}
    assert own.items() <= kinds.items()
    assert not own.keys() & set(metadata_names(SPEC))


@pytest.mark.parametrize(
    ("kind", "name", "expected"),
    [
        ("int", "Date", Primitive("date")),
        ("int", "Time", LONG),
        ("long", "MicroTime", LONG),
        ("long", "NanoTime", LONG),
        ("long", "Timestamp", Primitive("timestamp")),
        ("long", "MicroTimestamp", Primitive("timestamp")),
        ("long", "NanoTimestamp", LONG),
        ("string", "ZonedTimestamp", Primitive("timestamptz")),
        ("string", "ZonedTime", TEXT),
        ("string", "Date", TEXT),
        ("int", "Year", INT),
    ],
)
def test_numbers_that_debezium_names_are_times(kind: str, name: str, expected: Type) -> None:
    noted = {"type": kind, "connect.name": f"io.debezium.time.{name}"}
    avro = avro_envelope([*KEY_FIELDS, {"name": "f", "type": noted}])
    connect = {"int": "int32", "long": "int64"}.get(kind)
    number = {"type": "integer", "connect.type": connect} if connect else {"type": "string"}
    titled = {**number, "title": f"io.debezium.time.{name}"}
    row = {
        "type": "object",
        "properties": {"f": titled},
        "required": ["f"],
    }
    shape = {"type": "object", "properties": {"op": {"type": "string"}, "after": row}}
    key = Struct((Field("key", TEXT),))

    assert types(row_columns(SPEC, key, columns(VALUE, "AVRO", avro)).fields)["f"] == expected
    kind_read = types(row_columns(SPEC, key, columns(VALUE, "JSON", shape)).fields)["f"]
    assert kind_read == expected


def test_in_other_modes_they_stay_numbers() -> None:
    spec = TableSpec(topic="t")

    after = columns(VALUE, "AVRO", avro_envelope(), spec=spec).get("after")

    assert after
    assert types(after.type.fields)["at"] == LONG


def test_what_older_records_of_the_source_lack_is_optional_or_has_its_default() -> None:
    zero = {"name": "price", "type": {"type": "int", "connect.default": 0}, "default": 0}
    schemas = avro_envelope(), avro_envelope([*FIELDS, zero])

    actual = row_columns(SPEC, Struct((Field("key", TEXT),)), columns(VALUE, "AVRO", *schemas))

    assert types(actual.fields)["price"] == INT


def test_a_rename_speaks_of_the_row_and_reads_what_was_written_before_it() -> None:
    rename = {"id": "one", "rename": {"from": "note", "to": "remark"}}
    spec = TableSpec.model_validate({"topic": "t", "mode": "cdc", "migrations": [rename]})

    writers = [WriterSchema(1, 1, json.dumps(avro_envelope()), "AVRO")]
    schemas: HalfSchemas = schemas_of(spec, VALUE, writers)

    assert ("after.note", "remark") in schemas.renames
    assert ("before.note", "remark") in schemas.renames
    assert schemas_of(spec, KEY, writers).renames == (("note", "remark"),)


def changes(row: Type, op: Type = TEXT, *more: Field) -> Struct:
    return Struct((Field("op", op), Field("after", row, optional=True), *more))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (ROW, "there is no field after. It must be a record"),
        (changes(TEXT), "field after is string. It must be a record"),
        (changes(ROW, INT), "field op is int. It must be a text"),
        (Struct(changes(ROW).fields[1:]), "there is no field op"),
        (Struct((Field("payload", changes(ROW)), Field("other", TEXT))), "there is no field after"),
    ],
)
def test_what_is_no_envelope_is_refused(value: Struct, expected: str) -> None:
    with pytest.raises(SchemaRefusedError) as refused:
        envelope(SPEC, ROW, value)

    assert expected in refused.value.what
    assert "mode: upsert" in refused.value.todo


def test_what_the_source_does_not_tell_is_null() -> None:
    bare = envelope(SPEC, ROW, changes(ROW))
    mysql = Struct((Field("ts_ms", LONG), Field("lsn", TEXT)))
    recipe = envelope(SPEC, ROW, changes(ROW, TEXT, Field("source", mysql)))

    assert not bare.arrow.has_lsn
    assert not recipe.arrow.has_lsn
    assert recipe.arrow.has_time
    assert not bare.arrow.has_time


def test_an_order_by_the_sources_log_needs_its_numbers_and_lets_a_delete_make_a_row() -> None:
    by_lsn = SPEC.model_copy(update={"delete": "soft", "order_by": "source.lsn"})
    key = Struct(ROW.fields[:1])
    source = Field("source", Struct((Field("lsn", LONG, optional=True),)))

    for other in (changes(ROW), changes(ROW, TEXT, Field("source", Struct((Field("lsn", TEXT),))))):
        with pytest.raises(SchemaRefusedError, match="can't be put in order"):
            row_columns(by_lsn, key, other)
    in_row = row_columns(by_lsn, key, changes(ROW, TEXT, source))
    assert all(f.optional for f in in_row.fields)


def test_protobuf_is_refused() -> None:
    with pytest.raises(ConfigureError, match="written in Protobuf"):
        columns(VALUE, "PROTOBUF", "")


def test_faults_are_told_in_words() -> None:
    assert Envelope.reason("operation m") == ("operation", "op is m, which is none of c, u, r, d and t")
    assert "note holds" in Envelope.reason("unavailable_value note")[1]


def test_changes_of_mongodb_are_told_by_name() -> None:
    source = Struct((Field("collection", TEXT), Field("ts_ms", LONG)))
    value = Struct((Field("after", TEXT, True), Field("op", TEXT), Field("source", source)))

    with pytest.raises(SchemaRefusedError, match="changes of MongoDB") as refused:
        envelope(SPEC, ROW, value)

    assert "ExtractNewDocumentState" in refused.value.todo
