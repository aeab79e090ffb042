"""What Glue's schema registry answers instead of a schema, and what helps then; boto's own stubs answer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from botocore.session import Session
from botocore.stub import Stubber

from frazil.errors import ConfigureError, FrazilError, MissingError, NotAllowedError, PartDownError
from frazil.formats.registry.glue import GlueRegistry
from frazil.formats.registry.wanted import WantedSchema, register

_ASKED = {"SchemaId": {"RegistryName": "shop", "SchemaName": "orders"}}
_NEWEST = {**_ASKED, "SchemaVersionNumber": {"LatestVersion": True}}
_VERSION = {
    "SchemaVersionId": "b7b4a7f0-9c96-4e4a-a687-fb5de9ef0c63", "SchemaDefinition": '"int"',
    "DataFormat": "AVRO", "VersionNumber": 1, "Status": "AVAILABLE",
}  # fmt: skip


@pytest.fixture
def stub() -> Iterator[Stubber]:
    keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b"}
    with Stubber(Session().create_client("glue", region_name="eu-west-1", **keys)) as stub:
        yield stub


@pytest.mark.parametrize(
    ("code", "status", "kind", "helps"),
    [
        ("AccessDeniedException", 400, NotAllowedError, "glue:GetSchemaVersion"),
        ("InvalidInputException", 400, ConfigureError, "FRAZIL_REGISTRY__GLUE_NAME"),
        ("EntityNotFoundException", 400, MissingError, "value_subject"),
        ("InternalServiceException", 500, PartDownError, "Try again"),
        ("ThrottlingException", 400, PartDownError, "Try again"),
    ],
)
def test_a_refusal_names_what_helps_and_the_next_try_succeeds(
    stub: Stubber, code: str, status: int, kind: type[FrazilError], helps: str
) -> None:
    registry = GlueRegistry(lambda: stub.client, "shop")
    stub.add_client_error("get_schema_version", code, "No.", status, expected_params=_NEWEST)
    stub.add_response("get_schema_version", _VERSION, _NEWEST)

    with pytest.raises(kind) as refused:
        registry.versions("orders")

    assert helps in refused.value.todo
    assert [version.text for version in registry.versions("orders")] == ['"int"']


def test_a_schema_is_registered_by_the_producer(stub: Stubber) -> None:
    registry = GlueRegistry(lambda: stub.client, "shop")

    with pytest.raises(ConfigureError, match="registers no schema in Glue") as refused:
        register(registry, "orders", WantedSchema("AVRO", '"int"'))

    assert "aws glue create-schema" in refused.value.todo
