"""Logging in to a REST catalog: OAuth's client credentials, and a certificate of Frazil's own.

PyIceberg's own managers wait forever for a token endpoint, or take a new token only after a refusal.
"""

from __future__ import annotations

import ssl
import threading
from pathlib import Path
from typing import Any

from authlib.integrations.requests_client import OAuth2Session
from pyiceberg.catalog.rest.auth import AuthManager
from requests.adapters import HTTPAdapter

from frazil.errors import ConfigureError
from frazil.settings.secret import revealed
from frazil.settings.systems.rest import RestSettings


class ClientCredentials(AuthManager):
    """Gets a token, and a new one a minute before it ends.

    Args:
        seconds: The time limit of the endpoint.
        ca: Who else may have signed its certificate, beside the known ones.
    """

    def __init__(
        self, token_url: str, client_id: str, client_secret: str, scope: str | None, seconds: float,
        ca: Path | None,
    ) -> None:  # fmt: skip
        self._session = OAuth2Session(client_id, client_secret, scope=scope, default_timeout=seconds)
        if ca:
            known = ssl.create_default_context()
            known.load_verify_locations(ca)
            self._session.mount("https://", Tls(known))
        self._token_url = token_url
        self._asking = threading.Lock()

    def auth_header(self) -> str:
        """The header's value."""
        with self._asking:
            token: dict[str, Any] | None = self._session.token
            if not token or self._session.token.is_expired(leeway=60):
                token = self._session.fetch_token(self._token_url, grant_type="client_credentials")
        return f"Bearer {token['access_token']}"


class Tls(HTTPAdapter):
    """Speaks TLS as a context says: requests has no word for a key's password, nor for one more authority."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._context = context
        super().__init__()

    def init_poolmanager(self, *given: Any, **options: Any) -> None:
        """Makes the connections."""
        super().init_poolmanager(*given, **options, ssl_context=self._context)


def with_certificate(access: RestSettings) -> Tls:
    """Shows Frazil's own certificate. Raises ConfigureError where its key can't be used."""
    assert access.certificate
    context = ssl.create_default_context(cafile=access.ca)
    try:
        # Without a password, OpenSSL would ask at the terminal.
        context.load_cert_chain(access.certificate, access.key, revealed(access.key_password) or "")
    except ssl.SSLError:
        raise ConfigureError(
            "The key of the certificate for the catalog can't be used.",
            where=str(access.key),
            meaning="Nothing was asked.",
            todo="Fix FRAZIL_REST__KEY_PASSWORD, or FRAZIL_REST__CERTIFICATE and FRAZIL_REST__KEY.",
        ) from None
    return Tls(context)
