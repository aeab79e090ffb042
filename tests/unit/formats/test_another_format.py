"""A format is registered in one place: then topics of it have columns, a decoder, and schema files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from frazil.errors import ConfigureError, SpecError
from frazil.formats.kinds import SCHEMA_FORMATS
from frazil.formats.protocol import WriterSchema
from frazil.formats.record import decoder_for, topic_columns
from frazil.formats.registry.client import RegistryClient, registry_client
from frazil.formats.registry.wanted import WantedSchema, differences, read_schema
from frazil.settings.profile import Settings
from frazil.spec.topic import SCHEMA_KINDS, TableSpec
from kit.tables.comma_separated import KIND, SCHEMA_ID, CommaSeparated, registry_with

SPEC = TableSpec(topic="parcels")


@pytest.fixture
def registry() -> Iterator[RegistryClient]:
    with registry_with("parcels-value", "name,weight") as address:
        yield registry_client(Settings.load(registry={"url": address}))


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SCHEMA_FORMATS, KIND, CommaSeparated())
    monkeypatch.setitem(SCHEMA_KINDS, ".csv", KIND)


def test_a_format_that_nobody_registered_is_refused_by_its_name(registry: RegistryClient) -> None:
    with pytest.raises(ConfigureError, match="Format csv is unknown") as refused:
        topic_columns(SPEC, registry)

    assert "parcels-value" in refused.value.where
    assert refused.value.todo == "Use Avro, JSON or Protobuf."


@pytest.mark.usefixtures("registered")
def test_its_schemas_become_columns(registry: RegistryClient) -> None:
    columns = topic_columns(SPEC, registry)

    assert [f.name for f in columns.fields] == ["key", "name", "weight"]


@pytest.mark.usefixtures("registered")
def test_its_decoder_says_why_a_record_is_bad(registry: RegistryClient) -> None:
    decoder = decoder_for(SPEC, registry, {})

    assert decoder.value.writers == (SCHEMA_ID,)
    assert decoder.explain(None, b"\0\0\0\0\7just one", True, False) == ("columns", "1 values for 2 columns")


@pytest.mark.usefixtures("registered")
def test_its_schema_files_are_read_and_compared(tmp_path: Path) -> None:
    file = tmp_path / "parcels.csv"
    file.write_text("name,height")
    wanted = read_schema(file)
    (tmp_path / "none.csv").write_text("?")

    assert wanted == WantedSchema(KIND, "name,height", str(file))
    assert differences(WriterSchema(SCHEMA_ID, 1, "name,weight", KIND), wanted) == [
        "weight: 1 in the registry, not wanted",
        "height: not in the registry, 1 wanted",
    ]
    with pytest.raises(SpecError, match="this is no CSV schema: '\\?' names no columns"):
        read_schema(tmp_path / "none.csv")
