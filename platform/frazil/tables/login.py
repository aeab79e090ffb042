"""Logging in to a REST catalog by OAuth's client credentials.

PyIceberg's own managers wait for ever for a token endpoint, or take a new token only after a refusal.
"""

from __future__ import annotations

import threading
from typing import Any

from authlib.integrations.requests_client import OAuth2Session
from pyiceberg.catalog.rest.auth import AuthManager


class ClientCredentials(AuthManager):
    """Gets a token, and a new one a minute before it ends. `seconds`: the time limit of the endpoint."""

    def __init__(
        self, token_url: str, client_id: str, client_secret: str, scope: str | None, seconds: float
    ) -> None:
        self._session = OAuth2Session(client_id, client_secret, scope=scope, default_timeout=seconds)
        self._token_url = token_url
        self._asking = threading.Lock()

    def auth_header(self) -> str:
        """The header's value."""
        with self._asking:
            token: dict[str, Any] | None = self._session.token
            if not token or self._session.token.is_expired(leeway=60):
                token = self._session.fetch_token(self._token_url, grant_type="client_credentials")
        return f"Bearer {token['access_token']}"
