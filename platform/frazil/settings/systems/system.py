"""What the settings of all systems share, and of those that ask who Frazil is."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from frazil.errors import ConfigureError
from frazil.settings.files import File
from frazil.settings.secret import Secret


def _is_url(given: str) -> str:
    """The text may hold a password, so that the error does not repeat it."""
    try:
        parts = urlsplit(given)
        whole = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        whole = False
    if not whole or any(sign.isspace() for sign in given):
        raise ValueError("this is no address; write http://HOST:PORT or https://HOST")
    return given


Url = Annotated[str, AfterValidator(_is_url)]
"""The address of a server that speaks HTTP."""

OptionalUrl = Annotated[str | None, AfterValidator(lambda given: _is_url(given) if given else None)]
"""The same, where there may be none; empty text takes back what a profile or a shell said before."""


class SystemSettings(BaseModel):
    """The settings of one system. They do not change, and a name that is none of them is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def ask_for(self, names: list[str], purpose: str, wanted: object) -> None:
        """Refuses settings that lack some of the names, where the purpose is wanted."""
        missing = [name for name in names if getattr(self, name) is None]
        if wanted and missing:
            raise ValueError(f"{purpose} needs {' and '.join(missing)} as well")


class AccessSettings(SystemSettings):
    """What Kafka, the registry and a REST catalog may all ask for: certificates, and a client of OAuth."""

    ca: File | None = Field(
        None,
        description="PEM file of the authority that signed its certificate. Default: the well-known ones.",
    )
    certificate: File | None = Field(None, description="PEM file of Frazil's certificate, for mutual TLS.")
    key: File | None = Field(None, description="PEM file (PKCS8) of that certificate's key.")
    key_password: Secret | None = Field(None, description="Password, if that key is encrypted.")
    token_url: OptionalUrl = Field(None, description="The token endpoint of OAuth.")
    client_id: str | None = Field(None, description="The client id of OAuth.")
    client_secret: Secret | None = Field(None, description="The secret of that client.")
    scope: str | None = Field(None, description="Scope of the token; some endpoints need none.")

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        self.ask_for(["certificate", "key"], "mutual TLS", self.certificate or self.key)
        self.ask_for(["token_url", "client_id", "client_secret"], "OAuth", self.token_url or self.client_id)
        return self

    def check_files(self, system: str) -> None:
        """Raises ConfigureError where a file can't be read; each client would say it in its own way."""
        for name in ("ca", "certificate", "key"):
            file: Path | None = getattr(self, name)
            if file and not os.access(file, os.R_OK):
                raise ConfigureError(
                    "A certificate or its key can't be read.",
                    where=str(file),
                    meaning="Nothing was asked.",
                    todo=f"Fix FRAZIL_{system}__{name.upper()}.",
                )
