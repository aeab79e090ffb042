"""Names of key, value and metadata together: engines and catalogs take those that differ by case for one."""

from __future__ import annotations

from typing import Any

import pytest

from frazil.errors import SchemaRefusedError
from frazil.formats.columns.columns import record_columns, table_fields
from frazil.formats.kinds import PLAIN_FORMATS
from frazil.formats.logical import Field, List, Primitive, Struct
from frazil.formats.protocol import KEY, HalfSchemas
from frazil.spec.topic import TableSpec

BYTES = PLAIN_FORMATS["bytes"].columns(HalfSchemas(KEY, PLAIN_FORMATS["bytes"], "t-key"))


def struct(*names: str) -> Struct:
    return Struct(tuple(Field(name, Primitive("long")) for name in names))


def columns(key: Struct, value: Struct, **spec: Any) -> list[str]:
    made = TableSpec(topic="t", **spec)
    return [f.name for f in table_fields(made, record_columns(made, key, value))]


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        (BYTES, struct("Key"), "key of the key and Key of the value differ by case only"),
        (struct("a", "ID"), struct("id"), "ID of the key and id of the value differ by case only"),
        (struct("ID", "id"), struct("id"), "ID of the key and id of the value differ by case only"),
        (BYTES, struct("$$offset"), r"\$\$offset is a column of Frazil's own\."),
        (BYTES, struct("$$Offset"), r"\$\$Offset is a column of Frazil's own, but for case: \$\$offset"),
        (struct("$$RAW-key"), struct("a"), r"but for case: \$\$raw-key"),
    ],
)
def test_names_that_differ_by_case_only_are_refused(key: Struct, value: Struct, expected: str) -> None:
    with pytest.raises(SchemaRefusedError, match=rf"{expected}[\s\S]*topic t[\s\S]*Rename"):
        columns(key, value)


@pytest.mark.parametrize(
    ("name", "keeper"),
    [
        ("_file", "Iceberg"), ("_pos", "Iceberg"), ("_Deleted", "Iceberg"), ("_spec_id", "Iceberg"),
        ("_partition", "Iceberg"), ("_row_id", "Iceberg"), ("_last_updated_sequence_number", "Iceberg"),
        ("_change_type", "Iceberg"), ("$path", "Athena"), ("METADATA$ROW_ID", "Snowflake"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("half", ["key", "value"])
def test_a_name_that_an_engine_keeps_for_itself_is_refused(name: str, keeper: str, half: str) -> None:
    """It landed, and Spark could not select it: https://github.com/apache/iceberg/issues/3456."""
    key, value = (struct(name), struct("a")) if half == "key" else (BYTES, struct(name))

    with pytest.raises(SchemaRefusedError, match=f"{keeper}[\\s\\S]*Rename the field"):
        columns(key, value)
    assert columns(BYTES, struct("file", "_position", "metadata", "current_date"))


@pytest.mark.parametrize("names", [("log", "log.level"), ("log.level", "log"), ("LOG", "log.Level")])
def test_a_dotted_name_beside_the_path_it_says_is_refused(names: tuple[str, str]) -> None:
    """As ECS' loggers write it; PyIceberg raised a ValueError."""
    level = Struct((Field("level", Primitive("string")),))
    fields = tuple(Field(n, Primitive("string") if "." in n else level) for n in names)
    listed = Struct((Field("many", List(Struct(fields))),))

    for value in (Struct(fields), listed):
        with pytest.raises(SchemaRefusedError, match=r"two fields have the path .*[lL]evel"):
            columns(BYTES, value)
    apart = columns(BYTES, Struct((Field("log", level), Field("log.line", Primitive("long")))))
    assert apart[1:3] == ["log", "log.line"]


def test_portable_names_are_taken_in_any_case_too() -> None:
    value = struct("Cflt_Metadata_Offset")

    assert "Cflt_Metadata_Offset" in columns(BYTES, value)
    with pytest.raises(SchemaRefusedError, match="but for case: cflt_metadata_offset"):
        columns(BYTES, value, metadata_names="portable")


def test_a_key_that_is_left_out_is_in_nobodys_way() -> None:
    assert columns(Struct(()), struct("Key"))[0] == "Key"


def test_one_name_in_key_and_value_is_the_values() -> None:
    assert columns(struct("id", "at"), struct("id", "n"))[:3] == ["at", "id", "n"]


@pytest.mark.parametrize(
    ("names", "todo", "renamed"),
    [(["_file"], "Rename the field.", ["file"]), (["log.level"], "Rename one of them.", ["log_level"])],
)
def test_fields_that_are_renamed_as_told_are_columns(names: list[str], todo: str, renamed: list[str]) -> None:
    log = Field("log", struct("level"))
    with pytest.raises(SchemaRefusedError) as refused:
        columns(BYTES, Struct((log, *struct(*names))))

    columns_read = columns(BYTES, Struct((log, *struct(*renamed))))

    assert refused.value.todo == todo
    assert columns_read[1:3] == ["log", *renamed]
