"""A candidate's file that can't be read, or holds no schema, is fixed as the error says, and is judged."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from frazil.checks.candidate import _columns
from frazil.connections import Connections
from frazil.errors import ConfigureError, SchemaRefusedError, SpecError
from frazil.formats.protocol import VALUE
from frazil.formats.record import topic_columns
from frazil.formats.registry.client import registry_client
from frazil.settings.profile import Settings
from frazil.spec.topic import TableSpec
from kit.wires.answering import serving

ROW = {"type": "record", "name": "Row", "fields": [{"name": "id", "type": "long"}]}
CHANGE = {
    "type": "record",
    "name": "Change",
    "fields": [{"name": "op", "type": "string"}, {"name": "after", "type": ["null", ROW]}],
}
TEXT = json.dumps(CHANGE).encode()


@pytest.fixture
def connections() -> Iterator[Connections]:
    """Those of a registry that knows the key's subject only."""
    key = {"subject": "t-key", "version": 1, "id": 7, "schema": json.dumps(ROW), "schemaType": "AVRO"}
    with serving() as server:
        server.answers = {
            "t-key/versions/": (200, {}, json.dumps(key).encode()),
            "t-key/versions": (200, {}, b"[1]"),
        }
        registry = registry_client(Settings(registry={"url": server.url}))
        yield cast("Connections", SimpleNamespace(registry=registry))


def columns(connections: Connections, file: Path) -> list[str]:
    spec = TableSpec(topic="t", mode="cdc", delete="soft", order_by="offset")
    return [f.name for f in _columns(spec, connections, file, VALUE).fields]


@pytest.mark.parametrize(
    ("name", "content", "todo"),
    [
        ("next.avcs", TEXT, "Rename it."),
        ("next.avsc", None, "Name a file that is there, of UTF-8 text."),
        ("next.avsc", json.dumps(CHANGE).encode("utf-16"), "Name a file that is there, of UTF-8 text."),
        ("next.avsc", TEXT[:-1], "Fix the schema."),
    ],
)
def test_a_file_that_is_mended_as_told_is_judged(
    connections: Connections, tmp_path: Path, name: str, content: bytes | None, todo: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises((SpecError, SchemaRefusedError)) as refused:
        columns(connections, tmp_path / name)

    (tmp_path / "next.avsc").write_bytes(TEXT)

    assert refused.value.todo == todo
    assert columns(connections, tmp_path / "next.avsc") == ["id"]


def test_a_file_of_another_format_than_the_spec_says_is_told_as_its_landing_would_tell_it(
    connections: Connections, tmp_path: Path
) -> None:
    """It was judged as if the spec said nothing, and the landing after its registration was refused."""
    (tmp_path / "next.avsc").write_text(json.dumps(ROW))
    spec = TableSpec(topic="t", value_format="json")
    with pytest.raises(ConfigureError, match="is of format avro, the spec says json") as refused:
        _columns(spec, connections, tmp_path / "next.avsc", VALUE)

    mended = spec.model_copy(update={"value_format": "avro"})

    assert "Write value_format: avro in defs.yaml" in refused.value.todo
    assert [f.name for f in _columns(mended, connections, tmp_path / "next.avsc", VALUE).fields] == ["id"]


def test_a_table_of_listed_fields_changes_by_its_list_and_by_no_schema(
    connections: Connections, tmp_path: Path
) -> None:
    one, other = ({"name": name, "type": "long"} for name in ("id", "size"))
    document = {"topic": "t", "value_format": "json", "key_format": "none"}
    (tmp_path / "next.json").write_text("{}")
    with pytest.raises(SpecError, match="values have no schema") as refused:
        _columns(
            TableSpec.model_validate({**document, "fields": [one]}),
            connections,
            tmp_path / "next.json",
            VALUE,
        )

    changed = TableSpec.model_validate({**document, "fields": [one, other]})

    assert refused.value.todo.startswith("Change the fields; `frazil describe` then says")
    assert [f.name for f in topic_columns(changed, connections.registry).fields] == ["id", "size"]
