"""AWS Glue's schema registry: what Frazil asks of a registry, by `glue:GetSchemaVersion` alone."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from frazil.errors import STAYS, ConfigureError, FrazilError, MissingError, NotAllowedError, PartDownError
from frazil.formats.protocol import WriterSchema
from frazil.formats.registry.client import RegistryClient
from frazil.settings.identity import aws_session
from frazil.settings.profile import Settings

_SECONDS = 5
_MISSING = "EntityNotFoundException"
_DENIED = ("AccessDeniedException", "UnrecognizedClientException", "ExpiredTokenException")
_KINDS = ("AVRO", "JSON", "PROTOBUF")
_AVAILABLE = "AVAILABLE"


class GlueRegistry(RegistryClient):
    """One of Glue's registries. A subject is the name of a schema in it.

    Args:
        open_client: Opens boto's client of Glue.
        name: The registry's name.
    """

    def __init__(self, open_client: Callable[[], Any], name: str) -> None:
        self.remembered: dict[str, tuple[WriterSchema, ...]] = {}
        self.name = name
        self._open_client = open_client

    @cached_property
    def _client(self) -> Any:
        return self._open_client()

    def versions(self, subject: str) -> tuple[WriterSchema, ...]:
        """All versions of a schema, oldest first; one small request where nothing changed.

        Raises:
            MissingError: There is no such schema.
            NotAllowedError: The identity may not read it.
        """
        with self._errors(subject):
            newest = self._version(subject, {"LatestVersion": True})
            known = self.remembered.get(subject, ())
            if not known or known[-1] != newest:
                known = (*self._older(subject, newest.version), newest)
                self.remembered[subject] = known
            return known

    def _older(self, subject: str, newest: int) -> Iterator[WriterSchema]:
        for number in range(1, newest):
            try:
                yield self._version(subject, {"VersionNumber": number})
            except _Absent:
                continue

    def _version(self, subject: str, number: Mapping[str, Any]) -> WriterSchema:
        schema = {"RegistryName": self.name, "SchemaName": subject}
        answer = self._asked(SchemaId=schema, SchemaVersionNumber=dict(number))
        if answer.get("Status", _AVAILABLE) != _AVAILABLE:
            raise _Absent
        kind, version_id = str(answer["DataFormat"]), str(answer["SchemaVersionId"])
        if kind not in _KINDS:
            raise TypeError(f"{kind!r:.100} is no format of a schema")
        number_of_it, text = int(answer["VersionNumber"]), str(answer["SchemaDefinition"])
        return WriterSchema(number_of(version_id), number_of_it, text, kind, glue_id=version_id)

    def _asked(self, **arguments: Any) -> Mapping[str, Any]:
        from botocore.exceptions import ClientError

        try:
            answer: Mapping[str, Any] = self._client.get_schema_version(**arguments)
        except ClientError as e:
            if e.response.get("Error", {}).get("Code") == _MISSING:
                raise _Absent from None
            raise
        return answer

    @contextmanager
    def _errors(self, subject: str) -> Iterator[None]:
        from botocore.exceptions import BotoCoreError, ClientError

        where = f"schema {subject} of Glue's registry {self.name}"
        try:
            yield
        except _Absent:
            raise MissingError(
                f"Glue's registry {self.name} has no schema {subject}.",
                where=where,
                meaning="Without a schema no record can be read. Nothing was landed.",
                todo="Name the schema by value_subject or key_subject in defs.yaml: AWS' Java serializers "
                "give it the topic's name by default. Or fix FRAZIL_REGISTRY__GLUE_NAME.",
            ) from None
        except ClientError as e:
            raise _refused(e, where) from None
        except (BotoCoreError, KeyError, TypeError, ValueError) as e:
            raise _down(where, f"{type(e).__name__} {e!s:.300}") from None


class _Absent(Exception):
    """The registry has no such schema, or no such version that is available."""


def glue_registry(settings: Settings) -> GlueRegistry:
    """Glue's registry of a profile; it gives up within seconds."""

    def open_client() -> Any:
        from botocore.config import Config

        limits = Config(connect_timeout=_SECONDS, read_timeout=_SECONDS, retries={"total_max_attempts": 3})
        session = aws_session(settings.aws)
        return session.create_client("glue", endpoint_url=settings.glue_endpoint, config=limits)

    return GlueRegistry(open_client, settings.registry.glue_name)


def number_of(version_id: str) -> int:
    """A number for a version, which has none in Glue: 31 bits of the SHA-256 of its UUID."""
    return int.from_bytes(hashlib.sha256(version_id.encode()).digest()[:4], "big") >> 1


def _refused(error: Any, where: str) -> FrazilError:
    code, text = (str(error.response.get("Error", {}).get(part, "")) for part in ("Code", "Message"))
    if code in _DENIED:
        return NotAllowedError(
            "Glue's schema registry does not allow it.",
            where=f"{where}: {code} {text:.300}",
            meaning=STAYS,
            todo="Allow glue:GetSchemaVersion on the registry and its schemas to Frazil's identity.",
        )
    if error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 500) >= 500 or "Throttl" in code:
        return _down(where, f"{code} {text:.300}")
    return ConfigureError(
        f"Glue's schema registry refuses: {code}.",
        where=f"{where}: {text:.300}",
        meaning=STAYS,
        todo="Fix FRAZIL_REGISTRY__GLUE_NAME, or the subject's name.",
    )


def _down(where: str, text: str) -> PartDownError:
    return PartDownError(
        "Glue's schema registry does not answer.",
        where=f"{where}: {text}",
        meaning=STAYS,
        todo="Try again. Or fix FRAZIL_AWS__REGION and FRAZIL_GLUE__ENDPOINT.",
    )
