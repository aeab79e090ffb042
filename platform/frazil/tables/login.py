"""Logging in to a REST catalog by OAuth's client credentials.

PyIceberg's own managers wait for ever for a token endpoint, or take a new token only after a refusal.
"""

from __future__ import annotations

import ssl
import threading
from pathlib import Path
from typing import Any

from authlib.integrations.requests_client import OAuth2Session
from pyiceberg.catalog.rest.auth import AuthManager
from requests.adapters import HTTPAdapter


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
            self._session.mount("https://", _Trusting(ca))
        self._token_url = token_url
        self._asking = threading.Lock()

    def auth_header(self) -> str:
        """The header's value."""
        with self._asking:
            token: dict[str, Any] | None = self._session.token
            if not token or self._session.token.is_expired(leeway=60):
                token = self._session.fetch_token(self._token_url, grant_type="client_credentials")
        return f"Bearer {token['access_token']}"


class _Trusting(HTTPAdapter):
    """Takes certificates of one more authority."""

    def __init__(self, ca: Path) -> None:
        self._known = ssl.create_default_context()
        self._known.load_verify_locations(ca)
        super().__init__()

    def init_poolmanager(self, *given: Any, **told: Any) -> None:
        """Makes the connections, with what is known."""
        super().init_poolmanager(*given, **told, ssl_context=self._known)
