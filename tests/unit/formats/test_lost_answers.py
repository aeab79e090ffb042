"""A registry's answer that is lost, cut, late or never comes: the schemas as they are, or a clear error."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import get_args

import pytest

from frazil.errors import PartDownError
from frazil.formats.registry.client import RegistryClient, registry_client
from frazil.formats.registry.subjects import subject_versions
from frazil.formats.registry.wanted import WantedSchema, register
from frazil.settings.profile import Settings
from kit.wires.answering import serving
from kit.wires.wire import Fate, Wire, wired

KNOWN = {"subject": "t-value", "version": 1, "id": 7, "schema": '"int"', "schemaType": "AVRO"}
PASSING: tuple[Fate, ...] = tuple(set(get_args(Fate)) - {"forbidden", "hangs"})


@pytest.fixture
def wire_and_client() -> Iterator[tuple[Wire, RegistryClient]]:
    """A registry of one schema behind a wire; its client waits for an answer for a moment only."""
    with serving() as server, wired({"registry": server.url}) as (wire, urls):
        known = (200, {}, json.dumps(KNOWN).encode())
        server.answers = {
            "t-value/versions/": known, "t-value/versions": (200, {}, b"[1]"), "u-value": known,
        }  # fmt: skip
        client = registry_client(Settings(registry={"url": urls["registry"]}))
        client._rest_client.session.timeout = 0.5
        yield wire, client


@pytest.mark.parametrize("fate", [*sorted(PASSING), "hangs"])
def test_what_befalls_one_answer_is_told_and_the_next_look_finds_all_versions(
    wire_and_client: tuple[Wire, RegistryClient], fate: Fate
) -> None:
    wire, client = wire_and_client
    for number in range(3):
        numbers = iter(range(100))
        wire.plan = lambda _, of=number, numbers=numbers: fate if next(numbers) == of else None  # type: ignore[misc]
        client.remembered.clear()
        with suppress(PartDownError):
            subject_versions(client, "t-value")
        versions = subject_versions(client, "t-value")
        assert [(v.schema_id, v.text) for v in versions] == [(7, '"int"')]
    assert wire.met["registry", fate] == 3


@pytest.mark.parametrize("fate", ["cut", "dropped", "failed", "halved", "hangs", "refused", "unsent"])
def test_a_registry_that_never_answers_well_is_named(
    wire_and_client: tuple[Wire, RegistryClient], fate: Fate
) -> None:
    wire, client = wire_and_client
    wire.always(fate, lambda _: True)

    with pytest.raises(PartDownError, match="schema registry does not answer"):
        subject_versions(client, "t-value")


@pytest.mark.parametrize("fate", ["cut", "dropped", "failed", "replayed"])
def test_a_schema_whose_registration_is_not_answered_is_registered_or_told_as_unknown(
    wire_and_client: tuple[Wire, RegistryClient], fate: Fate
) -> None:
    wire, client = wire_and_client
    wire.once(fate, lambda asked: asked.method == "POST" and "/versions" in asked.path)
    message = ""

    try:
        version = register(client, "u-value", WantedSchema("AVRO", '"int"'))
    except PartDownError as e:
        message = e.meaning
        version = register(client, "u-value", WantedSchema("AVRO", '"int"'))

    assert version.schema_id == 7
    assert "Nothing was changed" not in message
