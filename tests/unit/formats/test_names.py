"""Names of key, value and metadata together: engines and catalogs take those that differ by case for one."""

from __future__ import annotations

from typing import Any

import pytest

from frazil.errors import SchemaRefusedError
from frazil.formats.columns import record_columns, table_fields
from frazil.formats.kinds import PLAIN_FORMATS
from frazil.formats.logical import Field, Primitive, Struct
from frazil.formats.protocol import KEY, HalfSchemas
from frazil.spec.topic import TableSpec

BYTES = PLAIN_FORMATS["bytes"].columns(HalfSchemas(KEY, PLAIN_FORMATS["bytes"], "t-key"))


def struct(*names: str) -> Struct:
    return Struct(tuple(Field(name, Primitive("long")) for name in names))


def columns(key: Struct, value: Struct, **spec: Any) -> list[str]:
    made = TableSpec(topic="t", **spec)
    return [f.name for f in table_fields(made, record_columns(made, key, value))]


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        (BYTES, struct("Key"), "key of the key and Key of the value differ by case only"),
        (struct("a", "ID"), struct("id"), "ID of the key and id of the value differ by case only"),
        (struct("ID", "id"), struct("id"), "ID of the key and id of the value differ by case only"),
        (BYTES, struct("$$offset"), r"\$\$offset is a column of Frazil's own\."),
        (BYTES, struct("$$Offset"), r"\$\$Offset is a column of Frazil's own, but for case: \$\$offset"),
        (struct("$$RAW-key"), struct("a"), r"but for case: \$\$raw-key"),
    ],
)
def test_names_that_differ_by_case_only_are_refused(key: Struct, value: Struct, said: str) -> None:
    with pytest.raises(SchemaRefusedError, match=rf"{said}[\s\S]*topic t[\s\S]*Rename"):
        columns(key, value)


def test_portable_names_are_taken_in_any_case_too() -> None:
    value = struct("Cflt_Metadata_Offset")

    assert "Cflt_Metadata_Offset" in columns(BYTES, value)
    with pytest.raises(SchemaRefusedError, match="but for case: cflt_metadata_offset"):
        columns(BYTES, value, metadata_names="portable")


def test_a_key_that_is_left_out_is_in_nobodys_way() -> None:
    assert columns(Struct(()), struct("Key"))[0] == "Key"


def test_one_name_in_key_and_value_is_the_values() -> None:
    assert columns(struct("id", "at"), struct("id", "n"))[:3] == ["at", "id", "n"]
