"""What is no answer of a registry is told as such, with its address."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from frazil.errors import PartDownError
from frazil.formats.registry import subject_versions
from frazil.formats.registry_client import RegistryClient, registry_client
from frazil.settings.profile import Settings
from kit.answering import Server, serving

GOOD = {"subject": "t-value", "version": 1, "id": 7, "schema": '"int"', "schemaType": "AVRO"}


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture
def client(server: Server) -> RegistryClient:
    return registry_client(Settings(registry={"url": server.url}))


@pytest.mark.parametrize(
    ("version", "versions"),
    [
        (None, [1]),
        ([], [1]),
        ({**GOOD, "subject": {"a": 1}}, [1]),
        ({**GOOD, "id": "seven"}, [1]),
        ({**GOOD, "schema": 7}, [1]),
        (GOOD, []),
        (GOOD, [[1]]),
        (GOOD, None),
    ],
)
def test_a_body_of_another_shape_is_no_schema(
    server: Server, client: RegistryClient, version: Any, versions: Any
) -> None:
    server.answers = {
        "versions/latest": (200, {}, json.dumps(version).encode()),
        "versions/1": (200, {}, json.dumps(version).encode()),
        "versions": (200, {}, json.dumps(versions).encode()),
    }

    with pytest.raises(PartDownError) as told:
        subject_versions(client, "t-value")

    assert server.url.removeprefix("http://") in told.value.where
