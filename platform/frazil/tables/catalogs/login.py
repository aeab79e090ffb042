"""Logging in to a REST catalog: OAuth's client credentials, and a certificate of Frazil's own.

PyIceberg's own managers wait forever for a token endpoint, or take a new token only after a refusal.
"""

from __future__ import annotations

import ssl
from typing import Any

from pyiceberg.catalog.rest.auth import AuthManager

from frazil.errors import ConfigureError
from frazil.settings.login import Login, Tls
from frazil.settings.secret import revealed
from frazil.settings.systems.rest import RestSettings


class ClientCredentials(AuthManager):
    """The login as PyIceberg loads it by name, with the options of `frazil.settings.login.Login`."""

    def __init__(self, **options: Any) -> None:
        self._login = Login(**options)

    def auth_header(self) -> str:
        """The header's value."""
        return self._login.bearer()


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
