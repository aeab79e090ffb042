"""OAuth's client credentials: a token in return for a client's secret (RFC 6749, section 4.4)."""

from __future__ import annotations

import ssl
import threading
from pathlib import Path
from typing import Any

from authlib.integrations.requests_client import OAuth2Session
from requests.adapters import HTTPAdapter

_LEEWAY = 60
"""Seconds before a token ends at which a new one is asked for."""


class Login:
    """Gets a token, and a new one a minute before it ends. Its endpoint may not send the secret elsewhere.

    Args:
        seconds: The time limit of the endpoint.
        ca: Who else may have signed its certificate, beside the known ones.
    """

    def __init__(
        self, token_url: str, client_id: str, client_secret: str, scope: str | None, seconds: float,
        ca: Path | None = None,
    ) -> None:  # fmt: skip
        self._session = OAuth2Session(client_id, client_secret, scope=scope, default_timeout=seconds)
        self._session.max_redirects = 0
        if ca:
            known = ssl.create_default_context()
            known.load_verify_locations(ca)
            self._session.mount("https://", Tls(known))
        self._token_url = token_url
        self._asking = threading.Lock()

    def bearer(self) -> str:
        """The value of the header `Authorization`.

        Raises:
            OAuthError: The endpoint refuses the client; of authlib.
            RequestException: It does not answer in time, or sends to another address; of requests.
        """
        with self._asking:
            token: dict[str, Any] | None = self._session.token
            if not token or self._session.token.is_expired(leeway=_LEEWAY):
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
