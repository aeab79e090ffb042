"""Azure's schema registry: what Frazil asks of a registry, by its REST API of 2022-10.

A subject is the name of a schema in one group. Source: Microsoft's description of the API,
`ListSchemaVersions` and `GetSchemaByVersion` (azure-rest-api-specs, schemaregistry/data-plane).
"""

from __future__ import annotations

from functools import cached_property
from urllib.parse import quote, urlsplit

import requests
from authlib.integrations.base_client import OAuthError

from frazil.errors import MALFORMED, STAYS, ConfigureError, FrazilError, MissingError, PartDownError
from frazil.formats.protocol import WriterSchema
from frazil.formats.registry.client import RegistryClient
from frazil.formats.registry.glue import number_of
from frazil.settings.login import Login
from frazil.settings.profile import Settings
from frazil.settings.secret import revealed
from frazil.settings.systems.registry import RegistrySettings

_SECONDS = 5
_API = "2022-10"
_SCOPE = "https://eventhubs.azure.net/.default"
_AVRO = "serialization=avro"


class AzureRegistry(RegistryClient):
    """One group of schemas in a namespace of Event Hubs.

    Args:
        access: The namespace's address, the group, and a token or a client of OAuth.
    """

    def __init__(self, access: RegistrySettings) -> None:
        self.remembered: dict[str, tuple[WriterSchema, ...]] = {}
        self._access = access

    def versions(self, subject: str) -> tuple[WriterSchema, ...]:
        """All versions of a schema, oldest first; two small requests where nothing changed.

        Raises:
            MissingError: There is no such schema.
            ConfigureError: The registry gives no access, or the schema is not in Avro.
            PartDownError: It does not answer.
        """
        try:
            numbers, known = self._numbers(subject), self.remembered.get(subject, ())
            newest = self._version(subject, numbers[-1]) if numbers else None
            if newest and (not known or known[-1] != newest or [w.version for w in known] != numbers):
                known = (*(self._version(subject, number) for number in numbers[:-1]), newest)
                self.remembered[subject] = known
        except (requests.RequestException, *MALFORMED) as e:
            raise self._down(subject, f"{type(e).__name__} {e!s:.200}") from None
        if newest is None:
            raise self._missing(subject)
        return known

    def _numbers(self, subject: str) -> list[int]:
        numbers, path = [], f"{self._path(subject)}/versions?api-version={_API}"
        while path:
            page = self._asked(subject, path).json()
            numbers += [int(number) for number in page["Value"]]
            path = _within(str(page.get("NextLink") or ""))
        return sorted(numbers)

    def _version(self, subject: str, number: int) -> WriterSchema:
        answer = self._asked(subject, f"{self._path(subject)}/versions/{number}?api-version={_API}")
        if _AVRO not in answer.headers.get("Content-Type", "").lower():
            raise ConfigureError(
                f"Schema {subject} is not in Avro, which is all that Frazil reads of Azure's registry.",
                where=f"{self._where(subject)}, version {number}",
                meaning="Nothing was landed.",
                todo="Land the topic by a schema file and framing: none, or as text: value_format: string.",
            )
        schema_id = answer.headers["Schema-Id"]
        return WriterSchema(number_of(schema_id), number, answer.text, "AVRO", azure_id=schema_id)

    def _asked(self, subject: str, path: str) -> requests.Response:
        headers = {"Authorization": self._bearer()}
        answer = requests.get(
            f"{self._access.url.rstrip('/')}{path}", headers=headers, timeout=_SECONDS, allow_redirects=False
        )
        answer.encoding = "utf-8"
        if answer.status_code != requests.codes.ok:
            raise self._refused(subject, answer.status_code)
        return answer

    def _bearer(self) -> str:
        """The token of the settings, or one of OAuth's endpoint."""
        if token := revealed(self._access.token):
            return f"Bearer {token}"
        try:
            return self._login.bearer()
        except OAuthError as e:
            where = urlsplit(self._access.token_url or "").netloc
            raise self._locked_out(f"{where} says {e.error}: {e.description!s:.200}") from None

    @cached_property
    def _login(self) -> Login:
        access = self._access
        secret = revealed(access.client_secret) or ""
        return Login(access.token_url or "", access.client_id or "", secret, access.scope or _SCOPE, _SECONDS)

    def _path(self, subject: str) -> str:
        group = quote(self._access.azure_group, safe="")
        return f"/$schemaGroups/{group}/schemas/{quote(subject, safe='')}"

    def _where(self, subject: str) -> str:
        return f"schema {subject} of group {self._access.azure_group} at {urlsplit(self._access.url).netloc}"

    def _refused(self, subject: str, status: int) -> FrazilError:
        if status == 404:
            return self._missing(subject)
        if status in (401, 403):
            return self._locked_out(f"{self._where(subject)}: HTTP {status}")
        return self._down(subject, f"HTTP {status}")

    def _missing(self, subject: str) -> MissingError:
        return MissingError(
            f"Azure's registry has no schema {subject}.",
            where=self._where(subject),
            meaning="Without a schema no record can be read. Nothing was landed.",
            todo="Name the schema by value_subject in defs.yaml: Azure's serializers give it the record's "
            "full name. Or fix FRAZIL_REGISTRY__AZURE_GROUP.",
        )

    def _locked_out(self, where: str) -> ConfigureError:
        return ConfigureError(
            "Azure's schema registry gives no access.",
            where=where,
            meaning=STAYS,
            todo="Give the client the role Schema Registry Reader, or fix FRAZIL_REGISTRY__CLIENT_ID and "
            "FRAZIL_REGISTRY__CLIENT_SECRET (docs/connect.md).",
        )

    def _down(self, subject: str, text: str) -> PartDownError:
        return PartDownError(
            "Azure's schema registry does not answer.",
            where=f"{self._where(subject)}: {text}",
            meaning=STAYS,
            todo="Try again. Or fix FRAZIL_REGISTRY__URL.",
        )


def azure_registry(settings: Settings) -> AzureRegistry:
    """Azure's registry of a profile; it gives up within seconds."""
    return AzureRegistry(settings.registry)


def _within(link: str) -> str:
    """The next page, of the same address: nobody else is sent the token."""
    parts = urlsplit(link)
    return f"{parts.path}?{parts.query}" if parts.path else ""
