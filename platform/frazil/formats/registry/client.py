"""The client of the schema registry: how it logs in, and how soon it gives up."""

from __future__ import annotations

import base64
from collections.abc import Generator
from typing import Any, Literal
from urllib.parse import quote

from confluent_kafka.schema_registry import RegisteredSchema, SchemaRegistryClient

# The client's own choice between httpx and httpx2, whose errors it lets through.
from confluent_kafka.schema_registry.common._httpx_compat import httpx
from pydantic import SecretStr

from frazil.errors import STAYS, ConfigureError
from frazil.formats.protocol import WriterSchema
from frazil.formats.registry.key_service import KeyService
from frazil.settings.profile import Settings
from frazil.settings.secret import read_anew, revealed
from frazil.settings.systems.registry import RegistrySettings

_CCOMPAT, _APICURIO = "/apis/ccompat/", "/apis/registry/v3"
"""Where Apicurio speaks Confluent's protocol, and its own."""


class RegistryClient(SchemaRegistryClient):
    """A client that remembers the versions of the subjects it was asked for.

    Args:
        key_service: Opens the keys of encrypted fields that the registry keeps.

    Attributes:
        apicurio: A client of Apicurio's own API, where the registry is Apicurio.
        long_ids: What ids of eight bytes before payloads are.
    """

    key_service = KeyService()
    long_ids: Literal["none", "content", "global"] = "none"

    def __init__(self, config: dict[str, Any], key_service: KeyService) -> None:
        super().__init__(config)
        self.key_service = key_service
        address = str(config["url"])
        own = {**config, "url": address.partition(_CCOMPAT)[0] + _APICURIO}
        self.apicurio = SchemaRegistryClient(own) if _CCOMPAT in address else None
        self.remembered: dict[str, tuple[WriterSchema, ...]] = {}

    def get_version(
        self, subject_name: str, version: int | Literal["latest"] = "latest", deleted: bool = False,
        fmt: str | None = None,
    ) -> RegisteredSchema:  # fmt: skip
        """As the client's own, which would remember it, and fails where a schema has tags."""
        path = f"subjects/{quote(subject_name, safe='')}/versions/{version}"
        query = {"deleted": deleted} | ({} if fmt is None else {"format": fmt})
        return RegisteredSchema.from_dict(self._rest_client.get(path, query))


def registry_client(settings: Settings) -> RegistryClient:
    """A client that gives up within seconds: three tries at what may pass, five seconds each."""
    settings.registry.check_files("REGISTRY")
    config: dict[str, Any] = {
        "url": settings.registry.url,
        "timeout": 5,
        "max.retries": 2,
        "retries.wait.ms": 200,
        "retries.max.wait.ms": 1000,
    }
    config |= _certificates(settings.registry) | _bearer(settings.registry)
    client = RegistryClient(config, KeyService(settings.named_keys, settings.aws))
    client.long_ids = settings.registry.eight_byte_ids
    for each in (client, client.apicurio):
        if each is not None:
            each._rest_client.session.event_hooks = {"response": [_refuse_redirection]}
            if settings.registry.user_info:
                each._rest_client.session.auth = _Login(settings.registry.user_info)
    return client


class _Login(httpx.Auth):
    """A user and its password; those of now, where they are kept elsewhere and were replaced."""

    def __init__(self, user_info: SecretStr) -> None:
        self._user_info = user_info

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """The request with the login; once more where it is refused, and there is another login."""
        used = self._header()
        request.headers["Authorization"] = used
        response = yield request
        if response.status_code == httpx.codes.UNAUTHORIZED:
            read_anew(self._user_info)
            if (now := self._header()) != used:
                request.headers["Authorization"] = now
                yield request

    def _header(self) -> str:
        return "Basic " + base64.b64encode(self._user_info.get_secret_value().encode()).decode()


def _refuse_redirection(response: httpx.Response) -> None:
    """Another address gets no request: it would be shown the password, and is hardly a registry."""
    if not response.is_redirect:
        return
    asked, redirected = response.request.url, httpx.URL(response.headers.get("location", ""))
    raise ConfigureError(
        f"The schema registry's address leads elsewhere (HTTP {response.status_code}).",
        where=f"{asked.host}{asked.path} is at {redirected.copy_with(query=None, userinfo=b'')}, it says",
        meaning=f"That may be a page to log in at. No registry was asked. {STAYS}",
        todo="Write the registry's own address into FRAZIL_REGISTRY__URL, and how to log in there "
        "(docs/connect.md).",
    )


def _certificates(access: RegistrySettings) -> dict[str, Any]:
    options = {
        "ssl.ca.location": access.ca,
        "ssl.certificate.location": access.certificate,
        "ssl.key.location": access.key,
        "ssl.key.password": revealed(access.key_password),
    }
    files: dict[str, Any] = {name: str(value) for name, value in options.items() if value}
    # To read all the authorities of the world takes 25 ms of CPU, twice; without TLS none of them is asked,
    # and a redirection to an address with TLS is refused.
    if not access.ca and access.url.startswith("http://"):
        files["ssl.ca.location"] = False
    return files


def _bearer(access: RegistrySettings) -> dict[str, Any]:
    """A token as it is, or from OAuth's endpoint, asked for anew before it ends."""
    options: dict[str, Any] = {}
    if access.token:
        options = {
            "bearer.auth.credentials.source": "STATIC_TOKEN",
            "bearer.auth.token": access.token.get_secret_value(),
        }
    elif access.client_secret:
        options = {
            "bearer.auth.credentials.source": "OAUTHBEARER",
            "bearer.auth.client.id": access.client_id,
            "bearer.auth.client.secret": access.client_secret.get_secret_value(),
            "bearer.auth.issuer.endpoint.url": access.token_url,
            "bearer.auth.scope": access.scope or "",
        }
    if options:
        options["bearer.auth.logical.cluster"] = access.logical_cluster
        if access.identity_pool:
            options["bearer.auth.identity.pool.id"] = access.identity_pool
    return options
