"""Azure's schema registry, by a stand-in: its versions, what its content types name, and what it refuses."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator

import pyarrow as pa
import pytest

from frazil.clients import Clients
from frazil.errors import ConfigureError, MissingError, PartDownError
from frazil.formats.kinds import SCHEMA_FORMATS
from frazil.formats.protocol import VALUE, HalfSchemas
from frazil.formats.record import decoder_for
from frazil.formats.registry.azure import AzureRegistry
from frazil.formats.registry.subjects import subject_versions
from frazil.formats.registry.wanted import WantedSchema, register
from frazil.formats.wires.known import naming_of
from frazil.settings.profile import Settings
from frazil.spec.topic import TableSpec
from kit.wires.azure import TOKEN, Azure, azure

TEXTS = [
    json.dumps(
        {"type": "record", "name": "shop.Order", "fields": [{"name": "n", "type": "int", "doc": str(n)}]}
    )
    for n in range(3)
]
IDS = [uuid.uuid5(uuid.NAMESPACE_URL, str(n)).hex for n in range(3)]


@pytest.fixture
def registry() -> Iterator[Azure]:
    with azure() as registry:
        registry.schemas = {"shop.Order": list(zip(IDS, TEXTS, strict=True))}
        yield registry


@pytest.fixture
def client(registry: Azure) -> AzureRegistry:
    answered = Clients(Settings(registry=registry.settings)).registry
    assert isinstance(answered, AzureRegistry)
    return answered


def test_versions_are_read_by_one_token_and_those_of_a_schema_made_again_are_read_again(
    registry: Azure, client: AzureRegistry
) -> None:
    answered = subject_versions(client, "shop.Order")
    registry.schemas["shop.Order"] = registry.schemas["shop.Order"][::-1]
    other = subject_versions(client, "shop.Order")

    assert [(w.version, w.azure_id, w.text) for w in answered] == [
        (n + 1, IDS[n], TEXTS[n]) for n in range(3)
    ]
    assert [w.azure_id for w in other] == IDS[::-1]
    assert len({w.schema_id for w in answered}) == 3
    assert registry.tokens == 1


def test_a_content_type_names_a_version_and_another_one_names_none(client: AzureRegistry) -> None:
    writers = subject_versions(client, "shop.Order")
    naming = naming_of(HalfSchemas(VALUE, SCHEMA_FORMATS["AVRO"], "shop.Order", writers))
    dashed = str(uuid.UUID(IDS[1])).upper()
    types = [f"avro/binary+{IDS[0]}", f"avro/binary+{dashed}", f"avro/binary+{'0' * 32}", "application/json"]
    headers = [[("content-type", each.encode())] for each in types]
    names = pa.array([["content-type"]] * 4, pa.list_(pa.string()))
    values = pa.array([[each.encode()] for each in types], pa.list_(pa.binary()))

    prefixed = naming.prefixed(pa.array([b"\2"] * 4, pa.binary()), names, values).to_pylist()

    assert prefixed == [b"\0" + writers[n].schema_id.to_bytes(4, "big") + b"\2" for n in (0, 1)] + [b"", b""]
    assert [naming.prefixed_one(b"\2", each) for each in headers] == prefixed
    assert [naming.reason(b"\2", each) is None for each in headers] == [True, True, False, False]
    _, why = naming.reason(b"\2", headers[3]) or ("", "")
    assert why == "header content-type is 'application/json', which is no version of shop.Order"


def test_what_it_refuses_is_named_with_what_helps(registry: Azure, client: AzureRegistry) -> None:
    with pytest.raises(MissingError, match="has no schema shop") as missing:
        subject_versions(client, "shop.Refund")
    registry.schemas["json"] = [(IDS[0], '{"type": "object"}')]
    with pytest.raises(ConfigureError, match="is not in Avro"):
        subject_versions(client, "json")
    with pytest.raises(ConfigureError, match="registers no schema"):
        register(client, "shop.Order", WantedSchema("AVRO", TEXTS[0]))
    strange = Clients(
        Settings(registry={**registry.settings, "token": "another", "client_secret": "s"})
    ).registry
    with pytest.raises(ConfigureError, match="gives no access") as refused:
        subject_versions(strange, "shop.Order")
    registry.down = True
    with pytest.raises(PartDownError, match="does not answer") as down:
        subject_versions(client, "shop.Order")

    registry.down = False
    assert len(subject_versions(client, "shop.Order")) == 3
    as_text = TableSpec(topic="t", key_format="none", value_format="string", value_subject="json")
    assert [f.name for f in decoder_for(as_text, client, {}).columns.fields] == ["value"]
    assert "value_subject" in missing.value.todo
    assert "Schema Registry Reader" in refused.value.todo
    assert "HTTP 503" in down.value.where
    assert TOKEN not in f"{missing.value} {refused.value} {down.value}"


def test_a_client_that_nobody_knows_is_refused_with_the_words_of_its_endpoint(registry: Azure) -> None:
    wrong = Clients(Settings(registry={**registry.settings, "client_secret": "of another"})).registry

    with pytest.raises(ConfigureError, match="gives no access") as refused:
        subject_versions(wrong, "shop.Order")

    assert "invalid_client: AADSTS7000215" in refused.value.where
    assert "of another" not in str(refused.value)


@pytest.mark.parametrize("without", ["azure_group", "token_url"])
def test_settings_that_are_not_whole_are_refused(registry: Azure, without: str) -> None:
    given = {name: value for name, value in registry.settings.items() if name != without}
    if without == "token_url":
        given = {name: value for name, value in given.items() if not name.startswith("client")}

    with pytest.raises(ValueError, match="kind azure needs azure_group"):
        Settings(registry=given)
